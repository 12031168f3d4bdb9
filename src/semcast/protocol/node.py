"""What runs at one broker: forwarding, and maybe a source and a gateway, behind one door."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.contract import Command, Congested, Event, Local, Received, Relieved, Send, Synced, Tick
from semcast.protocol.results import TermRefused
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Log, Notes
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import (
    Ack,
    Append,
    AskSamples,
    Attach,
    Beat,
    Caught,
    Data,
    Detach,
    Fetch,
    Fill,
    Heartbeat,
    Ingested,
    Install,
    Lease,
    Leg,
    Live,
    Publish,
    Refused,
    Repair,
    Switch,
    Taken,
    Tally,
    Welcome,
)
from semcast.protocol.wire.frames.semantic import Packet

if TYPE_CHECKING:
    from semcast.protocol.gateway.gateway import Gateway
    from semcast.protocol.semnet.router import SemanticRouter
    from semcast.protocol.source.source import Outgoing, Source

_TERM = "term"
_LEAP = 1 << 20
"""Terms that a broker may have missed: the lead has changed every three seconds for a month."""
_HIGHEST = 1 << 40
"""The first term that a new broker hears is below this."""


class Node:
    """The machine of one broker."""

    def __init__(
        self,
        broker: str,
        *,
        neighbours: Sequence[str],
        coordinators: Sequence[str],
        settings: Settings,
        notes: Notes,
        log: Log | None = None,
        gateway: bool = False,
        streams: Streams | None = None,
        incarnation: int = 1,
        now: float = 0.0,
        in_bytes: bool = False,
        near: Container[str] = (),
    ) -> None:
        """``in_bytes``: the source's messages leave as bytes (Passed), which drivers with sockets want.

        ``near``: clients within this process, who take batches (Handed).
        """
        self.id = broker
        self.broker = Broker(broker)
        self.crossing = Crossing(self.broker)
        self.source: Source | None = None
        self.gateway: Gateway | None = None
        self.router: SemanticRouter | None = None
        """Under semnet."""
        # A broker loads only what it is: matching and planning are most of a process, and an interior broker has none.
        if log is not None:
            from semcast.protocol.source.source import Source

            self.source = Source(broker, log, notes, settings, incarnation, streams)
        if gateway:
            from semcast.protocol.gateway.gateway import Gateway

            self.gateway = Gateway(broker, notes, settings, incarnation, now, streams, near)
        self.term = int(notes.get(_TERM) or b"0")
        self._neighbours = list(neighbours)
        self._coordinators = list(coordinators)
        self._settings = settings
        self._notes = notes
        self._incarnation = incarnation
        self._heard: dict[str, float] = dict.fromkeys(neighbours, now)
        self._beat_at = float("-inf")
        self._acked_at = now
        self._in_bytes = in_bytes

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case Received(sender, frame):
                if sender in self._heard:
                    self._heard[sender] = now
                if type(frame) is Beat:  # a quarter of all frames
                    return []
                return self._settled(self._received(sender, frame, now), now)
            case Local(sender, held):
                if sender in self._heard:
                    self._heard[sender] = now
                return self._settled(self._local(held), now)
            case Tick():
                return self._settled(self._tick(now), now)
            case Synced(through) if self.source is not None:
                return self._settled(self._synced(self.source, through, now), now)
            case Congested(to):
                self.broker.congested.add(to)
            case Relieved(to):
                self.broker.congested.discard(to)
        return []

    # --- frames

    def _received(self, sender: str, frame: object, now: float) -> list[Command]:
        match frame:
            case Data() | Leg() | Tally():
                return self._along(frame, sender, now)
            case Ack():
                return self._ack(frame, sender)
            case Install() | Switch() | Lease() | Live() | AskSamples() | Welcome():
                if self._leaps(frame.term):
                    return [TermRefused(type(frame).__name__, sender, frame.term, self.term)]
                return self._told(sender, frame, now) if self._of_this_term(frame.term) else []
            case Publish() | Append():
                if self.source is None:
                    return [Send(sender, Refused(frame.origin, frame.first, f"{self.id} is no source"))]
                if isinstance(frame, Append):
                    return self.source.append(frame, sender, now)
                return self.source.publish(frame, sender, now)
        if self.source is not None:
            match frame:
                case Ingested(position):
                    return self.source.ingested(position)
                case Fetch():
                    return self.source.fetch(frame)
                case Fill():
                    return self.source.fill(frame)
        return self._for_clients(sender, frame, now)

    def _for_clients(self, sender: str, frame: object, now: float) -> list[Command]:
        if self.gateway is None:
            return []
        match frame:
            case Repair():
                return self.gateway.repair(frame)
            case Caught():
                return self.gateway.caught(frame, now)
            case Attach():
                return self.gateway.attach(frame, sender, now)
            case Taken():
                return self.gateway.taken(frame, sender, now)
            case Detach():
                return self.gateway.detach(frame, sender, now)
        return []

    def _leaps(self, term: int) -> bool:
        """Is this term one that no store has given? Terms rise by one whenever the lead changes.

        The highest term is kept for good, so one that is far too high would shut out all coordinators.
        """
        return term > (self.term + _LEAP if self.term else _HIGHEST)

    def _of_this_term(self, term: int) -> bool:
        """A word of a coordinator that does not lead any more is not heard; the newest term is kept for good."""
        if term > self.term:
            self.term = term
            self._notes.put(_TERM, b"%d" % term)
        return term == self.term

    def _told(
        self, sender: str, frame: Install | Switch | Lease | Live | AskSamples | Welcome, now: float
    ) -> list[Command]:
        match frame:
            case Install():
                newer = (frame.term, frame.revision) > self.broker.revision
                answer = self.broker.install(frame, self._incarnation)
                if newer and self.gateway is not None:
                    self.gateway.install(frame, now)
                if newer and self.source is not None:
                    self.source.close(self.broker.tables)
                return [Send(sender, answer)]
            case Live() if self.gateway is not None:
                return self.gateway.live(frame)
            case Switch() if self.source is not None:
                answers = self.source.switch(frame, sender)
                self.source.close(self.broker.tables)  # who was cut off switches late: old trees may be gone by then
                return answers
            case Lease() if self.source is not None:
                self.source.lease(frame)
            case AskSamples() if self.source is not None:
                return self.source.samples(frame, sender)
        return []

    def _along(self, frame: Data | Leg | Tally, sender: str | None, now: float) -> list[Command]:
        forwarded = self.broker.forward(frame, sender)
        commands = forwarded.commands
        if self.gateway is not None:
            for local in forwarded.local:
                commands += self.gateway.data(local) if isinstance(local, Data) else self.gateway.tally(local, now)
        return commands

    def _synced(self, source: Source, through: int, now: float) -> list[Command]:
        """Send what is durable. The gateway here is told at once that it has all of it: it waits for no tally."""
        if self.gateway is None:
            commands, frames = source.synced(through)
            return commands + self._inject(frames, now)
        found: list[Command] = []
        while source.sent < through:
            before = source.sent
            # A gateway takes no more than its window before it knows that nothing is missing.
            commands, frames = source.synced(min(through, before + self._settings.window // 2))
            found += commands + self._inject(frames, now)
            for tally in source.tallies(self.id):
                found += self.gateway.tally(tally, now)
            if source.sent == before:
                break
        return found

    def _inject(self, frames: Iterable[Outgoing], now: float) -> list[Command]:
        commands: list[Command] = []
        for frame in frames:
            assert not isinstance(frame, Packet)  # here messages follow plans
            if not (self._in_bytes and isinstance(frame, Data)):
                commands += self._along(frame, None, now)
                continue
            for found in self.crossing.begin(frame):
                commands += self._local(found.frames) if isinstance(found, Local) else [found]
        return commands

    def _local(self, frames: Iterable[Data]) -> list[Command]:
        if self.gateway is None:
            return []
        return [command for frame in frames for command in self.gateway.data(frame)]

    def _ack(self, ack: Ack, sender: str) -> list[Command]:
        if ack.at_source:
            return self.source.ack(ack) if self.source is not None else []
        if ack.key in self.broker.tables:
            self.broker.acks.take(ack.key, sender, ack.positions)
        return []

    # --- time

    def _tick(self, now: float) -> list[Command]:
        commands: list[Command] = []
        if self.source is not None:
            commands += self._inject(self.source.tick(now), now)
        if self.gateway is not None:
            commands += self.gateway.tick(now)
            commands += self.gateway.asks(self._coordinators, now)
        if now - self._acked_at >= self._settings.ack_s:
            self._acked_at = now
            commands += self._acks()
            if self.source is not None:
                commands += self.source.trim()  # where no gateway is on a tree, nobody acknowledges
        if now - self._beat_at >= self._settings.beat_s:
            self._beat_at = now
            beat, heartbeat = Beat(now), self._heartbeat(now)
            commands += [Send(neighbour, beat) for neighbour in self._neighbours]
            commands += [Send(coordinator, heartbeat) for coordinator in self._coordinators]
        return commands

    def _acks(self) -> list[Command]:
        if self.gateway is not None:
            positions = self.gateway.ack()
            for key, table in self.broker.tables.items():
                if table.entry.acks and table.entry.bit is not None:
                    self.broker.acks.take(key, self.id, positions)
        return self.broker.acks.upwards(self.broker.tables)

    def _heartbeat(self, now: float) -> Heartbeat:
        down = tuple(name for name, at in self._heard.items() if now - at > self._settings.dead_s)
        source, gateway = self.source, self.gateway
        return Heartbeat(
            self.id,
            self._incarnation,
            now,
            self.broker.revision,
            down,
            source.log.end if source else None,
            source.epoch if source else 0,
            source.since if source else 0,
            gateway.clean() if gateway else (),
            gateway.interests.serial if gateway else -1,
        )

    def _settled(self, commands: list[Command], now: float) -> list[Command]:
        """Frames to this very broker never leave it."""
        if not commands:
            return commands
        done: list[Command] = []
        todo = commands
        while todo:
            local: list[Command] = []
            for command in todo:
                if isinstance(command, Send) and command.to == self.id:
                    local += self._received(self.id, command.frame, now)
                else:
                    done.append(command)
            todo = local
        return done

    def state(self) -> dict[str, object]:
        """What an observer may want to know."""
        source, gateway = self.source, self.gateway
        found: dict[str, object] = {
            "term": self.term,
            "revision": self.broker.revision,
            "tables": sorted(self.broker.tables),
            "evaluations": self.broker.evaluations,
        }
        if source is not None:
            found |= {"epoch": source.epoch, "end": source.log.end, "trimmed": source.log.trimmed, "sent": source.sent}
        if gateway is not None:
            found |= {
                "sessions": {name: session.waiting for name, session in gateway.sessions.items()},
                "held": {name: inbox.held for name, inbox in gateway.inboxes.items()},
                "frontiers": {name: inbox.frontier for name, inbox in gateway.inboxes.items()},
                "open": {name: sorted(inbox.open) for name, inbox in gateway.inboxes.items()},
            }
        return found
