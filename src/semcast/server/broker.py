"""A broker on real sockets: one node, its links, its store, and the clients that hang on it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from semcast.model import SemcastError
from semcast.net.connection import Connection
from semcast.net.host import Host, log
from semcast.net.runner import Runner
from semcast.net.view import OverlayView
from semcast.protocol.broker.forwarding import Passage
from semcast.protocol.broker.intake import taken_in
from semcast.protocol.contract import Command, Congested, Event, Handed, Local, Note, Passed, Received, Relieved, Send
from semcast.protocol.results import MessagesShed, Result, TermRefused
from semcast.protocol.wire.codec import AnyView, LegView, encode
from semcast.protocol.wire.data_view import DataView
from semcast.protocol.wire.frames import (
    AnyFrame,
    Append,
    Ask,
    Counters,
    Data,
    Deliver,
    Greeting,
    Leg,
    Publish,
    Published,
    Refused,
)
from semcast.protocol.wire.frames.semantic import Packet
from semcast.protocol.wire.senders import AT_BROKER, Sender, objection
from semcast.server.broker_status import answer_of, status_of
from semcast.server.deliveries import Deliveries
from semcast.server.long_profiles import LongProfiles
from semcast.server.machines import node_of
from semcast.server.meters import LinkMeter
from semcast.server.turns import Turns
from semcast.storage.broker_store import BrokerStore
from semcast.storage.database import UnwritableError
from semcast.trees.roles import SOURCE
from semcast.trees.topology import GATEWAY

_REPORT_S = 1.0
_AGAIN_S = 1.0
_FIRST_MOMENT = 1_767_225_600  # 2026-01-01, in seconds since 1970


def _least_incarnation() -> int:
    """Seconds since 2026: a broker whose folder was deleted still has a higher incarnation than in its earlier lives.

    Not since 1970: incarnations are the upper half of numbers of 64 bits.
    """
    return max(1, int(time.time()) - _FIRST_MOMENT)


class BrokerHost(Host):
    """One broker. ``failed`` hears of what it cannot go on with: it stops, and somebody has to start it again."""

    role = "broker"

    def __init__(
        self,
        name: str,
        view: OverlayView,
        folder: Path,
        *,
        coordinators: Sequence[str] = (),
        executor: Executor | None = None,
        failed: Callable[[str, BaseException], None] | None = None,
    ) -> None:
        """``coordinators`` are addresses where some may be that the view does not know yet."""
        topology, settings = view.overlay(), view.tuned()
        self.roles = view.roles(name)
        self.store = BrokerStore(folder, source=SOURCE in self.roles, least_incarnation=_least_incarnation())
        super().__init__(name, incarnation=self.store.incarnation, beat_s=settings.beat_s, dead_s=settings.dead_s)
        self.view = view
        self._coordinators = coordinators
        self.settings = settings
        self.streams = view.declared()
        self.neighbours = sorted(
            link.b if link.a == name else link.a for link in topology.links if name in (link.a, link.b)
        )
        self._members = frozenset(topology.numbers)
        self.links = {neighbour: LinkMeter() for neighbour in self.neighbours}
        self.turns = Turns.of_this_loop()
        self.notes: Counter[str] = Counter()
        self.deliveries = Deliveries()
        self.long_profiles = LongProfiles(self, sum(GATEWAY in broker.roles for broker in topology.brokers))
        self.locals: dict[str, Callable[[str, AnyFrame], None]] = {}
        """Clients within this process, which speak other protocols with theirs; they are given (sender, frame)."""
        self.near: dict[str, Callable[[Handed], None]] = {}
        """Those of them that are handed batches."""
        self._origins: dict[str, str] = {}
        """Who of them publishes under which origin at another broker."""
        self.listeners: list[Callable[[Greeting], None]] = []
        self.started_at = time.time()
        self.node = node_of(name, view, self.store, self.neighbours, self.near, asyncio.get_running_loop().time())
        self._on_failure = failed
        self._runner = Runner(
            self.node,
            self._do,
            tick_s=settings.tick_s,
            failed=self._fail,
            store=self.store,
            executor=executor,
            troubled=self._hear_of_trouble,
        )
        self._told_of_trouble = ""
        self._executor = executor
        self._reporting: asyncio.TimerHandle | None = None

    async def start(self, address: str) -> None:
        """Listen, dial the neighbours and coordinators, and begin."""
        self.node.crossing.lanes()  # loads what is compiled before the first message waits for it
        await self.listen(address)
        self._reach()
        if set(self.view.candidates) - self.view.coordinators.keys():
            self.meet(set(self._coordinators) - set(self.view.coordinators.values()))
        self.begin()
        self._runner.start()
        self._report()
        log.info("%s: broker at %s (%s)", self.name, self.address, ", ".join(self.roles) or "interior")

    async def stop(self) -> None:
        if self._reporting is not None:
            self._reporting.cancel()
        for front in self.fronts:
            await front.stop()  # what its clients leave behind is still taken down
        await self._runner.stop()
        await super().stop()
        self.store.close()

    @property
    def over(self) -> bool:
        """Was it stopped, or did it fail?"""
        return self._runner.over

    def now(self) -> float:
        """By the clock that its machine knows."""
        return self._loop.time()

    def _fail(self, error: BaseException) -> None:
        log.error("%s: cannot go on: %s", self.name, error, exc_info=error)
        if self._on_failure is not None:
            self._on_failure(self.name, error)

    @property
    def trouble(self) -> str:
        """Why nothing can be written at the moment, and so nothing is taken in or acknowledged."""
        return self._runner.trouble

    def _hear_of_trouble(self, reason: str) -> None:
        if reason and reason != self._told_of_trouble:
            log.error("%s: nothing can be written: %s; it is tried again until it can be", self.name, reason)
        elif self._told_of_trouble and not reason:
            log.warning("%s: what could not be written is on disk now", self.name)
        self._told_of_trouble = reason

    # --- the overlay

    def address_of(self, name: str) -> str | None:
        if name in self.links and name < self.name:
            return None  # it dials us
        member = self.view.members.get(name)
        return member.address if member is not None else self.view.coordinators.get(name)

    def _reach(self) -> None:
        """Dial all coordinators, and the neighbours that do not dial us."""
        wanted = dict(self.view.coordinators)
        for neighbour in self.neighbours:
            member = self.view.members.get(neighbour)
            if member is not None and self.name < neighbour:
                wanted[neighbour] = member.address
        self.keep(wanted)

    def greeting(self, peer: Connection) -> Greeting:
        return self.introduction(self.view.for_clients().encoded())

    def is_member(self, name: str) -> bool:
        return name in self._members or name in self.view.coordinators or name in self.view.candidates

    def expects(self, greeting: Greeting) -> bool:
        """A coordinator is one that the deployment names; others were dialled by their names."""
        if greeting.role != "coordinator":
            return greeting.name in self._members
        return greeting.name in self.view.coordinators or greeting.name in self.view.candidates

    def address_of_member(self, name: str) -> str | None:
        member = self.view.members.get(name)
        return member.address if member is not None else None

    def greeted(self, peer: Connection, greeting: Greeting) -> None:
        if peer.role != "coordinator":
            return
        told = OverlayView.decoded(greeting.overlay)
        coordinators = self.view.coordinators
        if peer.name not in coordinators and peer.name in told.coordinators:
            coordinators = coordinators | {peer.name: told.coordinators[peer.name]}
        members = dict(self.view.members)
        for name, member in told.members.items():
            if name not in members or member.incarnation >= members[name].incarnation:
                members[name] = member
        if (members, coordinators) == (self.view.members, self.view.coordinators):
            return
        self.view = msgspec.structs.replace(self.view, members=members, coordinators=coordinators, version=told.version)
        self._reach()
        again = self.greeting(peer)
        for other in self.peers.values():
            if other.role == "client":
                other.send(again)
        for listener in self.listeners:
            listener(again)

    # --- frames

    def met(self, peer: Connection) -> None:
        """From a neighbour come mostly messages that go on: its bytes are decided piece by piece."""
        if peer.name in self.links:
            peer.take = partial(self._take, peer, self.node.crossing.passage(peer.name, peer.held))

    def _take(self, peer: Connection, passage: Passage, data: bytes) -> None:
        """Do what a piece of bytes asks for; what goes on leaves before it is counted."""
        # Only sizes are kept until then: a part that has left gives its memory back to the parts behind it.
        passed: list[tuple[str, int, int, int]] = []
        hear = partial(self._hear, peer)
        try:
            for command in taken_in(passage, data, self._runner.commits, hear, self._drop):
                if isinstance(command, Passed):
                    if self._pass(command):
                        passed.append((command.to, len(command.data), command.messages, command.frames))
                else:
                    self._do([command])
        finally:
            self.leaving.leave()
            for to, size, messages, frames in passed:
                self._meter(to, size, messages, frames)
            self.links[peer.name].came(*passage.came())

    def _hear(self, peer: Connection, event: Received | Local) -> None:
        if isinstance(event, Received):
            self.received(peer, [event.frame])
        else:
            self._runner.feed(event)

    def _drop(self, passed: Passed) -> None:
        self.dropped += passed.frames

    def _sender(self, peer: Connection) -> Sender:
        if peer.role == "broker":
            return Sender.NEIGHBOUR if peer.name in self.links else Sender.BROKER
        return Sender.COORDINATOR if peer.role == "coordinator" and peer.dialled else Sender.CLIENT

    def frame(self, peer: Connection, frame: AnyView) -> None:
        reason = objection(frame, peer.name, self._sender(peer), AT_BROKER)
        if reason is not None:
            self.refuse(peer, type(frame).__name__.removesuffix("View"), reason)
        elif isinstance(frame, DataView):
            self.links[peer.name].came(len(frame.data), frame.count)
            self._runner.feed(Received(peer.name, frame.frame()))
        elif isinstance(frame, LegView):
            self.links[peer.name].came(len(frame.data), len(frame.leg.numbers))
            self._runner.feed(Received(peer.name, frame.leg))
        elif isinstance(frame, Packet):
            self.links[peer.name].came(len(encode(frame)), 1)
            self._runner.feed(Received(peer.name, frame))
        elif isinstance(frame, Ask):
            peer.send(answer_of(self, frame))
        elif isinstance(frame, Published | Refused):
            local = self.locals.get(self._origins.get(frame.origin, ""))
            if local is not None:
                local(peer.name, frame)
        elif isinstance(frame, Publish | Append) and self.trouble:
            peer.send(self._not_now(frame))
        elif not self.long_profiles.take(peer, frame):
            self.feed(Received(peer.name, frame))

    def feed(self, event: Event) -> None:
        """Give its machine an event."""
        self._runner.feed(event)

    def told(self, sender: str, frame: AnyFrame) -> None:
        """A frame of a client within this process."""
        local = self.locals.get(sender)
        if isinstance(frame, Publish | Append) and self.trouble and local is not None:
            self._loop.call_soon(local, self.name, self._not_now(frame))
            return
        self._runner.feed(Received(sender, frame))

    def _not_now(self, publish: Publish | Append) -> Refused:
        """It is not taken in; whoever publishes keeps it and tries again."""
        return Refused(publish.origin, publish.first, f"nothing can be stored at {self.name}: {self.trouble}")

    def tell_for(self, client: str, to: str, frame: AnyFrame) -> int:
        """Send another broker what a client within this process publishes there."""
        if isinstance(frame, Publish):
            self._origins[frame.origin] = client
        return self.say(to, frame)

    def forget_local(self, client: str) -> None:
        """A client within this process has gone."""
        self.locals.pop(client, None)
        self._origins = {origin: name for origin, name in self._origins.items() if name != client}

    async def committed(self) -> None:
        """What was put into the notes so far is durable when this returns; that may wait for room on the disk."""
        while True:
            try:
                await self._loop.run_in_executor(self._executor, self.store.commit)
                return
            except UnwritableError as error:
                self._hear_of_trouble(str(error))
                await asyncio.sleep(_AGAIN_S)

    def overlay_time(self) -> tuple[float, float]:
        """Seconds since 1970 by the first coordinator's clock, and by how much that may be wrong."""
        for name in sorted(self.view.coordinators):
            clock = self.clocks.known.get(name)
            if clock is not None:
                return time.time() + clock.offset_s, clock.error_s
        return time.time(), 0.0

    def nearest_source(self) -> str:
        """This broker, if it is one, else the one with the shortest round trip, else any."""
        found = self.view.sources
        if self.name in found or SOURCE in self.roles:
            return self.name
        if not found:
            raise SemcastError("no source is there at the moment")
        known = self.clocks.known
        return min(found, key=lambda name: known[name].rtt_s if name in known else float("inf"))

    def _do(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Send):
                self._send(command.to, command.frame)
            elif isinstance(command, Passed):
                if self._pass(command):
                    self._meter(command.to, len(command.data), command.messages, command.frames)
            elif isinstance(command, Handed):
                taker = self.near.get(command.to)
                if taker is not None:
                    self._loop.call_soon(taker, command)
            elif isinstance(command, MessagesShed):
                self.notes[command.name] += command.messages
            elif isinstance(command, Result):
                if isinstance(command, TermRefused):
                    log.warning("%s: refused %s", self.name, command.details)
                self.notes[command.name] += 1
            elif isinstance(command, Note):
                self.notes[command.what] += 1

    def _pass(self, passed: Passed) -> bool:
        """Write whole frames to a neighbour; was it there?"""
        peer = self.peers.get(passed.to)
        if peer is None:
            self.dropped += passed.frames
            return False
        peer.write(passed.data)
        return True

    def _meter(self, to: str, size: int, messages: int, frames: int) -> None:
        meter = self.links.get(to)
        if meter is not None:
            meter.left(size, messages, frames)

    def _send(self, to: str, frame: AnyFrame) -> None:
        local = self.locals.get(to)
        if local is not None:
            self._loop.call_soon(local, self.name, frame)
        size = self.say(to, frame) if local is None else 0
        if isinstance(frame, Deliver) and (size or local is not None) and to not in self.near:
            self.deliveries.took(frame, 1000 * self.overlay_time()[0])
        meter = self.links.get(to)
        if meter is not None and size:
            meter.left(size, len(frame.numbers) if isinstance(frame, Data | Leg) else int(isinstance(frame, Packet)))

    def congested(self, connection: Connection, much: bool) -> None:
        if connection.name in self.links:
            self._runner.feed((Congested if much else Relieved)(connection.name))

    def lost(self, peer: Connection, reason: str) -> None:
        self.clocks.forget(peer.name)
        if peer.name in self.links:
            self._runner.feed(Relieved(peer.name))
        if not self._stopping and peer.role != "client":
            log.info("%s: %s %s is gone: %s", self.name, peer.role, peer.name, reason)

    # --- what people ask

    def _report(self) -> None:
        self._reporting = self._loop.call_later(_REPORT_S, self._report)
        body = msgspec.json.encode(self.status())
        for name in self.view.coordinators:
            peer = self.peers.get(name)
            if peer is not None:
                peer.send(Counters(self.name, body))

    def status(self) -> dict[str, Any]:
        """How it stands, as JSON can say it."""
        return status_of(self)
