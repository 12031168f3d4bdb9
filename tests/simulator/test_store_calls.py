"""Calls to the store on the virtual clock, and the laws between coordinators and their store."""

from __future__ import annotations

import numpy as np
import pytest

from semcast.protocol.contract import (
    AskLead,
    Command,
    CommitStore,
    Event,
    LeadAnswered,
    ReadStore,
    StoreCommand,
    StoreCommitted,
    StoreEvent,
    StoreFailed,
    StoreRead,
)
from semcast.protocol.wire.frames import Install, Lease, Live, Switch
from semcast.sim.clock import Agenda, Chance
from semcast.sim.faults import StoreCut, StoreSlow
from semcast.sim.parties import Party
from semcast.sim.scenario import Coordinators
from semcast.sim.simulation import Simulation
from semcast.sim.store_calls import StoreCalls
from semcast.sim.store_laws import Order, StoreWatch
from semcast.sim.stores import MemoryCoordinatorStore, StoreLine
from tests.simulator.crossroads import scenario


class Silent:
    def handle(self, event: Event, now: float) -> list[Command]:
        return []


class Desk:
    """One coordinator's calls, and what it hears of them."""

    def __init__(self, seed: int = 1) -> None:
        self.agenda = Agenda()
        self.store = MemoryCoordinatorStore(lambda: self.agenda.now)
        self.line = StoreLine(self.store)
        self.party = Party("c0", "coordinator", "b0", lambda incarnation, now: Silent())
        self.party.start(0.0)
        self.heard: list[tuple[float, StoreEvent]] = []
        self.late: list[str] = []
        self._calls = StoreCalls(
            self.agenda, Chance(np.random.default_rng(seed)), (0.01, 0.02),
            lambda party, event: self.heard.append((self.agenda.now, event)),
            lambda party, what: self.late.append(what),
        )  # fmt: skip

    def make(self, *commands: StoreCommand) -> None:
        for command in commands:
            self._calls.make(self.party, self.line, command)

    def events(self) -> list[StoreEvent]:
        return [event for _, event in self.heard]


def test_a_call_is_answered_within_its_span() -> None:
    desk = Desk()
    desk.make(AskLead(1, "c0#1", 3.0, 0))
    desk.agenda.run(1.0)
    desk.make(CommitStore(2, 1, {"a": b"x"}))
    desk.agenda.run(2.0)
    desk.make(ReadStore(3))
    desk.agenda.run(3.0)
    assert desk.events() == [LeadAnswered(1, 1), StoreCommitted(2), StoreRead(3, {"a": b"x"})]
    took = [at - asked for (at, _), asked in zip(desk.heard, (0.0, 1.0, 2.0), strict=True)]
    assert all(0.0099 < seconds < 0.0201 for seconds in took)


def test_a_slow_line_takes_up_to_so_much_longer() -> None:
    desk = Desk()
    desk.line.slow_s = 2.0
    desk.make(*(AskLead(number, "c0#1", 3.0, 0) for number in range(20)))
    desk.agenda.run(5.0)
    times = [at for at, _ in desk.heard]
    assert min(times) < 0.7 < 1.3 < max(times) <= 2.02


def test_calls_into_a_cut_are_never_done_or_done_later_and_never_answered() -> None:
    never = late = 0
    for seed in range(40):
        desk = Desk(seed)
        desk.store.lead("c0#1", 3.0)
        desk.line.cuts = 1
        desk.make(CommitStore(1, 1, {"a": b"x"}))
        desk.agenda.run(0.02)
        assert desk.events() == [StoreFailed(1, False, "the store does not answer")]
        assert desk.store.read() == {}
        desk.agenda.run(4.0)
        assert len(desk.heard) == 1
        late += desk.store.read() == {"a": b"x"}
        never += desk.store.read() == {}
    assert min(never, late) > 5


def test_what_was_done_before_a_cut_is_not_answered_during_it() -> None:
    desk = Desk()
    desk.store.lead("c0#1", 3.0)
    desk.make(CommitStore(1, 1, {"a": b"x"}))
    while not desk.store.read():
        desk.agenda.run(desk.agenda.now + 0.0001)
    desk.line.cuts = 1
    desk.agenda.run(1.0)
    assert [type(event) for event in desk.events()] == [StoreFailed]


def test_a_write_that_lands_behind_a_read_is_found_out() -> None:
    """Unless the store refuses it, since it is of an older term."""
    for above, found in ((0, ["a in term 1"]), (1, [])):
        desk = next(desk for desk in map(_with_a_late_write, range(40)) if desk is not None)
        desk.make(AskLead(2, "c0#1", 3.0, above))
        desk.agenda.run(desk.agenda.now + 0.02)
        desk.make(ReadStore(3))
        desk.agenda.run(5.0)
        assert desk.late == found


def _with_a_late_write(seed: int) -> Desk | None:
    """A desk whose first write is stuck on its way for at least a second; None where it is not."""
    if not _is_late(Desk(seed)):
        return None
    return _cut_off(Desk(seed))


def _cut_off(desk: Desk) -> Desk:
    desk.store.lead("c0#1", 9.0)
    desk.line.cuts = 1
    desk.make(CommitStore(1, 1, {"a": b"x"}))
    desk.agenda.run(0.03)
    desk.line.cuts = 0
    return desk


def _is_late(desk: Desk) -> bool:
    _cut_off(desk).agenda.run(1.0)
    if desk.store.read():
        return False
    desk.agenda.run(4.0)
    return bool(desk.store.read())


@pytest.fixture(scope="module")
def settled() -> Simulation:
    """A run in which a plan is in force."""
    run = Simulation(scenario(), 1)
    run.step(4.0)
    return run


def test_orders_are_judged_by_what_the_store_holds(settled: Simulation) -> None:
    store, watch, party = settled.driver.store, StoreWatch(settled.driver), settled.driver.parties["c0"]
    assert store is not None

    def laws(order: Order) -> list[str]:
        return [found.law for found in watch.judged(party, order)]

    term, epoch = store.term, _epoch(settled)
    assert laws(Lease(term, 0.0, 2.0, epoch)) == []
    assert laws(Lease(term + 1, 0.0, 2.0, epoch)) == laws(Lease(term - 1, 0.0, 2.0, epoch)) == [
        "who speaks holds the lead"
    ]  # fmt: skip
    version = settled.driver.parties["c0"].machine.roster.version  # type: ignore[union-attr]
    assert version > 0
    assert laws(Live(term, 1, 1, version, ())) == []
    for early in (
        Lease(term, 0.0, 2.0, epoch + 1),
        Live(term, 1, 1, version + 1, ()),
        Install(term, 1, (), (), ((epoch + 1, ()),)),
        Switch(term, epoch + 1, "masked", (), (), ()),
    ):
        assert laws(early) == ["what is said is stored"]


def _epoch(run: Simulation) -> int:
    machine = run.driver.parties["c0"].machine
    found = machine.deployment  # type: ignore[union-attr]
    return int(found.epoch)


def test_a_slow_and_a_cut_store_break_no_law() -> None:
    faults = (
        StoreSlow(from_s=2.0, to_s=7.5, party="c0", most_ms=2500.0),
        *(StoreCut(from_s=at, to_s=at + 0.3, party="c0") for at in (3.0, 4.5, 6.0)),
    )
    run = Simulation(scenario(coordinators=Coordinators(count=2, store_ms=(1.0, 300.0)), faults=faults), 3)
    report = run.run()
    assert report.violations == []
    assert report.notes["no store"] > 0
