"""One machine at a time: events by hand, and what it answers.

The overlay of the playbooks is small: a source ``s``, a broker ``m`` in the middle, and behind it the gateways
``g0`` and ``g1``, whose bits are 0 and 1; ``c`` is the coordinator. Profiles are topics: ``a`` covers ``a/b``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from semcast.model.message import Message, ProfileText, packed
from semcast.planning.schemes import scheme_of
from semcast.protocol.contract import Command, Event, Machine, Note, Received, Send, Synced, Tick
from semcast.protocol.node import Node
from semcast.protocol.planned_node import planned_node
from semcast.protocol.settings import Settings
from semcast.protocol.source.followed_roster import FollowedRoster
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import (
    AnyFrame,
    Data,
    Entry,
    Install,
    Key,
    Lease,
    PlannedTree,
    Publish,
    RosterChange,
    RosterChanges,
    Switch,
    Tally,
    TreeLink,
)
from semcast.sim.stores import MemoryLog, MemoryNotes

SETTINGS = Settings()
KEY: Key = ("c0", 1)
OTHER: Key = ("c1", 2)
BOTH = {"m": 0b11}
OFTEN, SELDOM = SETTINGS.tally_s + 0.01, SETTINGS.silence_s / 3 + 0.01
"""Between tallies, and a little more."""
LINKS = (("s", "m"), ("m", "g0"), ("m", "g1"))

Kind = TypeVar("Kind")


# --- events in, commands out ----------------------------------------------------------------------------------


def play(machine: Machine, *events: Event | tuple[str, AnyFrame], at: float = 0.0) -> list[Command]:
    """Give a machine events, one after the other; ``("m", frame)`` is a frame that came from ``m``.

    Under masked trees a source hears of profiles from the roster: those of a ``Switch`` are told as its changes.
    """
    commands: list[Command] = []
    for event in events:
        if isinstance(event, tuple) and isinstance(event[1], Switch) and isinstance(machine, Node):
            sender, told = event
            if scheme_of(told.scheme).masked and told.profiles and told.epoch > machine.source.epoch:  # type: ignore[union-attr]
                commands += machine.handle(Received(sender, changes_to(roster_of(machine), told)), at)
                event = sender, msgspec.structs.replace(told, profiles=())
        commands += machine.handle(Received(*event) if isinstance(event, tuple) else event, at)
    return commands


def roster_of(source: Node) -> FollowedRoster:
    assert source.source is not None
    return source.source.outlet.roster  # type: ignore[attr-defined,no-any-return]


def changes_to(known: FollowedRoster, told: Switch) -> RosterChanges:
    """The change from the roster that a source follows to the profiles of a plan."""
    gateways = {gateway: place for place, gateway in enumerate(told.gateways)}
    gone = {name for name, _, _ in known.profiles()} - {name for name, _, _ in told.profiles}
    changes = [RosterChange(name, None, ()) for name in sorted(gone)]
    changes += [RosterChange(name, text, tuple(gateways[g] for g in held)) for name, text, held in told.profiles]
    return RosterChanges(told.term, known.version, known.version + 1, told.gateways, tuple(changes))


def tick(machine: Machine, at: float) -> list[Command]:
    return machine.handle(Tick(), at)


def sends(commands: Iterable[Command], kind: type[Kind]) -> list[tuple[str, Kind]]:
    """Who is sent what, of one kind of frames."""
    return [(c.to, c.frame) for c in commands if isinstance(c, Send) and isinstance(c.frame, kind)]


def frames(commands: Iterable[Command], kind: type[Kind]) -> list[Kind]:
    return [frame for _, frame in sends(commands, kind)]


def only(commands: Iterable[Command], kind: type[Kind]) -> Kind:
    """The one frame of a kind that is sent."""
    (frame,) = frames(commands, kind)
    return frame


def results(commands: Iterable[Command], kind: type[Kind]) -> list[Kind]:
    """What a machine reports, of one kind."""
    return [command for command in commands if isinstance(command, kind)]


def notes(commands: Iterable[Command], what: str) -> list[dict[str, Any]]:
    return [command.details for command in commands if isinstance(command, Note) and command.what == what]


def log_and_sync(source: Node, first: int, *topics: str, at: float = 1.0) -> list[Command]:
    """Publish messages to a source, and tell it that they are durable."""
    play(source, ("pub", publish(first, *topics)), at=at)
    assert source.source is not None
    log = source.source.log
    assert isinstance(log, MemoryLog)
    log.sync(log.end)
    return play(source, Synced(log.end), at=at)


# --- messages and profiles ------------------------------------------------------------------------------------


def topic(text: str) -> ProfileText:
    return ProfileText("news", "topic", text)


def message(text: str = "a") -> Message:
    return Message("news", b"", text)


def body(text: str = "a") -> bytes:
    return packed(message(text))


def publish(first: int, *topics: str, origin: str = "p") -> Publish:
    return Publish(origin, first, tuple(message(text) for text in topics))


def data(*numbers: int, key: Key = KEY, masks: tuple[int, ...] | None = None, text: str = "a", epoch: int = 1) -> Data:
    """Messages of source ``s``, all of one topic."""
    return Data(key, epoch, "s", numbers, masks, (body(text),) * len(numbers))


def tally(
    through: int,
    counts: Mapping[int, int],
    *,
    key: Key = KEY,
    epoch: int = 1,
    previous: int = 0,
    since: int = 0,
    incarnation: int = 1,
    final: bool = False,
    version: int = 0,
) -> Tally:
    """``version`` of the roster is followed ``since`` the same position."""
    counted = dict(counts)
    return Tally(key, epoch, previous, since, "s", incarnation, through, counted, final, None, version, since)


# --- what coordinators say ------------------------------------------------------------------------------------


def planned(key: Key = KEY, gateways: tuple[int, ...] = (0, 1), *, expression: str | None = None, rendezvous: str = "s",
            acks: bool = True) -> PlannedTree:  # fmt: skip
    return PlannedTree(key, expression, rendezvous, LINKS, gateways, acks)


def switch(
    epoch: int,
    *trees: PlannedTree,
    scheme: str = "masked",
    profiles: Mapping[str, tuple[str, ...]] | None = None,
    absent: tuple[str, ...] = (),
    gateways: tuple[str, ...] = ("g0", "g1"),
    term: int = 1,
) -> Switch:
    """A plan for sources; ``profiles`` are topics with the gateways that want them, each its own id."""
    asked = {"a": ("g0",), "b": ("g1",)} if profiles is None else profiles
    held = tuple((text, topic(text), wanting) for text, wanting in asked.items())
    return Switch(term, epoch, scheme, gateways, held, trees, absent)


def lease(epoch: int, echo: float = 0.0, lease_s: float = 2.0, term: int = 1, position: int = 1000) -> Lease:
    return Lease(term, echo, lease_s, epoch, position)


def entry(
    key: Key = KEY,
    parent: str | None = None,
    links: Mapping[str, int | None] | None = None,
    *,
    ups: tuple[tuple[str, str], ...] = (),
    bit: int | None = None,
    acks: bool = False,
) -> Entry:
    """A tree at one broker; ``links`` are masks of the gateways behind each, None where everything goes over it."""
    made = tuple(TreeLink(broker, None if mask is None else bytes([mask])) for broker, mask in (links or {}).items())
    return Entry(key, parent, made, ups, bit, acks)


def install(
    revision: int,
    *entries: Entry,
    keep: tuple[Key, ...] = (),
    term: int = 1,
    members: Mapping[int, tuple[Key, ...]] | None = None,
    bit: int | None = None,
) -> Install:
    """Tables; ``members`` are a gateway's trees per epoch."""
    held = tuple((epoch, tuple((key, None) for key in keys)) for epoch, keys in (members or {}).items())
    return Install(term, revision, entries, keep, held, ("s",), bit)


