"""Declared streams: what may be published on them, and what may be asked of them."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.model import ProfileError, SemcastError
from semcast.model.message import Message, ProfileText
from semcast.protocol.streams import Stream, Streams

STREAMS = Streams(
    {
        "quotes": Stream(schema={"symbol": "string", "price": "double", "at": "timestamp", "deep.down": "boolean"}),
        "any": Stream(),
        "news": Stream(language="xpath", namespaces={"n": "urn:news"}),
        "sensors": Stream(language="topic"),
    }
)


@pytest.mark.parametrize(
    ("stream", "payload"),
    [
        ("quotes", b'{"symbol": "A", "price": 1, "more": [1]}'),
        ("quotes", b'{"price": null, "at": "2024-01-01 10:00:00", "deep": {"down": true}}'),
        ("quotes", b"{}"),
        ("any", b'{"price": "x"}'),
        ("news", b"<a><b/></a>"),
    ],
)
def test_what_fits_is_taken(stream: str, payload: bytes) -> None:
    assert STREAMS.refusal(Message(stream, payload)) is None


@pytest.mark.parametrize(
    ("stream", "payload", "said"),
    [
        ("quotes", b'{"price": "10"}', "'price' should be a number, and is \"10\""),
        ("quotes", b'{"price": true}', "'price' should be a number, and is true"),
        ("quotes", b'{"symbol": 1}', "'symbol' should be a string, and is 1"),
        ("quotes", b'{"at": "yesterday"}', "'at' should be a timestamp"),
        ("quotes", b'{"deep": {"down": 1}}', "'deep.down' should be a boolean"),
        ("quotes", b"[1]", "the payload is no JSON object but [1]"),
        ("quotes", b'{"price": 1', "the payload is no JSON: "),
        ("quotes", b"\xff", "the payload is no JSON"),
        ("news", b"<a>", "the payload cannot be read as XML: "),
        ("news", b"", "the payload is empty"),
        ("news", b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "the payload cannot be read as XML: "),
        ("sensors", b"", "a message of a topic stream needs a topic"),
        ("quotse", b"", "there is no stream 'quotse'; did you mean 'quotes'? there is quotes, any, news, sensors"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(stream: str, payload: bytes, said: str) -> None:
    reason = STREAMS.refusal(Message(stream, payload))
    assert reason is not None
    assert reason.startswith(said)


def test_profiles_are_judged_by_the_stream_they_are_over() -> None:
    assert STREAMS.profile("quotes", "price>10").text == STREAMS.profile("quotes", "10 < price").text
    with pytest.raises(ProfileError, match="unknown attribute 'prise'"):
        STREAMS.profile("quotes", "prise > 10")
    with pytest.raises(SemcastError, match="there is no stream 'x'"):
        STREAMS.profile("x", "a")
    with pytest.raises(SemcastError, match="stream 'quotes' is relational, and the profile topic"):
        STREAMS.canonical(ProfileText("quotes", "topic", "price > 1"))


def test_a_canonical_profile_is_canonical_also_where_nothing_is_declared() -> None:
    for stream, text in (("news", "/n:a[n:b > 1]"), ("quotes", "price > 10"), ("sensors", "a/*")):
        found = STREAMS.profile(stream, text)
        assert STREAMS.canonical(found) == found
        assert Streams().canonical(found) == found


def test_where_nothing_is_declared_everything_goes() -> None:
    assert Streams().refusal(Message("whatever", b"\xff")) is None


def test_a_schema_is_for_relational_streams_and_knows_its_types() -> None:
    with pytest.raises(SemcastError, match="only relational streams"):
        Stream(language="topic", schema={"a": "string"})
    with pytest.raises(SemcastError, match="type 'map'"):
        Stream(schema={"a": "map"})


NAMES = st.sampled_from(["symbol", "price", "at", "deep", "down", "deep.down"])
VALUES = st.sampled_from([None, True, 0, 2**70, 0.5, "A", "2024-01-01", [], {}])
ROWS = st.dictionaries(NAMES, st.one_of(VALUES, st.dictionaries(NAMES, VALUES, max_size=2)), max_size=3)
PAYLOADS = st.one_of(st.binary(max_size=8), st.one_of(ROWS, VALUES).map(lambda value: json.dumps(value).encode()))


@pytest.mark.parametrize("stream", ["quotes", "any"])
@given(payloads=st.lists(PAYLOADS, max_size=8))
def test_payloads_that_are_read_together_are_refused_as_each_alone_and_read_as_each_alone(
    stream: str, payloads: list[bytes]
) -> None:
    rows, refused = STREAMS.declared[stream].rows(payloads)
    alone = [STREAMS.refusal(Message(stream, payload)) for payload in payloads]
    assert refused == {at: why for at, why in enumerate(alone) if why is not None}
    assert rows == [{} if why else msgspec.json.decode(text) for text, why in zip(payloads, alone, strict=True)]
