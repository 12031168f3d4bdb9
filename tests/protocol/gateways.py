"""The gateway of the playbooks: on the tree of plan 1, with everything of ``s`` through 10."""

from __future__ import annotations

from dataclasses import replace

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command
from semcast.protocol.node import Node
from semcast.protocol.wire.frames import (
    Attach,
    Caught,
    Deliver,
    Fetch,
    Live,
)
from semcast.sim.stores import MemoryNotes
from tests.protocol.playbook import (
    KEY,
    SETTINGS,
    entry,
    frames,
    gateway_node,
    install,
    only,
    play,
    tick,
    topic,
)

BASE = 1 << 32
AGAIN = SETTINGS.resend_s + 0.01


def joined(*, notes: MemoryNotes | None = None, incarnation: int = 1, at: int = 10, **settings: object) -> Node:
    """The gateway ``g0`` on the tree of plan 1, with everything of ``s`` through a position."""
    node = gateway_node(notes=notes, settings=replace(SETTINGS, **settings), incarnation=incarnation)  # type: ignore[arg-type]
    play(node, ("c", install(1, entry(KEY, "m", bit=0, acks=True), members={1: (KEY,)}, bit=0)))
    asked = only(tick(node, 0), Fetch)
    assert (asked.gateway, asked.first) == ("g0", None)
    play(node, ("s", Caught("s", asked.request, 1, at, at, 0, epoch=1, counts=((KEY, 0),))))
    return node


def attach(session: str = "x", profile: ProfileText = topic("a"), **options: object) -> Attach:  # noqa: B008
    return Attach(session, profile, **options)  # type: ignore[arg-type]


def live(serial: int = 1, at: int = 10, incarnation: int = 1, version: int = 1, **options: object) -> Live:
    return Live(1, incarnation, serial, version, (("s", at),), **options)  # type: ignore[arg-type]


def delivered(commands: list[Command], session: str = "x") -> list[int]:
    return [frame.number for frame in frames(commands, Deliver) if frame.session == session]


def asked(node: Node, at: float) -> list[ProfileText]:
    """What the gateway asks the coordinator for by now."""
    assert node.gateway is not None
    tick(node, at)
    return sorted(node.gateway.interests.profiles, key=lambda profile: profile.text)
