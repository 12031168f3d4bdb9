"""What runs at one broker: a carrier of messages, and maybe a source and a gateway, behind one door.

How an overlay is run shows in the parts that a node is made of, and nowhere else: ``planned_node`` composes a node that
follows plans, ``semnet.node`` one with a semantic router.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.carrier import Carrier
from semcast.protocol.contract import (
    Command,
    Congested,
    Continued,
    Event,
    Local,
    Received,
    Relieved,
    Send,
    Synced,
    Tick,
)
from semcast.protocol.results import TermRefused
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Notes
from semcast.protocol.wire.frames import (
    Append,
    AskSamples,
    Attach,
    AttachMany,
    Beat,
    Caught,
    Detach,
    Heartbeat,
    Install,
    Lease,
    Live,
    Noted,
    Publish,
    Refused,
    Repair,
    RosterChanges,
    RosterPiece,
    Switch,
    Taken,
    TakenMany,
    Welcome,
)

if TYPE_CHECKING:
    from semcast.protocol.gateway.gateway import Gateway
    from semcast.protocol.semnet.router import SemanticRouter
    from semcast.protocol.source.outlet import Outlet
    from semcast.protocol.source.source import Source

_TERM = "term"
_LEAP = 1 << 20
"""Terms that a broker may have missed: the lead has changed every three seconds for a month."""
_HIGHEST = 1 << 40
"""The first term that a new broker hears is below this."""


class Node:
    """The machine of one broker."""

    def __init__(
        self,
        broker: Broker,
        *,
        crossing: Crossing,
        carrier: Carrier,
        source: Source[Outlet] | None,
        gateway: Gateway | None,
        neighbours: Sequence[str],
        coordinators: Sequence[str],
        settings: Settings,
        notes: Notes,
        incarnation: int,
        now: float,
    ) -> None:
        self.id = broker.me
        self.broker = broker
        self.crossing = crossing
        self.source = source
        self.gateway = gateway
        self.term = int(notes.get(_TERM) or b"0")
        self._carrier = carrier
        self._neighbours = list(neighbours)
        self._coordinators = list(coordinators)
        self._settings = settings
        self._notes = notes
        self._incarnation = incarnation
        self._heard: dict[str, float] = dict.fromkeys(neighbours, now)
        self._beat_at = float("-inf")
        self._acked_at = now

    @property
    def router(self) -> SemanticRouter | None:
        return self._carrier.router

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case Received(sender, frame):
                if sender in self._heard:
                    self._heard[sender] = now
                if type(frame) is Beat:  # a quarter of all frames
                    return self._carrier.conclude(now)
                return self._settled(self._received(sender, frame, now), now)
            case Local(sender, held):
                if sender in self._heard:
                    self._heard[sender] = now
                return self._settled(self._carrier.arrived(held), now)
            case Tick():
                return self._settled(self._tick(now), now)
            case Synced(through) if self.source is not None:
                return self._settled(self._synced(self.source, through, now), now)
            case Continued():
                proceeded = self.gateway.proceed(now) if self.gateway is not None else []
                return self._settled(proceeded + self._carrier.proceed(now), now)
            case Congested(to):
                self.broker.congested.add(to)
            case Relieved(to):
                self.broker.congested.discard(to)
        return self._carrier.conclude(now)

    # --- frames

    def _received(self, sender: str, frame: object, now: float) -> list[Command]:
        carried = self._carrier.received(sender, frame, now)
        if carried is not None:
            return carried
        match frame:
            case (
                Install()
                | Switch()
                | Lease()
                | Noted()
                | Live()
                | RosterChanges()
                | RosterPiece()
                | AskSamples()
                | Welcome()
            ):
                if self._leaps(frame.term):
                    return [TermRefused(type(frame).__name__, sender, frame.term, self.term)]
                return self._carrier.told(sender, frame, now) if self._of_this_term(frame.term) else []
            case Publish() | Append():
                if self.source is None:
                    return [Send(sender, Refused(frame.origin, frame.first, f"{self.id} is no source"))]
                if isinstance(frame, Append):
                    return self.source.append(frame, sender, now)
                return self.source.publish(frame, sender, now)
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
            case AttachMany():
                return _one_beat(self.gateway.attach_many(frame, sender, now))
            case Taken():
                return self.gateway.taken(frame, sender, now)
            case TakenMany():
                return _one_beat(
                    [command for taken in frame.taken for command in self.gateway.taken(taken, sender, now)]
                )
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

    def _synced(self, source: Source[Outlet], through: int, now: float) -> list[Command]:
        """Send what is durable."""
        if self.gateway is None:
            commands, frames = source.synced(through)
            return commands + self._carrier.inject(frames, now)
        found: list[Command] = []
        while source.sent < through:
            before = source.sent
            # A gateway takes no more than its window before it knows that nothing is missing.
            commands, frames = source.synced(min(through, before + self._settings.window // 2))
            found += commands + self._carrier.inject(frames, now) + self._carrier.injected(now)
            if source.sent == before:
                break
        return found

    # --- time

    def _tick(self, now: float) -> list[Command]:
        commands: list[Command] = []
        if self.source is not None:
            commands += self._carrier.inject(self.source.tick(now), now)
        if self.gateway is not None:
            commands += self.gateway.tick(now)
        if now - self._acked_at >= self._settings.ack_s:
            self._acked_at = now
            commands += self._carrier.acknowledge()
            if self.source is not None:
                commands += self.source.trim()  # where no gateway is on a tree, nobody acknowledges
        if now - self._beat_at >= self._settings.beat_s:
            self._beat_at = now
            beat, heartbeat = Beat(now), self._heartbeat(now)
            commands += [Send(neighbour, beat) for neighbour in self._neighbours]
            commands += [Send(coordinator, heartbeat) for coordinator in self._coordinators]
        return commands + self._carrier.tick(now)

    def _heartbeat(self, now: float) -> Heartbeat:
        down = tuple(name for name, at in self._heard.items() if now - at > self._settings.dead_s)
        source, gateway = self.source, self.gateway
        epoch, since, version, version_since = source.stand() if source is not None else (0, 0, 0, 0)
        return Heartbeat(
            self.id,
            self._incarnation,
            now,
            self.broker.revision,
            down,
            source.log.end if source else None,
            epoch,
            since,
            gateway.clean() if gateway else (),
            gateway.interests.serial if gateway else -1,
            version,
            version_since,
        )

    def _settled(self, commands: list[Command], now: float) -> list[Command]:
        """Frames to this very broker never leave it, and coordinators hear at once what is wanted differently."""
        done: list[Command] = []
        todo = commands
        if self.gateway is not None:
            todo = todo + self.gateway.asks(self._coordinators, now)
        while todo:
            local: list[Command] = []
            for command in todo:
                if isinstance(command, Send) and command.to == self.id:
                    local += self._received(self.id, command.frame, now)
                else:
                    done.append(command)
            todo = local
        done += self._carrier.conclude(now)
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


def _one_beat(commands: list[Command]) -> list[Command]:
    """The answers to one frame: that the gateway is there needs to be said once, not for each of its sessions."""
    beats = [command for command in commands if isinstance(command, Send) and type(command.frame) is Beat]
    if len(beats) < 2:
        return commands
    dropped = set(map(id, beats[1:]))
    return [command for command in commands if id(command) not in dropped]
