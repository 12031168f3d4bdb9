"""Which stream an MQTT topic belongs to, and what a filter asks of it.

Where exactly one stream is of the language topic, all topics belong to it; where there are several, a topic's first
level names its stream, and stays a part of the topic. Streams of other languages are reached by the topic that is their
name.
"""

from __future__ import annotations

from typing import NamedTuple

from semcast.model import SemcastError
from semcast.model.message import Message, ProfileText
from semcast.profiles.topic import from_mqtt
from semcast.protocol.streams import Streams
from semcast.server.mqtt.wire import fitting

_EVERYTHING = {"relational": "TRUE", "xpath": "/*"}
"""The profile that all messages of a stream match."""
_WILD = frozenset("#+")
_SHARE = "$share/"
_SHOWN = 80


class Shared(NamedTuple):
    """A shared subscription: each message goes to one of the group."""

    group: str
    filter: str


def shared(filter: str) -> Shared | None:
    """``$share/group/filter`` in its parts; None for other filters, SemcastError where it is neither."""
    if not filter.startswith(_SHARE):
        return None
    group, found, rest = filter.removeprefix(_SHARE).partition("/")
    if not group or not found or not rest or _WILD & set(group):
        raise SemcastError(f"{filter!r} is no shared subscription: write $share/group/filter")
    return Shared(group, rest)


def check_topic(topic: str) -> None:
    """SemcastError where a name is none that a message may have: wildcards belong to filters (MQTT 5, 4.7.1)."""
    if _WILD & set(topic):
        raise SemcastError(f"{fitting(topic, _SHOWN)!r} has a wildcard: only filters may have + and #")
    if "\0" in topic:
        raise SemcastError("a topic cannot hold the character U+0000")


class Names:
    """Topics and filters, as the declared streams give them a meaning."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._topics = [name for name, stream in streams.declared.items() if stream.language == "topic"]

    def place(self, topic: str) -> tuple[str, str | None]:
        """The stream that a message is published on, and its topic there; SemcastError where there is none."""
        if topic.startswith("$"):
            raise SemcastError("topics that begin with '$' are not offered here")
        check_topic(topic)
        first, deeper, _ = topic.removeprefix("/").partition("/")
        if first in self._streams.declared and first not in self._topics:
            if deeper:
                raise SemcastError(f"{first!r} is a {self._language(first)} stream: its only topic is {first!r}")
            return first, None
        return self._topic_stream(first, topic), topic

    def _language(self, stream: str) -> str:
        return self._streams.declared[stream].language

    def _everything(self, stream: str) -> str:
        found = _EVERYTHING.get(self._language(stream))
        if found is None:
            raise SemcastError(f"{stream!r} is a {self._language(stream)} stream: say by a profile what is wanted")
        return found

    def _topic_stream(self, first: str, text: str) -> str:
        if len(self._topics) == 1:
            return self._topics[0]
        if first in self._topics:
            return first
        known = ", ".join(self._streams.declared)
        raise SemcastError(f"{text!r} belongs to no stream: the first level has to name one of {known}")

    def profile(self, filter: str, *, stream: str | None = None, profile: str | None = None) -> ProfileText:
        """What a filter asks for, together with a stream and a profile where they are given.

        A stream has to be given where the filter begins with a wildcard and could mean several. SemcastError says why
        a filter makes no sense.
        """
        if filter.startswith("$"):
            raise SemcastError("topics that begin with '$' are not offered here")
        if "\0" in filter:
            raise SemcastError("a filter cannot hold the character U+0000")
        first, _, rest = filter.removeprefix("/").partition("/")
        if stream is not None and stream not in self._streams.declared:
            raise SemcastError(f"there is no stream {stream!r}; there is {', '.join(self._streams.declared)}")
        named = stream or (first if first in self._streams.declared else None)
        if named is not None and named not in self._topics:
            if first not in (named, "#", "+") or rest not in ("", "#"):
                raise SemcastError(f"{named!r} is a {self._language(named)} stream: its only topic is {named!r}")
            return self._streams.profile(named, profile or self._everything(named))
        return self._of_topics(filter, first, stream, profile)

    def _of_topics(self, filter: str, first: str, stream: str | None, profile: str | None) -> ProfileText:
        found = self._topic_stream(first if stream is None or first not in _WILD else stream, filter)
        if stream not in (None, found):
            raise SemcastError(f"the topics of {filter!r} are of the stream {found!r}, not {stream!r}")
        if profile is not None:
            raise SemcastError(f"{found!r} is a topic stream: the filter says all that can be asked of it")
        if len(self._topics) > 1 and first in _WILD:
            filter = found + filter.removeprefix("/").removeprefix(first)
            if first == "#":
                filter = f"{found}/#"
        return self._streams.profile(found, from_mqtt(filter).text)

    def topic(self, message: Message) -> str:
        """The topic under which MQTT clients are given a message."""
        return message.stream if message.topic is None else message.topic
