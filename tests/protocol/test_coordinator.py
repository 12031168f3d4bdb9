"""Who decides: leading and being deposed, leases, and subscriptions."""

from __future__ import annotations

import msgspec
import pytest

from semcast.protocol.contract import CommitStore, Reorganise
from semcast.protocol.wire.frames import (
    AskSamples,
    Lease,
    Live,
    Noted,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
    Samples,
    Switch,
    Welcome,
)
from tests.protocol.playbook import SETTINGS, frames, notes, only, sends, topic
from tests.protocol.reigns import Reign, World, leased, lives, wants

A, B = topic("a"), topic("b")


# --- leading


def test_one_of_two_coordinators_leads_and_the_other_is_silent(world: World) -> None:
    first, second = Reign(world, "c"), Reign(world, "d")
    assert notes(first.tick(), "leads") == [{"term": 1}]
    assert second.tick() == []
    assert second.hears(("s", world.beat("s")), wants("g0", 1, A), Reorganise()) == []


def test_a_leader_that_keeps_asking_the_store_stays_in_its_term(world: World) -> None:
    reign = Reign(world)
    said = [note for _ in range(80) for note in notes(reign.tick(), "leads")]
    assert said == [{"term": 1}]
    assert reign.machine.leads(world.now)


def test_when_the_leader_is_silent_another_leads_under_a_new_term(world: World) -> None:
    first, second = Reign(world, "c"), Reign(world, "d")
    first.tick()
    second.tick()
    assert notes(second.tick(SETTINGS.leader_s / 2), "leads") == []
    assert notes(second.tick(SETTINGS.leader_s), "leads") == [{"term": 2}]


def test_leadership_ends_on_the_leaders_own_clock_before_the_store_gives_it_away(world: World) -> None:
    reign = Reign(world)
    reign.settle()
    reign.line.cuts = 1
    while reign.machine.leads(world.now):
        assert world.store.leader == "c#1", "it would be given to others"
        assert world.now < 60
        reign.tick(0.01)
    assert reign.hears(("s", world.beat("s"))) == []  # no lease either


def test_no_lease_is_granted_after_leadership_ran_out(reign: Reign, world: World) -> None:
    assert leased(reign.hears(("s", world.beat("s"))))
    world.now += SETTINGS.leader_s
    assert reign.hears(("s", world.beat("s"))) == []


def test_who_was_deposed_cannot_write(reign: Reign, world: World) -> None:
    other = Reign(world, "d")
    world.now += SETTINGS.leader_s
    assert notes(other.tick(), "leads") == [{"term": 2}]
    reign.machine._tenure._lead._until = world.now + 1  # its clock is slow: it does not know
    commands = reign.hears(wants("g0", 1, A))
    assert notes(commands, "deposed") == [{"term": 1}]
    assert not reign.machine.leads(world.now)
    assert lives(commands) == []


def test_a_store_that_does_not_answer_ends_leadership_until_it_does(reign: Reign, world: World) -> None:
    reign.line.cuts = 1
    assert notes(reign.hears(wants("g0", 1, A)), "no store") == [{}]
    assert not reign.machine.leads(world.now)
    reign.line.cuts = 0
    for _ in range(20):
        reign.step()
    assert reign.machine.leads(world.now)
    assert (world.store.term, reign.epoch) == (2, 1)  # a new term: a late write of the old one would be shut out


@pytest.mark.parametrize("ordered", [False, True])
def test_a_reorganisation_that_was_asked_for_does_not_go_with_the_lead(
    reign: Reign, world: World, ordered: bool
) -> None:
    reign.slow = True
    reign.hears(Reorganise())
    if ordered:
        reign.hears(*((source, Samples(source, 1, 1.0, ())) for source in ("s",)))
        reign.tick()
        assert [order.samples for order in reign.orders] == [{"s": ()}]
    assert frames(Reign(world, "other").tick(2 * SETTINGS.leader_s), AskSamples) == []  # nobody asked this one
    commands = reign.tick(2 * SETTINGS.leader_s)
    assert notes(commands, "leads") == [{"term": 3}]
    assert [frame.term for frame in frames(commands, AskSamples)] == [3]


