"""Which frames a member takes from whom.

A connection stands for one kind of *sender*: the neighbour at the other end of a link, another broker, a coordinator
that this member dialled, or a client. What a sender has no business with is refused before any machine sees it: a
message that did not come over a link was never in a source's log.
"""

from __future__ import annotations

from enum import Enum

from semcast.protocol.wire.codec import AnyView, LegView
from semcast.protocol.wire.data_view import DataView
from semcast.protocol.wire.frames import (
    Ack,
    Append,
    Ask,
    AskSamples,
    Attach,
    AttachMany,
    Beat,
    Caught,
    Counters,
    Data,
    Detach,
    Fetch,
    Fill,
    FoundPlan,
    GatewayChanges,
    Heartbeat,
    Ingested,
    Install,
    Installed,
    Lease,
    Leg,
    Live,
    Noted,
    OfferPlans,
    PieceTaken,
    ProtocolError,
    Publish,
    Published,
    Refused,
    Repair,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
    Samples,
    Switch,
    Switched,
    Taken,
    TakenMany,
    Tally,
    Welcome,
)
from semcast.protocol.wire.frames.semantic import Hello, HelloTaken, Interest, InterestTaken, Packet


class Sender(Enum):
    """What a connection's other end is to the member at this end."""

    NEIGHBOUR = "neighbour"
    BROKER = "broker"
    COORDINATOR = "coordinator"
    CLIENT = "client"


_OF_ALL = {Beat, ProtocolError}
_OF_BROKERS = _OF_ALL | {Ack, Fetch, Fill, Repair, Caught, Publish, Published, Refused}
AT_BROKER: dict[Sender, frozenset[type]] = {
    Sender.NEIGHBOUR: frozenset(
        _OF_BROKERS | {Data, DataView, Leg, LegView, Tally, Packet, Hello, HelloTaken, Interest, InterestTaken}
    ),
    Sender.BROKER: frozenset(_OF_BROKERS),
    Sender.COORDINATOR: frozenset(
        _OF_ALL | {Install, Switch, Lease, Noted, Live, RosterChanges, RosterPiece, AskSamples, Welcome}
    ),
    Sender.CLIENT: frozenset(_OF_ALL | {Ask, Attach, AttachMany, Taken, TakenMany, Detach, Publish, Append, Ingested}),
}
AT_COORDINATOR: dict[Sender, frozenset[type]] = {
    Sender.NEIGHBOUR: frozenset(),
    Sender.BROKER: frozenset(
        _OF_ALL | {Heartbeat, Installed, Switched, GatewayChanges, RosterFollowed, PieceTaken, Samples, Counters}
    ),
    Sender.COORDINATOR: frozenset(),
    Sender.CLIENT: frozenset(_OF_ALL | {Ask, OfferPlans, FoundPlan}),
}
"""A planner (``semcast pipeline``, ``semcast planner``) is a client."""

_ABOUT: dict[type, str] = {
    Heartbeat: "broker",
    Installed: "broker",
    Counters: "broker",
    Switched: "source",
    Samples: "source",
    RosterFollowed: "source",
    PieceTaken: "source",
    GatewayChanges: "gateway",
    Fetch: "gateway",
    Fill: "gateway",
    Repair: "source",
    Caught: "source",
}
"""Frames in which a member speaks of itself, and where its name is."""


def objection(frame: AnyView, name: str, sender: Sender, taken: dict[Sender, frozenset[type]]) -> str | None:
    """Why this frame is not taken from the party of this name; None where it is."""
    kind = type(frame)
    if kind not in taken[sender]:
        return f"a {sender.value} has no business with {kind.__name__.removesuffix('View')}"
    about = _ABOUT.get(kind)
    if about is not None and getattr(frame, about) != name:
        return f"{kind.__name__} in the name of {getattr(frame, about)[:200]!r}"
    return None
