"""A coordinator and its store: nobody waits for it, nothing is said too early, and no late write does harm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from semcast.protocol.contract import (
    AskLead,
    Command,
    CommitStore,
    LeadAnswered,
    PlanMade,
    ReadStore,
    Send,
    StoreFailed,
)
from semcast.protocol.coordinator.leadership import CAREFUL
from semcast.protocol.coordinator.ledger import Ledger
from semcast.protocol.stores import FencedError
from semcast.protocol.wire.frames import Install, Lease, Live, Switch, Welcome
from semcast.server.store_calls import answer_of
from tests.protocol.playbook import SETTINGS, frames, notes, only, topic
from tests.protocol.reigns import Reign, World, leased, lives, wants

A, B, C = topic("a"), topic("b"), topic("c")
HELD_S = SETTINGS.leader_s / CAREFUL


@pytest.fixture
def slow(reign: Reign) -> Reign:
    """A leader whose store answers when it is told to."""
    reign.slow_store = True
    return reign


@pytest.fixture
def slow_planning(planning: Reign) -> Reign:
    """The same of a leader that plans for every change of who wants what."""
    planning.slow_store = True
    return planning


def commits(reign: Reign) -> list[CommitStore]:
    return [call for call in reign.calls if isinstance(call, CommitStore)]


def lost(reign: Reign, kind: type) -> StoreFailed:
    """The first call of a kind is given up; whether it was done is another matter."""
    call = next(call for call in reign.calls if isinstance(call, kind))
    reign.calls.remove(call)
    return StoreFailed(call.number, False, "no answer")


def renewed(reign: Reign) -> list[Command]:
    """Let time go by until the lead is asked for, and have that answered; other calls wait."""
    reign.calls[:] = [call for call in reign.calls if not isinstance(call, AskLead)]
    while not any(isinstance(call, AskLead) for call in reign.calls):
        reign.tick()
    return reign.answered(AskLead)


def everybody_answers(reign: Reign, commands: list[Command]) -> Iterator[Command]:
    for sent in commands:
        said = reign.world.answer(sent) if isinstance(sent, Send) else None
        if said is not None:
            assert isinstance(sent, Send)
            yield from reign.hears((sent.to, said))


# --- what goes on while a write is under way


def test_leases_and_welcomes_go_on_while_a_write_is_under_way(slow: Reign, world: World) -> None:
    slow.hears(wants("g0", 1, A))
    assert len(commits(slow)) == 1
    assert leased(slow.hears(("s", world.beat("s"))))
    assert only(slow.hears(("m", world.beat("m"))), Welcome).term == 1
    assert world.store.get("version") is None


def test_what_comes_while_a_write_is_under_way_is_written_together_behind_it(slow: Reign, world: World) -> None:
    slow.hears(wants("g0", 1, A), wants("g1", 1, B), wants("g0", 2, C))
    assert len(commits(slow)) == 1
    slow.answered(CommitStore)
    (second,) = commits(slow)
    slow.answered(CommitStore)
    assert commits(slow) == []
    stored = Ledger.of(world.store.read(), SETTINGS)
    assert stored.roster.stands() == {"g0": (1, 2), "g1": (1, 1)}
    assert sorted(profile.text for profile in stored.profiles().values()) == ["a", "b", "c"]
    assert set(second.changes) == {"version", "gateway/g0", "gateway/g1", "roster/p2", "roster/p3"}


def test_an_interest_that_is_said_again_while_it_is_written_is_not_written_again(slow: Reign) -> None:
    slow.hears(wants("g0", 1, A), wants("g0", 1, A))
    slow.answered(CommitStore)
    assert commits(slow) == []


# --- nothing is said before it is durable


def test_no_plan_is_made_for_a_subscription_that_is_not_durable(slow_planning: Reign) -> None:
    slow_planning.slow = True
    slow_planning.hears(wants("g0", 1, A))
    slow_planning.tick()
    assert slow_planning.orders == []
    slow_planning.answered(CommitStore)
    slow_planning.tick()
    assert [order.version for order in slow_planning.orders] == [1]


def test_each_step_of_a_change_of_plan_is_said_when_it_is_durable(slow_planning: Reign, world: World) -> None:
    slow_planning.slow = True
    slow_planning.hears(wants("g0", 1, A))
    slow_planning.answered(CommitStore)
    slow_planning.tick()
    order = slow_planning.orders.pop()
    assert frames(slow_planning.hears(PlanMade(order.number, order.made())), Install) == []
    assert frames(slow_planning.tick(), Install) == []
    installs = slow_planning.answered(CommitStore)
    assert frames(installs, Install)
    list(everybody_answers(slow_planning, installs))
    assert frames(slow_planning.tick(), Switch) == []  # every broker has its tables, and the step is being written
    switches = slow_planning.answered(CommitStore)
    assert only(switches, Switch).epoch == order.epoch
    list(everybody_answers(slow_planning, switches))
    assert lives(slow_planning.tick()) == []
    assert [live.version for live in frames(slow_planning.answered(CommitStore), Live)] == [order.version]


def test_a_plan_that_is_being_written_is_not_ordered_a_second_time(slow_planning: Reign) -> None:
    slow_planning.hears(wants("g0", 1, A))
    slow_planning.answered(CommitStore)
    slow_planning.slow = True
    slow_planning.tick()
    order = slow_planning.orders.pop()
    slow_planning.hears(PlanMade(order.number, order.made()))
    for _ in range(5):
        slow_planning.tick()
    assert slow_planning.orders == []


# --- the lead


def test_the_lead_counts_from_when_it_was_asked_for(world: World) -> None:
    reign = Reign(world)
    reign.slow_store = True
    reign.tick()
    asked = world.now
    world.now += 2.0
    reign.answered(AskLead)
    reign.answered(ReadStore)
    assert reign.machine.leads(asked + HELD_S - 0.01)
    assert not reign.machine.leads(asked + HELD_S)


def test_a_store_that_takes_two_seconds_a_call_does_not_cost_the_lead(world: World) -> None:
    """Several requests are under way at a time, the more the slower it is."""
    reign = Reign(world)
    reign.slow_store = True
    due: list[tuple[float, object]] = []
    led = []
    for _ in range(300):
        reign.tick()
        due += [(world.now + 2.0, call) for call in reign.calls]
        reign.calls.clear()
        while due and due[0][0] <= world.now:
            reign.hears(answer_of(reign.line, due.pop(0)[1]))  # type: ignore[arg-type]
        led.append(reign.machine.leads(world.now))
    assert all(led[60:])
    assert world.store.term == 1
    assert max(len([call for _, call in due if isinstance(call, AskLead)]), 1) <= 12


def test_a_store_that_becomes_slow_from_one_call_to_the_next_does_not_cost_the_term(reign: Reign, world: World) -> None:
    reign.slow_store = True
    renewed(reign)
    due: list[tuple[float, object]] = []
    for _ in range(100):
        reign.tick()
        due += [(world.now + 2.0, call) for call in reign.calls]
        reign.calls.clear()
        while due and due[0][0] <= world.now:
            reign.hears(answer_of(reign.line, due.pop(0)[1]))  # type: ignore[arg-type]
    assert (reign.machine.term, reign.machine.leads(world.now)) == (1, True)


def test_a_fast_store_is_asked_eight_times_a_lead(reign: Reign, world: World) -> None:
    numbers, before = [], reign.machine._tenure._numbers
    for _ in range(int(10 * SETTINGS.leader_s)):
        reign.tick()
        numbers.append(reign.machine._tenure._numbers)
    assert 7 <= numbers[-1] - before <= 9


def test_a_request_that_fails_does_not_end_a_lead_that_was_granted(slow: Reign, world: World) -> None:
    while not any(isinstance(call, AskLead) for call in slow.calls):
        slow.tick()
    assert notes(slow.hears(lost(slow, AskLead)), "no store") == [{}]
    assert leased(slow.hears(("s", world.beat("s"))))


def test_a_refusal_that_was_overtaken_by_a_grant_is_not_believed(slow: Reign, world: World) -> None:
    while not any(isinstance(call, AskLead) for call in slow.calls):
        slow.tick()
    overtaken = next(call for call in slow.calls if isinstance(call, AskLead))
    slow.calls.remove(overtaken)
    while not any(isinstance(call, AskLead) for call in slow.calls):
        slow.tick()
    slow.answered(AskLead)
    assert slow.machine.leads(world.now)
    slow.hears(LeadAnswered(overtaken.number, None))
    assert slow.machine.leads(world.now)


def test_a_lead_that_lapses_and_is_renewed_within_its_term_goes_on_where_it_was(slow: Reign, world: World) -> None:
    renewed(slow)
    slow.hears(wants("g0", 1, A))
    world.now += HELD_S
    slow.answered(CommitStore)
    assert slow.hears(("s", world.beat("s"))) == []
    assert notes(renewed(slow), "leads") == []
    assert slow.calls == []  # nothing has to be read again
    # What became live while nobody had a lease is told to the source before it has one again.
    assert leased([command for _ in range(10) for command in slow.step()])
    assert slow.machine.said() == {"g0": (1, 1)}


def test_a_step_whose_write_ends_while_the_lead_has_lapsed_is_said_when_it_is_renewed(
    slow_planning: Reign, world: World
) -> None:
    slow_planning.hears(wants("g0", 1, A))
    slow_planning.answered(CommitStore)
    renewed(slow_planning)  # a plan is made at once, and being written
    world.now += HELD_S
    assert slow_planning.answered(CommitStore) == []
    assert frames(renewed(slow_planning), Install)


# --- writes of which nobody knows what became


def test_after_a_write_of_unknown_outcome_it_comes_back_under_a_new_term_before_it_reads(
    slow: Reign, world: World
) -> None:
    slow.hears(wants("g0", 1, A))
    assert notes(slow.hears(lost(slow, CommitStore)), "no store") == [{}]
    assert not slow.machine.leads(world.now)
    asked = [call for call in slow.calls if isinstance(call, AskLead)][-1]
    assert asked.above == 1
    assert not any(isinstance(call, ReadStore) for call in slow.calls)
    slow.calls[:] = [asked]
    slow.answered(AskLead)
    assert (slow.machine.term, world.store.term) == (2, 2)
    assert notes(slow.answered(ReadStore), "leads") == [{"term": 2}]


def test_a_write_that_was_given_up_can_never_land_behind_the_read(slow: Reign, world: World) -> None:
    slow.hears(wants("g0", 1, A))
    (late,) = commits(slow)
    slow.hears(lost(slow, CommitStore))
    slow.calls[:] = [call for call in slow.calls if isinstance(call, AskLead)][-1:]
    slow.answered(AskLead)
    slow.answered(ReadStore)
    with pytest.raises(FencedError):
        world.store.commit(late.term, late.changes)
    assert slow.machine.said() == {}


def test_a_write_that_was_done_although_nobody_heard_of_it_is_read_again(slow: Reign, world: World) -> None:
    slow.hears(wants("g0", 1, A))
    (done,) = commits(slow)
    world.store.commit(done.term, done.changes)
    slow.hears(lost(slow, CommitStore))
    slow.calls[:] = [call for call in slow.calls if isinstance(call, AskLead)][-1:]
    slow.answered(AskLead)
    slow.answered(ReadStore)
    assert slow.machine.said() == {"g0": (1, 1)}


def test_an_answer_to_a_request_of_the_spent_term_does_not_bring_that_back(slow: Reign, world: World) -> None:
    while not any(isinstance(call, AskLead) for call in slow.calls):
        slow.tick()
    earlier = next(call for call in slow.calls if isinstance(call, AskLead))
    slow.hears(wants("g0", 1, A))
    slow.hears(lost(slow, CommitStore))
    slow.calls.remove(earlier)
    slow.hears(answer_of(slow.line, earlier))
    assert not slow.machine.leads(world.now)
    assert not any(isinstance(call, ReadStore) for call in slow.calls)


def test_a_read_that_fails_is_tried_again_when_the_lead_is_renewed(world: World) -> None:
    reign = Reign(world)
    reign.slow_store = True
    reign.tick()
    reign.answered(AskLead)
    reign.hears(lost(reign, ReadStore))
    while not any(isinstance(call, AskLead) for call in reign.calls):
        reign.tick()
    reign.answered(AskLead)
    assert notes(reign.answered(ReadStore), "leads") == [{"term": 1}]


def test_a_lease_is_never_granted_by_a_plan_that_is_being_written(slow_planning: Reign, world: World) -> None:
    """The source follows the plan in force until the next one's step is durable."""
    slow_planning.hears(wants("g0", 1, A))
    slow_planning.answered(CommitStore)
    slow_planning.tick()
    for _ in range(3):
        leases = frames(slow_planning.hears(("s", world.beat("s"))), Lease)
        assert [lease.epoch for lease in leases] == [1]
