"""Compiled code, ready before anybody waits: compiling takes minutes, once per machine, and stops an event loop."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache

from semcast.model.message import Message, ProfileText
from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.filters import Filter
from semcast.protocol.wire.codec import encode
from semcast.protocol.wire.frames import Data, Entry, Install, TreeLink

_EXAMPLES = {"relational": ("a > 1 AND b = 'x'", b'{"a": 2, "b": "x"}'), "xpath": ("/a[b > 1]", b"<a><b>2</b></a>")}
_MANY = 300
GETTING_READY = "getting compiled code ready; the first time takes a minute or two"


def warm(languages: Iterable[str]) -> None:
    """Have what forwards, and what matches profiles of these languages, compiled or read from the cache."""
    _forwarding()
    for language in languages:
        warm_matching(language)


@cache
def _forwarding() -> None:
    broker = Broker("m")
    links = (TreeLink("a", b"\x01"), TreeLink("b", b"\x02"))
    broker.install(Install(1, 1, (Entry(("c", 1), None, links),), ()), 1)
    crossing = Crossing(broker)
    data = Data(("c", 1), 1, "s", (1, 2), (1, 3), (b"x", b"y"))
    crossing.begin(data)
    list(crossing.passage("s").feed(encode(data)))


@cache
def warm_matching(language: str) -> None:
    """What matches profiles of one language; nothing to do for those whose engines are not compiled."""
    if language not in _EXAMPLES:
        return
    profile, payload = _EXAMPLES[language]
    matching = Filter({0: ProfileText("s", language, profile)})
    for count in (1, _MANY):  # a message alone takes another way than many
        assert all(matching.match([Message("s", payload)] * count))


if __name__ == "__main__":  # python -m semcast.server.warmup LANGUAGE…, which `semcast up` runs before its brokers
    warm(sys.argv[1:])
