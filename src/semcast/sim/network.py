"""What is between parties: lanes that keep their order, and what faults do to them.

A lane leads from one party to another, over the overlay's link between neighbours, else past the overlay, as fast as
the shortest path between their brokers. Frames of one lane arrive in order or not at all, and nothing is said about
frames of different lanes. A crash breaks the lanes of its party: what was on the way to it is lost, and of what it had
sent a first part arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semcast.protocol.contract import Congested, Event, Passed, Received, Relieved
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import AnyFrame
from semcast.sim.clock import Agenda, Chance
from semcast.sim.faults import Jitter, LaneFault, Loss, Partition, Twice
from semcast.sim.meters import Meters
from semcast.sim.parties import Party
from semcast.sim.process import ByteStream
from semcast.trees.topology import Topology


@dataclass(frozen=True)
class Water:
    """Frames that wait for a slow neighbour: above ``high`` the sender is told, at ``low`` again, above ``bound`` they
    are lost.
    """

    high: int = 64
    low: int = 16
    bound: int = 512


WATER = Water()


class Lane:
    """The way from one party to another, with what faults make of it at the moment."""

    __slots__ = (
        "congested", "connection", "cut_at", "delay_s", "hops", "jitter_s", "last", "link", "loss", "open_at",
        "plain", "receiver", "sender", "shut", "stream", "twice", "version", "waiting",
    )  # fmt: skip

    def __init__(self, sender: Party, receiver: Party, delay_s: float, hops: int, overlay: bool) -> None:
        self.sender, self.receiver = sender, receiver
        self.delay_s, self.hops = delay_s, hops
        self.link = (sender.name, receiver.name) if overlay else None
        self.last = 0.0
        """When the last frame so far arrives; none overtakes it."""
        self.connection = 0
        self.cut_at = -1.0
        """What was sent over the connection before this one still arrives until then."""
        self.waiting = 0
        self.congested = False
        self.version = -1
        self.plain = True
        """No fault is on it."""
        self.shut = False
        self.open_at = 0.0
        self.loss = self.twice = self.jitter_s = 0.0
        self.stream: ByteStream | None = None
        """Where neighbours are given bytes: what of them has arrived."""


class Geography:
    """Delays and hops of shortest paths between brokers."""

    def __init__(self, topology: Topology) -> None:
        self._numbers = topology.numbers
        paths = [topology.graph.paths(node, "delay") for node in range(len(topology.brokers))]
        self._delays = [path.distance.tolist() for path in paths]
        self._hops = [[len(path.to(node)) - 1 for node in range(len(topology.brokers))] for path in paths]
        self._links = {ends: link.delay_ms for link in topology.links for ends in ((link.a, link.b), (link.b, link.a))}

    def link_ms(self, a: str, b: str) -> float | None:
        """The delay of the overlay's link, if there is one."""
        return self._links.get((a, b))

    def path(self, a: str, b: str) -> tuple[float, int]:
        """(delay in ms, hops) of the shortest path."""
        tail, head = self._numbers[a], self._numbers[b]
        return self._delays[tail][head], self._hops[tail][head]


