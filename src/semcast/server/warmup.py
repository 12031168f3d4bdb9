"""Compiled code, ready before anybody waits: compiling takes minutes, once per machine, and stops an event loop."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module

from semcast.matching import language
from semcast.model.extras import MissingExtra
from semcast.model.message import Message, ProfileText
from semcast.net.view import OverlayView
from semcast.planning.schemes import scheme_of
from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.filters import Filter
from semcast.protocol.streams import Stream
from semcast.protocol.wire.codec import encode
from semcast.protocol.wire.frames import Data, Entry, Install, TreeLink
from semcast.trees.roles import SOURCE
from semcast.trees.topology import GATEWAY

_EXAMPLES = {"relational": ("a > 1 AND b = 'x'", b'{"a": 2, "b": "x"}'), "xpath": ("/a[b > 1]", b"<a><b>2</b></a>")}
_COVERING = {
    "relational": ("a > 1", "a > 2 AND b = 'x'"),
    "topic": ("a", "a/b"),
    "xpath": ("/a", "/a/b"),
    "semantic": ("a", "a {b}"),
}
"""A profile of each language, and one that it covers."""
_MANY = 300
_FRONTS = ("semcast.server.http", "semcast.server.mqtt")
_PLANNED, _SEMANTIC = "semcast.protocol.planned_node", "semcast.protocol.semnet.node"
_ROLES = {
    SOURCE: ("semcast.protocol.source.planned_outlet", "semcast.protocol.source.source"),
    GATEWAY: (
        "semcast.protocol.gateway.filtering_table",
        "semcast.protocol.gateway.gateway",
        "semcast.protocol.gateway.interests",
        "semcast.protocol.gateway.requests",
    ),
}
"""What brokers of a role run."""
_COORDINATOR = ("semcast.protocol.coordinator.coordinator", "semcast.server.planning", "semcast.trees.graph")
GETTING_READY = "getting compiled code ready; the first time takes a minute or two"


def warm(languages: Iterable[str]) -> None:
    """Have what forwards, and what matches profiles of these languages, compiled or read from the cache."""
    _forwarding()
    for name in languages:
        warm_matching(name)


def load_broker(view: OverlayView, name: str) -> None:
    """Have all code at hand that a broker runs: what is imported on an event loop stops it for up to a second."""
    roles, scheme = view.roles(name), scheme_of(view.scheme)
    for module in _FRONTS:
        with suppress(MissingExtra):
            import_module(module)
    import_module(_PLANNED if scheme.coordinated else _SEMANTIC)
    for role in roles:
        for module in _ROLES[role]:
            import_module(module)
    # Who looks at no message loads no engine.
    warm(view.languages() if roles or scheme.per_hop else ())
    if GATEWAY in roles and scheme.coordinated:
        for kind in view.languages():
            warm_covering(kind)


def load_coordinator(view: OverlayView) -> None:
    """As ``load_broker``, for a coordinator."""
    with suppress(MissingExtra):
        import_module("semcast.server.http")
    if scheme_of(view.scheme).coordinated:
        for module in _COORDINATOR:
            import_module(module)


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
def warm_matching(name: str) -> None:
    """What matches profiles of one language, and what is published on its streams."""
    language(name).matcher([])
    stream = Stream(language=name, schema={"at": "timestamp"} if name == "relational" else {})  # type: ignore[arg-type]
    stream.refusal(Message("s", b'{"at": "2026-01-01"}' if name == "relational" else b"<a/>", "t"))
    if name not in _EXAMPLES:
        return
    profile, payload = _EXAMPLES[name]
    matching = Filter({0: ProfileText("s", name, profile)})
    for count in (1, _MANY):  # a message alone takes another way than many
        assert all(matching.match([Message("s", payload)] * count))


@cache
def warm_covering(name: str) -> None:
    """What finds the profiles of one language that cover others."""
    from semcast.protocol.gateway.coverers import Coverers

    wide, narrow = (ProfileText("s", name, text) for text in _COVERING[name])
    coverers = Coverers()
    coverers.extend([wide])
    for count in (1, _MANY):
        assert all(coverers.find([narrow] * count))


if __name__ == "__main__":  # python -m semcast.server.warmup LANGUAGE…, which `semcast up` runs before its brokers
    warm(sys.argv[1:])
    for kind in sys.argv[1:]:
        warm_covering(kind)