def test_a_coordinator_that_comes_back_from_a_crash_needs_a_new_term(reign: Reign, world: World) -> None:
    again = Reign(world, incarnation=2)
    assert notes(again.tick(), "leads") == []
    assert notes(again.tick(SETTINGS.leader_s), "leads") == [{"term": 2}]


def test_a_new_leader_treats_every_source_as_leased_for_one_lease(reign: Reign, world: World) -> None:
    reign.hears(wants("g0", 1, A))
    other = Reign(world, "d")
    world.now += SETTINGS.leader_s
    began = world.now
    while not lives(other.step(silent=("s",))):
        assert world.now < began + 2 * SETTINGS.dead_s
    assert world.now >= began + SETTINGS.lease_s


# --- leases


def test_a_source_that_follows_the_plan_gets_a_lease_that_echoes_its_clock_and_position(
    reign: Reign, world: World
) -> None:
    beat = msgspec.structs.replace(world.beat("s"), sent_at=123.0, position=7)
    assert sends(reign.hears(("s", beat)), Lease) == [("s", Lease(1, 123.0, SETTINGS.lease_s, 1, 7))]


def test_a_source_that_does_not_follow_the_plan_is_told_it_and_gets_no_lease(reign: Reign, world: World) -> None:
    world.crash("s")
    commands = reign.hears(("s", world.beat("s")))
    assert only(commands, Switch).epoch == 1
    assert not leased(commands)


def test_who_is_no_source_is_welcomed(reign: Reign, world: World) -> None:
    assert only(reign.hears(("m", world.beat("m"))), Welcome) == Welcome(1, world.now)


# --- subscriptions


def test_a_subscription_is_stored_before_anything_is_said_of_it(reign: Reign, world: World) -> None:
    reign.slow_store = True
    assert reign.hears(wants("g0", 1, A)) == []
    assert "version" not in world.store.read()
    said = reign.answered(CommitStore)
    assert only(said, Noted) == Noted(1, 1, 1)
    assert only(said, RosterChanges).version == 1
    assert "version" in world.store.read()


def test_a_subscription_is_live_when_every_leased_source_has_confirmed_it(reign: Reign, world: World) -> None:
    world.ends["s"] = 7
    changes = only(reign.hears(wants("g0", 1, A)), RosterChanges)
    assert [change.profile for change in changes.changes] == [A]
    for _ in range(9):
        assert lives(reign.step(deaf=("s",))) == []
    said: list[Live] = []
    while not said:
        said = lives(reign.step())
    assert said == [Live(1, 1, 1, 1, (("s", 7),))]


def test_an_expired_lease_releases_the_wait_and_the_source_is_unsure(reign: Reign, world: World) -> None:
    world.ends["s"] = 7
    reign.step()
    reign.hears(wants("g0", 1, A))
    began, said = world.now, []
    while not said:
        said = lives(reign.step(silent=("s",)))
    assert world.now - began >= SETTINGS.lease_s
    assert (said[0].positions, said[0].unsure) == ((("s", 7),), ("s",))


def test_live_is_said_again_to_a_gateway_that_asks_again(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A))
    (said,) = lives(reign.settle())
    assert lives(reign.hears(wants("g0", 2))) == [said]
    assert lives(reign.hears(wants("g0", 2, B))) == []


def test_an_older_word_of_a_gateway_does_not_undo_a_newer_one(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A, B), wants("g0", 1, without=(A,)))
    assert [live.serial for live in lives(reign.settle())] == [2]
    assert {profile.text for profile in reign.world.rosters["s"].values()} == {"a", "b"}


