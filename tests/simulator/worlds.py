"""Small overlays and small machines, to try the driver without the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semcast.protocol.contract import Command, Event, Machine, Note, Received, Send, Sync, Synced, Tick
from semcast.protocol.stores import Record
from semcast.protocol.wire.frames import AnyFrame, Beat
from semcast.sim.clock import Clock, chances
from semcast.sim.driver import Driver
from semcast.sim.journal import Journal
from semcast.sim.network import WATER, Geography, Water
from semcast.sim.parties import Party
from semcast.sim.stores import MemoryLog
from semcast.trees.topology import Broker, Link, Topology

CONCERNS = ("ticks", "syncs", "crashes", "network", "plans", "store")


def line(*delays_ms: float) -> Topology:
    """b0 – b1 – b2 …, with these delays."""
    brokers = [Broker(f"b{at}") for at in range(len(delays_ms) + 1)]
    return Topology.of(brokers, [Link(f"b{at}", f"b{at + 1}", 1, ms) for at, ms in enumerate(delays_ms)])


class Recorder:
    """Remembers everything that it is given, with its own time."""

    def __init__(self) -> None:
        self.events: list[tuple[float, Event]] = []

    def handle(self, event: Event, now: float) -> list[Command]:
        self.events.append((now, event))
        return []

    @property
    def frames(self) -> list[AnyFrame]:
        return [event.frame for _, event in self.events if isinstance(event, Received)]

    @property
    def beats(self) -> list[float]:
        """What the beats that came carried, in the order in which they came."""
        return [frame.sent_at for frame in self.frames if isinstance(frame, Beat)]

    @property
    def others(self) -> list[Event]:
        return [event for _, event in self.events if not isinstance(event, Received | Tick)]


class Flooder(Recorder):
    """Counts up to its neighbours at every tick, and passes on what is new to it."""

    def __init__(self, neighbours: Sequence[str], at_once: int = 1) -> None:
        super().__init__()
        self._neighbours, self._at_once = neighbours, at_once
        self.count = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        super().handle(event, now)
        if isinstance(event, Tick):
            self.count += self._at_once
            sent = range(self.count - self._at_once, self.count)
            return [Send(to, Beat(float(number))) for number in sent for to in self._neighbours]
        return [Note("beat", {"sent_at": frame.sent_at}) for frame in self.frames[-1:] if isinstance(frame, Beat)]


class Logger(Recorder):
    """Appends a record at every tick and syncs it."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__()
        self.log = log
        self.synced = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        super().handle(event, now)
        if isinstance(event, Tick):
            self.log.append([Record(self.log.end + 1, "o", self.log.end, 0, (), b"")])
            return [Sync(self.log.end)]
        if isinstance(event, Synced):
            self.synced = event.through
        return []


def driver(
    topology: Topology, seed: int = 1, *, tick_s: float = 0.1, water: Water = WATER, journal: Journal | None = None
) -> Driver:
    return Driver(
        Geography(topology), chances(seed, *CONCERNS), tick_s=tick_s, client_ms=0.5, water=water, journal=journal
    )


def join(driver: Driver, name: str, machine: Machine, clock: Clock | None = None) -> Party:
    """A broker whose machine is this one, also after a crash."""
    party = Party(name, "broker", name, lambda incarnation, now: machine, clock=clock)
    driver.add(party)
    return party


def silent(driver: Driver, *names: str) -> list[Recorder]:
    """Brokers that only listen."""
    machines = [Recorder() for _ in names]
    for name, machine in zip(names, machines, strict=True):
        join(driver, name, machine)
    return machines


def built(driver: Driver, name: str, build: Callable[[int, float], Machine], log: MemoryLog | None = None) -> Party:
    party = Party(name, "broker", name, build, log=log)
    driver.add(party)
    return party
