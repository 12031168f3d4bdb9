"""Topics and filters, with one stream of topics and with several."""

from __future__ import annotations

import pytest

from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.protocol.streams import Stream, Streams
from semcast.server.mqtt.names import Names, Shared, shared

ONE = Names(Streams({"quotes": Stream(), "sensors": Stream(language="topic"), "news": Stream(language="xpath")}))
TWO = Names(Streams({"quotes": Stream(), "a": Stream(language="topic"), "b": Stream(language="topic")}))


def test_all_topics_belong_to_the_only_stream_of_topics() -> None:
    assert ONE.place("x/y") == ("sensors", "x/y")
    assert ONE.place("sensors/x") == ("sensors", "sensors/x")
    assert ONE.place("/x") == ("sensors", "/x")


def test_of_several_the_first_level_names_the_stream_and_stays() -> None:
    assert TWO.place("a/x") == ("a", "a/x")
    assert TWO.place("/b") == ("b", "/b")
    with pytest.raises(SemcastError, match="first level has to name one of quotes, a, b"):
        TWO.place("c/x")


def test_other_streams_are_reached_by_their_name() -> None:
    assert ONE.place("quotes") == ("quotes", None)
    for topic in ("quotes/IBM", "/news/x"):
        with pytest.raises(SemcastError, match="its only topic is"):
            ONE.place(topic)


def test_a_message_has_the_topic_under_which_it_can_be_subscribed_to() -> None:
    assert ONE.topic(Message("quotes", b"")) == "quotes"
    assert ONE.topic(Message("sensors", b"", "x/y")) == "x/y"


@pytest.mark.parametrize(
    ("names", "filter", "stream", "expected"),
    [
        (ONE, "x/y", None, ("sensors", "x/y/$")),
        (ONE, "x/+/y/#", None, ("sensors", "x/*/y")),
        (ONE, "sensors/#", "sensors", ("sensors", "sensors")),
        (ONE, "quotes", None, ("quotes", "TRUE")),
        (ONE, "quotes/#", None, ("quotes", "TRUE")),
        (ONE, "news", None, ("news", "/*")),
        (ONE, "#", "quotes", ("quotes", "TRUE")),
        (ONE, "+", "quotes", ("quotes", "TRUE")),
        (TWO, "a/#", None, ("a", "a")),
        (TWO, "#", "b", ("b", "b")),
        (TWO, "+/x", "b", ("b", "b/x/$")),
        (TWO, "+", "b", ("b", "b/$")),
    ],
)
def test_filters_ask_for_what_they_say(
    names: Names, filter: str, stream: str | None, expected: tuple[str, str]
) -> None:
    profile = names.profile(filter, stream=stream)
    assert (profile.stream, profile.text) == expected


@pytest.mark.parametrize(
    ("names", "filter", "stream", "reason"),
    [
        (TWO, "#", None, "belongs to no stream"),
        (TWO, "a/#", "b", "are of the stream 'a', not 'b'"),
        (TWO, "quotes", "a", "belongs to no stream"),
        (ONE, "x/#", "quotes", "its only topic is 'quotes'"),
    ],
)
def test_filters_and_streams_have_to_agree(names: Names, filter: str, stream: str | None, reason: str) -> None:
    with pytest.raises(SemcastError, match=reason):
        names.profile(filter, stream=stream)


def test_shared_subscriptions_are_taken_apart() -> None:
    assert shared("a/b") is None
    assert shared("$share/g/a/+/#") == Shared("g", "a/+/#")
    for filter in ("$share/g", "$share//a", "$share/g/", "$share/g+/a"):
        with pytest.raises(SemcastError, match=r"write \$share/group/filter"):
            shared(filter)