def test_a_gateway_that_has_fallen_counts_its_serials_anew(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    reign.hears(wants("g0", 1, B, incarnation=2))
    assert [(live.incarnation, live.serial) for live in lives(reign.settle())] == [(2, 1)]


def test_where_plans_have_the_profiles_what_comes_during_a_change_goes_into_the_next(planning: Reign) -> None:
    planning.hears(wants("g0", 1, A))
    planning.step(deaf=("m",))
    assert planning.phase == "installing"
    planning.hears(wants("g1", 1, B))
    commands = planning.settle()
    assert [(live.serial, live.version) for live in lives(commands)] == [(1, 1), (1, 2)]
    assert planning.epoch == 3


def test_changes_that_leave_some_out_are_not_taken_and_asked_for_again(reign: Reign) -> None:
    assert only(reign.hears(wants("g0", 2, B)), Noted) == Noted(1, 1, 0, again=True)
    assert only(reign.hears(wants("g0", 1, A, B)), Noted) == Noted(1, 1, 2)


def test_a_source_that_is_behind_what_is_live_gets_no_lease(reign: Reign, world: World) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    world.versions["s"] = 0, 0
    world.incarnations["s"] += 1
    commands = reign.hears(("s", world.beat("s")))
    assert not leased(commands)
    assert only(commands, RosterChanges).since == 0


def test_the_plan_that_is_shown_has_the_profiles_of_gateways_that_are_there(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A), wants("g1", 1, A, B))
    reign.settle()
    reign.settle(silent=("g1",))
    shown = reign.machine.deployment
    assert shown is not None
    shown.plan.check()
    assert (shown.plan.subscriptions, shown.wanted) == ({"p1": ("g0",)}, {"p1": ("g0", "g1"), "p3": ("g1",)})


def test_a_new_leader_leases_no_source_that_lacks_what_may_have_been_called_live(reign: Reign, world: World) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    world.versions["s"] = 0, 0
    world.incarnations["s"] += 1
    successor = Reign(world, "d")
    world.now += SETTINGS.leader_s
    assert not leased([command for _ in range(8) for command in successor.step(deaf=("s",))])
    assert leased([command for _ in range(8) for command in successor.step()])


def test_a_source_from_a_future_that_the_store_does_not_know_is_told_everything(reign: Reign, world: World) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    world.versions["s"] = 99, 0
    world.incarnations["s"] += 1
    commands = reign.hears(("s", world.beat("s")))
    assert only(commands, RosterPiece).version == 1
    assert not leased(commands)


def test_a_source_that_says_it_is_astray_is_told_everything(reign: Reign, world: World) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    commands = reign.hears(("s", RosterFollowed("s", 1, 1, 0, astray=True)))
    assert notes(commands, "roster astray") == [{"source": "s", "version": 1}]
    assert [change.profile for change in only(commands, RosterPiece).changes] == [A]


def test_what_a_gateway_that_fell_does_not_want_again_is_forgotten_after_a_while(reign: Reign, world: World) -> None:
    reign.hears(wants("g0", 1, A, B))
    reign.settle()
    reign.hears(wants("g0", 1, A, incarnation=2))
    reign.step()
    assert {profile.text for profile in world.rosters["s"].values()} == {"a", "b"}
    for _ in range(round(5 * SETTINGS.dead_s / 0.25)):
        reign.step(after=0.25)
    assert {profile.text for profile in world.rosters["s"].values()} == {"a"}


def test_a_gateway_that_fell_and_wants_the_same_changes_nothing(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    commands = reign.hears(wants("g0", 1, A, incarnation=2))
    commands += reign.settle()
    assert frames(commands, RosterChanges) == []
    assert [(live.incarnation, live.serial) for live in lives(commands)] == [(2, 1)]


def test_only_gateways_whose_interests_are_in_a_plan_for_the_first_time_hear_that_they_are_live(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    reign.hears(wants("g1", 1, B))
    assert [to for to, _ in sends(reign.settle(), Live)] == ["g1"]