class Network:
    """Carries frames between parties, as bytes, so that machines share nothing."""

    def __init__(
        self,
        geography: Geography,
        agenda: Agenda,
        chance: Chance,
        meters: Meters,
        feed: Callable[[Party, Event], None],
        *,
        client_ms: float = 0.2,
        water: Water = WATER,
        pieces: Chance | None = None,
        dropped: Callable[[str, str, str, int], None] | None = None,
    ) -> None:
        self.parties: dict[str, Party] = {}
        self.highest = 0
        """The most frames that ever waited on one overlay lane."""
        self._geography, self._agenda, self._chance, self._meters = geography, agenda, chance, meters
        self._feed = feed
        self._client_s = client_ms / 1000
        self._water = water
        self._pieces = pieces
        self._dropped = dropped
        self._faults: list[LaneFault] = []
        self._version = 0
        self._frame: AnyFrame | None = None
        self._data = b""

    def send(self, sender: Party, to: str, frame: AnyFrame) -> None:
        """Send a frame; who is not there gets nothing."""
        lane = sender.lanes.get(to) or self._lane(sender, to)
        if lane is None:
            self._meters.drops["nobody of that name"] += 1
            return
        if lane.version != self._version:
            self._update(lane)
        if frame is not self._frame:  # what goes to several is encoded once
            self._frame, self._data = frame, encode(frame)
        data = self._data
        self._meters.sent(frame, len(data), lane.hops, lane.link)
        self._launch(lane, data)

    def pass_on(self, sender: Party, passed: Passed) -> None:
        """Send whole frames to a neighbour as they are; a fault hits all of them or none."""
        lane = sender.lanes.get(passed.to) or self._lane(sender, passed.to)
        if lane is None:
            self._meters.drops["nobody of that name"] += 1
            return
        if lane.version != self._version:
            self._update(lane)
        self._meters.passed(passed, lane.hops, lane.link)
        self._launch(lane, passed.data)

    def _launch(self, lane: Lane, data: bytes) -> None:
        if lane.plain:
            self._carry(lane, data)
        elif lane.shut:
            self._drop(lane, "partition", data)
        elif lane.loss and self._chance.happens(lane.loss):
            self._drop(lane, "loss", data)
        else:
            self._carry(lane, data)
            if lane.twice and self._chance.happens(lane.twice):
                self._carry(lane, data)

    def begin(self, fault: LaneFault) -> None:
        self._faults.append(fault)
        self._version += 1

    def end(self, fault: LaneFault) -> None:
        self._faults.remove(fault)
        self._version += 1

    def broken(self, party: Party) -> None:
        """A crash: nothing arrives there any more, and only a first part of what it had sent elsewhere."""
        for lane in party.lanes.values():
            lane.cut_at = self._agenda.now + self._chance() * lane.delay_s
            lane.connection += 1
            lane.waiting, lane.congested = 0, False
        for other in self.parties.values():
            back = other.lanes.get(party.name)
            if back is not None:
                back.connection += 1
                back.cut_at = -1.0
                back.waiting = 0
                self._relieve(back)

    def _carry(self, lane: Lane, data: bytes) -> None:
        now = self._agenda.now
        arrival = now + lane.delay_s
        if not lane.plain:
            arrival = max(now, lane.open_at) + lane.delay_s
            if lane.jitter_s:
                arrival += self._chance() * lane.jitter_s
        if arrival < lane.last:
            arrival = lane.last
        lane.last = arrival
        counted = lane.link is not None and self._queues(lane, now)
        if counted and not self._wait(lane, data):
            return
        self._agenda.put(arrival, self._arrive, (lane, data, lane.connection, counted))

    def _queues(self, lane: Lane, now: float) -> bool:
        receiver = lane.receiver
        return receiver.service_s > 0 or receiver.busy_until > now or receiver.paused_until > now or lane.open_at > now

    def _wait(self, lane: Lane, data: bytes) -> bool:
        """One more waits for a slow neighbour, unless there are too many."""
        if lane.waiting >= self._water.bound:
            self._drop(lane, "queue full", data)
            return False
        lane.waiting += 1
        self.highest = max(self.highest, lane.waiting)
        if lane.waiting > self._water.high and not lane.congested:
            lane.congested = True
            self._agenda.put(self._agenda.now, self._tell, (lane, lane.connection, Congested(lane.receiver.name)))
        return True

    def _arrive(self, what: tuple[Lane, bytes, int, bool]) -> None:
        lane, data, connection, counted = what
        receiver = lane.receiver
        now = self._agenda.now
        if connection != lane.connection and not (connection == lane.connection - 1 and now <= lane.cut_at):
            self._drop(lane, "connection broken", data)
            return
        if lane.version != self._version:
            self._update(lane)
        if not receiver.alive or lane.shut:
            if counted and connection == lane.connection:
                self._served(lane)
            self._drop(lane, "partition" if receiver.alive else "receiver is down", data)
            return
        if receiver.busy_until > now or receiver.paused_until > now or receiver.service_s:
            receiver.busy_until = max(receiver.busy_until, receiver.paused_until, now) + receiver.service_s
            self._agenda.put(receiver.busy_until, self._serve, (lane, data, connection, counted, receiver.incarnation))
        else:
            if counted and connection == lane.connection:
                self._served(lane)
            self._hand_over(lane, data, connection)

    def _hand_over(self, lane: Lane, data: bytes, connection: int) -> None:
        if lane.stream is not None:
            lane.stream.arrive(data, connection)
        else:
            self._feed(lane.receiver, Received(lane.sender.name, decode(data)))

    def _serve(self, what: tuple[Lane, bytes, int, bool, int]) -> None:
        """A frame has waited its time out before a slow party."""
        lane, data, connection, counted, incarnation = what
        if counted and connection == lane.connection:
            self._served(lane)
        if lane.receiver.alive and lane.receiver.incarnation == incarnation:
            self._hand_over(lane, data, connection)
        else:
            self._drop(lane, "receiver is down", data)

    def _served(self, lane: Lane) -> None:
        lane.waiting -= 1
        if lane.waiting <= self._water.low:
            self._relieve(lane)

    def _relieve(self, lane: Lane) -> None:
        if lane.congested:
            lane.congested = False
            self._agenda.put(self._agenda.now, self._tell, (lane, lane.connection, Relieved(lane.receiver.name)))

    def _tell(self, what: tuple[Lane, int, Event]) -> None:
        lane, connection, event = what
        if lane.sender.alive and connection == lane.connection:
            self._feed(lane.sender, event)

    def _drop(self, lane: Lane, reason: str, data: bytes) -> None:
        self._meters.drops[reason] += 1
        if self._dropped is not None:
            self._dropped(lane.sender.name, lane.receiver.name, reason, len(data))

    def _lane(self, sender: Party, to: str) -> Lane | None:
        receiver = self.parties.get(to)
        if receiver is None:
            return None
        link_ms = self._geography.link_ms(sender.name, to)
        if link_ms is not None:
            made = Lane(sender, receiver, link_ms / 1000, 1, True)
            if receiver.process is not None and self._pieces is not None:
                made.stream = ByteStream(receiver, sender.name, self._agenda, self._pieces)
        else:
            path_ms, hops = self._geography.path(sender.at, receiver.at)
            ends = sum(party.role != "broker" for party in (sender, receiver))
            made = Lane(sender, receiver, path_ms / 1000 + ends * self._client_s, hops, False)
        sender.lanes[to] = made
        return made

    def _update(self, lane: Lane) -> None:
        """What the faults of this moment make of a lane."""
        lane.version = self._version
        lane.plain, lane.shut, lane.open_at = True, False, 0.0
        passes, singles, jitter_ms = 1.0, 1.0, 0.0
        ends = lane.sender.name, lane.receiver.name, _place(lane.sender), _place(lane.receiver)
        for fault in self._faults:
            if not fault.hits(*ends, lane.link is not None):
                continue
            lane.plain = False
            if isinstance(fault, Loss):
                passes *= 1 - fault.probability
            elif isinstance(fault, Twice):
                singles *= 1 - fault.probability
            elif isinstance(fault, Jitter):
                jitter_ms += fault.most_ms
            elif isinstance(fault, Partition) and fault.hold:
                lane.open_at = max(lane.open_at, fault.to_s)
            elif isinstance(fault, Partition):
                lane.shut = True
        lane.loss, lane.twice, lane.jitter_s = 1 - passes, 1 - singles, jitter_ms / 1000


def _place(party: Party) -> str:
    """Clients share the fate of their broker; who else is named alone."""
    return party.at if party.role == "client" else party.name
