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


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Message("s", b"", "a" * 65_536), None),
        (Message("s", b"", "a" * 65_537), "65,537 bytes together"),
        (Message("s", b"", "é" * 40_000), "80,000 bytes together"),
        (Message("s", b"", "é" * 20_000, 0, "k" * 20_000), None),
        (Message("s", b"", None, 0, None, (("h", "v" * 65_536),)), "65,537 bytes together"),
        (Message("s", b"", None, 0, None, (("", ""),) * 1024), None),
        (Message("s", b"", None, 0, None, (("", ""),) * 1025), "1,025 headers"),
        (Message("s", b"", None, 1 << 53), None),
        (Message("s", b"", None, (1 << 53) + 1), "an event time of 9007199254740993 ms"),
        (Message("s", bytes((4 << 20) + 1)), "a payload of 4,194,305 bytes"),
    ],
)
def test_what_goes_with_a_payload_has_bounds_on_every_stream(message: Message, reason: str | None) -> None:
    found = Streams().refusal(message)
    assert found is None if reason is None else reason in (found or "")
