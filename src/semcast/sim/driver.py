"""Runs machines on the virtual clock: gives them events, does what they command, crashes them and brings them back."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import get_args

import numpy as np

from semcast.protocol.contract import (
    ClientEvent,
    Command,
    Continue,
    Continued,
    Event,
    Handed,
    LeadAnswered,
    MakePlan,
    Note,
    Passed,
    PlanMade,
    Received,
    Send,
    StoreCommand,
    StoreFailed,
    Sync,
    Synced,
    Tick,
)
from semcast.protocol.coordinator.orders import Order
from semcast.protocol.results import Result
from semcast.protocol.wire.frames import AnyFrame
from semcast.sim.clock import Agenda, Chance
from semcast.sim.faults import AnyFault, Crash, DiskFault, LaneFault, Pause, Skew, Slow, StoreCut, StoreSlow
from semcast.sim.journal import Journal
from semcast.sim.meters import Meters
from semcast.sim.network import WATER, Geography, Network, Water
from semcast.sim.parties import Party
from semcast.sim.store_calls import StoreCalls
from semcast.sim.stores import MemoryCoordinatorStore, MemoryLog, StoreLine
from semcast.sim.witness import Violation

_TICK_JITTER = 0.1
_RESTART_S = 1.0
_TICK = Tick()
_CONTINUED = Continued()
_UNWRITTEN = frozenset({Tick, Continued, LeadAnswered, *get_args(ClientEvent)})
"""Events of which a journal says nothing: what a client asks shows in the frames that it sends."""
_STORE_CALLS = frozenset(get_args(StoreCommand))
_TOLD = (
    "key", "epoch", "source", "numbers", "number", "first", "through", "sequence", "request", "term", "revision",
    "serial", "version", "position", "positions", "lost", "reason",
)  # fmt: skip
"""What a journal tells of a frame, if it has it."""


class Driver:
    """Owns the clock, the network and the parties.

    ``reported`` hears machines' results, ``watched`` sees each frame of a kind that somebody watches, when it is sent.
    """

    def __init__(
        self,
        geography: Geography,
        chances: Mapping[str, np.random.Generator],
        *,
        tick_s: float,
        sync_ms: tuple[float, float] = (0.5, 3.0),
        plan_ms: tuple[float, float] = (0.0, 0.0),
        store_ms: tuple[float, float] = (0.5, 5.0),
        client_ms: float = 0.2,
        water: Water = WATER,
        journal: Journal | None = None,
    ) -> None:
        self.agenda = Agenda()
        self.meters = Meters()
        self.journal = journal
        self.reported: Callable[[Party, Result], None] | None = None
        self.notes: Counter[str] = Counter()
        """How often each note and result was given, by its name in the journal."""
        self.watched: dict[type, Callable[[Party, str, AnyFrame], None]] = {}
        self.failures: list[Violation] = []
        """Machines that raised."""
        self.near: set[str] = set()
        """Clients within the process of their broker."""
        self.lines: dict[str, StoreLine] = {}
        """Coordinators' ways to their store."""
        self.store: MemoryCoordinatorStore | None = None
        """What coordinators share, if there are any."""
        self._ticks, self._syncs = Chance(chances["ticks"]), Chance(chances["syncs"])
        self._crashes = chances["crashes"]
        self._plans = Chance(chances["plans"])
        self._tick_s, self._sync_s = tick_s, (sync_ms[0] / 1000, sync_ms[1] / 1000)
        self._plan_s = plan_ms[0] / 1000, plan_ms[1] / 1000
        store_s = store_ms[0] / 1000, store_ms[1] / 1000
        self._calls = StoreCalls(self.agenda, Chance(chances["store"]), store_s, self.feed, self._written_late)
        self.network = Network(
            geography,
            self.agenda,
            Chance(chances["network"]),
            self.meters,
            self.feed,
            client_ms=client_ms,
            water=water,
            pieces=Chance(chances["pieces"]) if "pieces" in chances else None,
            dropped=self._dropped if journal else None,
        )

    @property
    def parties(self) -> dict[str, Party]:
        return self.network.parties

    def add(self, party: Party) -> None:
        """Let a party take part from now on; its first tick comes within one period."""
        self.parties[party.name] = party
        self._start(party)

    def feed(self, party: Party, event: Event) -> None:
        """Give a machine an event and do what it says."""
        if party.process is not None:
            party.process.feed(party, event)
            return
        commands = self.handle(party, event)
        if commands:
            self.do(party, commands)

    def handle(self, party: Party, event: Event) -> list[Command] | None:
        """Give a machine an event: what it says, or None where it failed, which is a crash."""
        machine = party.machine
        assert machine is not None
        if self.journal is not None and type(event) not in _UNWRITTEN:
            self._journal_event(party, event)
        try:
            return machine.handle(event, party.clock.read(self.agenda.now))
        except Exception as error:
            of = type(event.frame).__name__ if isinstance(event, Received) else type(event).__name__
            self.failed(party, of, error)
            return None

    def do(self, party: Party, commands: list[Command]) -> None:
        """What a machine commands, in order."""
        for command in commands:
            kind = type(command)
            if kind is Send:
                frame = command.frame  # type: ignore[union-attr]
                watch = self.watched.get(type(frame))
                if watch is not None:
                    watch(party, command.to, frame)  # type: ignore[union-attr]
                if self.near and (party.name in self.near or command.to in self.near):  # type: ignore[union-attr]
                    self._within(party, command.to, Received(party.name, frame))  # type: ignore[union-attr]
                else:
                    self.network.send(party, command.to, frame)  # type: ignore[union-attr]
            elif kind is Sync:
                if party.process is None:  # else a commit is under way
                    self._sync(party, command.through)  # type: ignore[union-attr]
            elif kind is Continue:
                self.agenda.put(self.agenda.now, self._continued, (party, party.incarnation))
            elif kind is Handed:
                self._within(party, command.to, command)  # type: ignore[union-attr, arg-type]
            elif kind is Passed:
                self.network.pass_on(party, command)  # type: ignore[arg-type]
            elif kind is MakePlan:
                self._make_plan(party, command.order)  # type: ignore[union-attr]
            elif kind in _STORE_CALLS:
                self._calls.make(party, self.lines[party.name], command)  # type: ignore[arg-type]
            elif kind is Note:
                self._note(party, command.what, command.details)  # type: ignore[union-attr]
            else:
                self._note(party, command.name, command.details)  # type: ignore[union-attr]
                if self.reported is not None:
                    self.reported(party, command)  # type: ignore[arg-type]

    def plan(self, fault: AnyFault) -> None:
        """Let a fault happen in its time."""
        self.agenda.put(fault.from_s, self._begin, fault)
        self.agenda.put(fault.to_s, self._end, fault)

    def crash(self, party: Party) -> None:
        """A party loses its machine, the frames on the way to it and what its log had not synced."""
        party.stop()
        lost = party.process.crash() if party.process is not None else 0
        if isinstance(party.log, MemoryLog):
            lost = party.log.crash(self._crashes)
        self.network.broken(party)
        self._write(party.name, "crash", lost=lost)

    def restart(self, party: Party) -> None:
        self._write(party.name, "restart", incarnation=party.incarnation + 1)
        self._start(party)

    def _start(self, party: Party) -> None:
        party.start(self.agenda.now)
        wait = self._ticks() * party.clock.wait(self._tick_s)
        self.agenda.put(self.agenda.now + wait, self._tick, (party, party.incarnation))

    def _tick(self, what: tuple[Party, int]) -> None:
        party, incarnation = what
        if not party.alive or party.incarnation != incarnation:
            return
        now = self.agenda.now
        if party.paused_until > now:
            self.agenda.put(party.paused_until, self._tick, what)
            return
        self.feed(party, _TICK)
        wait = party.clock.wait(self._tick_s) * (1 - _TICK_JITTER + 2 * _TICK_JITTER * self._ticks())
        self.agenda.put(now + wait, self._tick, what)

    def commit_s(self) -> float:
        """How long a commit takes on a disk without faults."""
        return self._syncs.between(*self._sync_s)

    def _sync(self, party: Party, through: int) -> None:
        party.synced_at = max(party.synced_at, self.agenda.now + self._syncs.between(*self._sync_s))
        self.agenda.put(party.synced_at, self._synced, (party, party.incarnation, through))

    def _synced(self, what: tuple[Party, int, int]) -> None:
        party, incarnation, through = what
        if not party.alive or party.incarnation != incarnation or not isinstance(party.log, MemoryLog):
            return
        if party.paused_until > self.agenda.now:
            self.agenda.put(party.paused_until, self._synced, what)
            return
        party.log.sync(through)
        self.feed(party, Synced(through))

    def _continued(self, what: tuple[Party, int]) -> None:
        party, incarnation = what
        if not party.alive or party.incarnation != incarnation:
            return
        if party.paused_until > self.agenda.now:
            self.agenda.put(party.paused_until, self._continued, what)
            return
        self.feed(party, _CONTINUED)

    def _within(self, sender: Party, to: str, event: Received | Handed) -> None:
        """Between a broker and who is within its process: in order, at once, unless the process falls."""
        party = self.parties[to]
        lives = sender, sender.incarnation, party.incarnation
        self.agenda.put(self.agenda.now, self._heard_within, (party, lives, event))

    def _heard_within(self, what: tuple[Party, tuple[Party, int, int], Received | Handed]) -> None:
        party, lives, event = what
        sender = lives[0]
        if not (party.alive and sender.alive) or lives != (sender, sender.incarnation, party.incarnation):
            return
        if party.paused_until > self.agenda.now:
            self.agenda.put(party.paused_until, self._heard_within, what)
            return
        self.feed(party, event)

    def _make_plan(self, party: Party, order: Order) -> None:
        """The plan is there after a while, in which the coordinator hears other things."""
        ready_s = self.agenda.now + self._plans.between(*self._plan_s)
        self.agenda.put(ready_s, self._plan_made, (party, party.incarnation, PlanMade(order.number, order.made())))

    def _plan_made(self, what: tuple[Party, int, PlanMade]) -> None:
        party, incarnation, event = what
        if not party.alive or party.incarnation != incarnation:
            return
        if party.paused_until > self.agenda.now:
            self.agenda.put(party.paused_until, self._plan_made, what)
            return
        self.feed(party, event)

    def _note(self, party: Party, name: str, details: Mapping[str, object]) -> None:
        self.notes[name] += 1
        if self.journal is not None:
            self._write(party.name, name, **{field: _small(value) for field, value in details.items()})

    def _written_late(self, party: Party, what: str) -> None:
        self.failures.append(Violation("no write follows a read", party.name, f"at {self.agenda.now:.3f} s: {what}"))

    def failed(self, party: Party, of: str, error: Exception) -> None:
        """A machine that raises is a process that dies; somebody starts it again."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{PurePath(place.filename).name}:{place.lineno}"
        told = f"{of}: {type(error).__name__}: {error} ({where})"
        self.failures.append(Violation("no machine fails", party.name, f"at {self.agenda.now:.3f} s, {told}"))
        self._write(party.name, "failed", error=told)
        self.crash(party)
        self.agenda.put(self.agenda.now + _RESTART_S, self._revive, party)

    def _revive(self, party: Party) -> None:
        if not party.alive:
            self.restart(party)

    def _begin(self, fault: AnyFault) -> None:
        self._write("", "fault", fault=fault, begins=True)
        if isinstance(fault, LaneFault):
            self.network.begin(fault)
            return
        party = self.parties.get(fault.party)
        if party is None:  # a client that has not come yet
            return
        if isinstance(fault, Crash) and party.alive and party.name not in self.near:  # those fall with their broker
            self.crash(party)
        elif isinstance(fault, Pause):
            party.paused_until = max(party.paused_until, fault.to_s)
        elif isinstance(fault, Slow):
            party.service_s += fault.service_ms / 1000
        elif isinstance(fault, DiskFault):
            self._change_disk(party, fault, 1)
        elif isinstance(fault, Skew):
            party.clock.skew(self.agenda.now, fault.rate, fault.jump_s)
        elif isinstance(fault, StoreCut):
            self.lines[fault.party].cuts += 1
        elif isinstance(fault, StoreSlow):
            self.lines[fault.party].slow_s += fault.most_ms / 1000

    def _end(self, fault: AnyFault) -> None:
        self._write("", "fault", fault=fault, begins=False)
        if isinstance(fault, LaneFault):
            self.network.end(fault)
            return
        party = self.parties.get(fault.party)
        if party is None:
            return
        if isinstance(fault, Crash) and not party.alive:
            self.restart(party)
        elif isinstance(fault, Slow):
            party.service_s = max(0.0, party.service_s - fault.service_ms / 1000)
        elif isinstance(fault, DiskFault):
            self._change_disk(party, fault, -1)
        elif isinstance(fault, Skew):
            party.clock.skew(self.agenda.now, 1.0)
        elif isinstance(fault, StoreCut):
            self.lines[fault.party].cuts -= 1
        elif isinstance(fault, StoreSlow):
            line = self.lines[fault.party]
            line.slow_s = max(0.0, line.slow_s - fault.most_ms / 1000)

    def _change_disk(self, party: Party, fault: DiskFault, by: int) -> None:
        if party.process is not None:
            party.process.store.change(fault.how, by, fault.slow_ms / 1000)

    def _journal_event(self, party: Party, event: Event) -> None:
        if isinstance(event, Received):
            frame = event.frame
            told = {name: getattr(frame, name) for name in _TOLD if name in frame.__struct_fields__}
            self._write(party.name, "received", frame=type(frame).__struct_config__.tag, sender=event.sender, **told)
        elif isinstance(event, Synced):
            self._write(party.name, "synced", through=event.through)
        elif isinstance(event, StoreFailed):
            self._write(party.name, "storefailed", number=event.number, fenced=event.fenced)
        else:
            self._write(party.name, type(event).__name__.lower())

    def _dropped(self, sender: str, receiver: str, reason: str, size_bytes: int) -> None:
        self._write(sender, "dropped", to=receiver, reason=reason, bytes=size_bytes)

    def _write(self, party: str, kind: str, **details: object) -> None:
        if self.journal is not None:
            self.journal.write(self.agenda.now, party, kind, details)


def _small(value: object) -> object:
    """A journal says how long a body is, not what is in it."""
    return f"{len(value)} bytes" if isinstance(value, bytes) else value
