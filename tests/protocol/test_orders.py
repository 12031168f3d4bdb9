"""Plans that take their time: the coordinator goes on meanwhile, and takes one only if it still fits."""

from __future__ import annotations

import pickle

import pytest

from semcast.protocol.contract import PlanMade, Reorganise
from semcast.protocol.wire.frames import AskSamples, Install, Live, Samples
from tests.protocol.playbook import SETTINGS, frames, notes, sends, topic
from tests.protocol.reigns import Reign, World, leased, lives, overlay, wants

A, B = topic("a"), topic("b")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def reign(world: World) -> Reign:
    """A coordinator whose first plan is in force, and whose next plans take long."""
    made = Reign(world, scheme="unicast")
    made.settle()
    made.slow = True
    return made


def ordered(reign: Reign) -> Reign:
    """Somebody subscribes, and a plan is ordered for it."""
    reign.hears(wants("g0", 1, A))
    reign.step()
    assert len(reign.orders) == 1
    return reign


def test_while_a_plan_is_made_the_lead_is_kept_and_sources_get_their_leases(reign: Reign, world: World) -> None:
    ordered(reign)
    for _ in range(int(3 * SETTINGS.leader_s / 0.1)):
        assert leased(reign.step())
    assert reign.machine.leads(world.now)
    assert (reign.machine.term, reign.epoch, len(reign.orders)) == (1, 1, 1)


def test_a_subscription_that_comes_while_a_plan_is_made_is_stored_at_once_and_live_with_the_next(
    reign: Reign, world: World
) -> None:
    ordered(reign)
    before = world.store.read()["version"]
    reign.hears(wants("g1", 1, B))
    assert world.store.read()["version"] != before
    commands = reign.plan_made()
    reign.slow = False
    commands += reign.settle()
    assert [(live.version, live.serial) for live in lives(commands)][:1] == [(1, 1)]
    assert sorted({(to, live.version) for to, live in sends(commands, Live)}) == [("g0", 1), ("g1", 2)]


def test_a_plan_that_is_there_is_installed_at_once(reign: Reign) -> None:
    commands = ordered(reign).plan_made()
    assert notes(commands, "plan") == [{"epoch": 2, "channels": 1, "reorganised": False}]
    assert frames(commands, Install)


def test_a_plan_that_counts_on_a_broker_that_has_gone_meanwhile_is_not_taken() -> None:
    world = World(overlay())
    reign = Reign(world, scheme="unicast")
    reign.settle()
    reign.slow = True
    ordered(reign)
    while "g1" in reign.machine._overlay.alive(world.now):
        reign.step(silent=("g1",))
    assert notes(reign.plan_made(), "plan") == []
    reign.step(silent=("g1",))
    assert notes(reign.plan_made(), "plan") == [{"epoch": 2, "channels": 1, "reorganised": False}]


def test_a_reorganisation_whose_plan_was_not_taken_asks_for_samples_again(reign: Reign, world: World) -> None:
    reign.hears(wants("g0", 1, A))
    (ask,) = frames(reign.hears(Reorganise()), AskSamples)
    reign.hears(("s", Samples("s", ask.request, 1.0, (("p1",),))))
    reign.step()
    while "g1" in reign.machine._overlay.alive(world.now):
        reign.step(silent=("g1",))
    assert frames(reign.plan_made(), AskSamples)


def test_a_plan_of_a_term_that_is_over_is_not_taken(reign: Reign, world: World) -> None:
    ordered(reign)
    other = Reign(world, "d")
    world.now += SETTINGS.leader_s
    assert notes(other.tick(), "leads") == [{"term": 2}]
    assert reign.plan_made() == []
    assert world.store.term == 2


def test_a_plan_ordered_before_the_lead_was_lost_is_not_taken_when_it_is_back(reign: Reign, world: World) -> None:
    ordered(reign)
    reign.line.cuts = 1
    reign.tick(SETTINGS.leader_s)
    assert not reign.machine.leads(world.now)
    reign.line.cuts = 0
    world.now += SETTINGS.leader_s
    reign.step()
    assert reign.machine.leads(world.now)
    assert notes(reign.plan_made(), "plan") == []


def test_of_two_answers_to_one_order_the_second_is_ignored(reign: Reign) -> None:
    order = ordered(reign).orders[0]
    reign.plan_made()
    assert reign.hears(PlanMade(order.number, order.made())) == []


def test_an_order_gives_the_same_plan_wherever_it_is_made(reign: Reign) -> None:
    (order,) = ordered(reign).orders
    elsewhere = pickle.loads(pickle.dumps(order))
    assert elsewhere.made() == order.made()
