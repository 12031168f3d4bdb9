"""A carrier that forwards along the trees of a plan, with tallies, acks and repairs from logs.

What is lost on a tree is noticed at the gateways by tallies, and fetched from the source's log: ``Fetch`` and ``Fill``
are therefore part of how messages are carried, as ``Data`` is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.carrier import CoordinatorWord
from semcast.protocol.contract import Command, Local, Send
from semcast.protocol.wire.frames import (
    Ack,
    AskSamples,
    Data,
    Fetch,
    Fill,
    Ingested,
    Install,
    Lease,
    Leg,
    Live,
    Noted,
    RosterChanges,
    RosterPiece,
    Switch,
    Tally,
)
from semcast.protocol.wire.frames.semantic import Packet

if TYPE_CHECKING:
    from semcast.protocol.gateway.gateway import Gateway
    from semcast.protocol.source.outlet import Outgoing
    from semcast.protocol.source.planned_outlet import PlannedOutlet
    from semcast.protocol.source.source import Source


class TreeCarrier:
    """How one broker carries messages that follow plans."""

    router: None = None

    def __init__(
        self,
        broker: Broker,
        source: Source[PlannedOutlet] | None,
        gateway: Gateway | None,
        incarnation: int,
        crossing: Crossing | None = None,
    ) -> None:
        """``crossing``: the source's messages leave through it as bytes; None: they leave as frames."""
        self._broker = broker
        self._source = source
        self._gateway = gateway
        self._incarnation = incarnation
        self._crossing = crossing

    # --- frames

    def received(self, sender: str, frame: object, now: float) -> list[Command] | None:
        match frame:
            case Data() | Leg() | Tally():
                return self._along(frame, sender, now)
            case Ack():
                return self._ack(frame, sender)
            case Fetch() | Fill() | Ingested() if self._source is not None:
                return self._from_log(self._source, frame)
        return None

    def _along(self, frame: Data | Leg | Tally, sender: str | None, now: float) -> list[Command]:
        forwarded = self._broker.forward(frame, sender)
        commands = forwarded.commands
        if self._gateway is not None:
            for local in forwarded.local:
                commands += self._gateway.data(local) if isinstance(local, Data) else self._gateway.tally(local, now)
        return commands

    def _ack(self, ack: Ack, sender: str) -> list[Command]:
        if ack.at_source:
            source = self._source
            return source.trim() if source is not None and source.outlet.ack(ack) else []
        if ack.key in self._broker.tables:
            self._broker.acks.take(ack.key, sender, ack.positions)
        return []

    def _from_log(self, source: Source[PlannedOutlet], frame: Fetch | Fill | Ingested) -> list[Command]:
        match frame:
            case Fetch():
                return source.outlet.fetch(frame, source.sent)
            case Fill():
                return source.outlet.fill(frame, source.sent)
        source.outlet.ingested(frame.position, source.sent)
        return source.trim()

    def told(self, sender: str, word: CoordinatorWord, now: float) -> list[Command]:
        outlet = self._source.outlet if self._source is not None else None
        match word:
            case Install():
                return self._install(sender, word, now)
            case Live() if self._gateway is not None:
                return self._gateway.live(word, sender)
            case Noted() if self._gateway is not None:
                self._gateway.interests.note(word, sender)
            case RosterChanges() | RosterPiece() if self._source is not None:
                return self._source.outlet.roster_changed(word, sender, self._source.sent)
            case Switch() if self._source is not None:
                outlet = self._source.outlet
                answers = outlet.switch(word, sender, self._source.sent)
                outlet.close(self._broker.tables)  # who was cut off switches late: old trees may be gone by then
                return answers
            case Lease() if outlet is not None:
                outlet.lease(word)
            case AskSamples() if outlet is not None:
                return outlet.samples(word, sender)
        return []

    def _install(self, sender: str, install: Install, now: float) -> list[Command]:
        newer = (install.term, install.revision) > self._broker.revision
        answer = self._broker.install(install, self._incarnation)
        if newer and self._gateway is not None:
            self._gateway.install(install, now)
        if newer and self._source is not None:
            self._source.outlet.close(self._broker.tables)
        return [Send(sender, answer)]

    # --- the source and the gateway here

    def arrived(self, frames: Iterable[Data]) -> list[Command]:
        if self._gateway is None:
            return []
        return [command for frame in frames for command in self._gateway.data(frame)]

    def inject(self, frames: Iterable[Outgoing], now: float) -> list[Command]:
        commands: list[Command] = []
        for frame in frames:
            assert not isinstance(frame, Packet)  # here messages follow plans
            if self._crossing is None or not isinstance(frame, Data):
                commands += self._along(frame, None, now)
                continue
            for found in self._crossing.begin(frame):
                commands += self.arrived(found.frames) if isinstance(found, Local) else [found]
        return commands

    def injected(self, now: float) -> list[Command]:
        """The gateway here is told at once that it has everything: it waits for no tally."""
        if self._source is None or self._gateway is None:
            return []
        tallies = self._source.outlet.tallies(self._broker.me, self._source.sent)
        return [command for tally in tallies for command in self._gateway.tally(tally, now)]

    # --- time

    def acknowledge(self) -> list[Command]:
        broker = self._broker
        if self._gateway is not None:
            positions = self._gateway.ack()
            for key, table in broker.tables.items():
                if table.entry.acks and table.entry.bit is not None:
                    broker.acks.take(key, broker.me, positions)
        return broker.acks.upwards(broker.tables)

    def tick(self, now: float) -> list[Command]:
        return self.proceed(now)  # a driver that could write nothing for a while may have forgotten that it was asked

    def proceed(self, now: float) -> list[Command]:
        source = self._source
        return source.outlet.proceed(source.sent) if source is not None else []

    def conclude(self, now: float) -> list[Command]:
        return []