# --- nodes ----------------------------------------------------------------------------------------------------


def source_node(
    log: MemoryLog | None = None,
    *,
    notes: MemoryNotes | None = None,
    settings: Settings = SETTINGS,
    incarnation: int = 1,
    streams: Streams | None = None,
    in_bytes: bool = False,
) -> Node:
    """The node ``s``: a source whose only neighbour is ``m``."""
    return planned_node(
        "s", neighbours=["m"], coordinators=["c"], settings=settings, notes=notes or MemoryNotes(),
        log=log if log is not None else MemoryLog(), incarnation=incarnation, streams=streams, in_bytes=in_bytes,
    )  # fmt: skip


def gateway_node(
    name: str = "g0", *, notes: MemoryNotes | None = None, settings: Settings = SETTINGS, incarnation: int = 1
) -> Node:
    return planned_node(
        name, neighbours=["m"], coordinators=["c"], settings=settings, notes=notes or MemoryNotes(), gateway=True,
        incarnation=incarnation,
    )  # fmt: skip


def broker_node(name: str = "m", *, notes: MemoryNotes | None = None, incarnation: int = 1) -> Node:
    return planned_node(
        name, neighbours=["s", "g0", "g1"], coordinators=["c"], settings=SETTINGS, notes=notes or MemoryNotes(),
        incarnation=incarnation,
    )  # fmt: skip
