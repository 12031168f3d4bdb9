"""Who decides: leading and being deposed, subscriptions, and one change of plan at a time."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from semcast.protocol.frames import AskSamples, Install, Installed, Interests, Lease, Live, Samples, Switch, Welcome
from semcast.protocol.machine import Reorganise
from semcast.trees import Link
from tests.protocol.playbook import SETTINGS, frames, notes, only, sends, topic
from tests.protocol.reigns import EVERYBODY, Reign, World, interests, leased, lives, overlay

A, B = topic("a"), topic("b")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def reign(world: World) -> Reign:
    """A coordinator whose first plan is in force; nobody has subscribed yet."""
    made = Reign(world)
    made.settle()
    return made


# --- leading


def test_one_of_two_coordinators_leads_and_the_other_is_silent(world: World) -> None:
    first, second = Reign(world, "c"), Reign(world, "d")
    assert notes(first.tick(), "leads") == [{"term": 1}]
    assert second.tick() == []
    assert second.hears(("s", world.beat("s")), interests("g0", 1, A), Reorganise()) == []


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
    reign.tick(SETTINGS.leader_s)
    assert not reign.machine.leads(world.now)
    assert world.store.leader is None or world.store.leader == "c#1"
    assert reign.hears(("s", world.beat("s"))) == []  # no lease either


def test_no_lease_is_granted_after_leadership_ran_out(reign: Reign, world: World) -> None:
    assert leased(reign.hears(("s", world.beat("s"))))
    world.now += SETTINGS.leader_s
    assert reign.hears(("s", world.beat("s"))) == []


def test_who_was_deposed_cannot_write(reign: Reign, world: World) -> None:
    other = Reign(world, "d")
    world.now += SETTINGS.leader_s
    assert notes(other.tick(), "leads") == [{"term": 2}]
    reign.machine._leads_until = world.now + 1  # its clock is slow: it does not know
    commands = reign.hears(interests("g0", 1, A))
    assert notes(commands, "deposed") == [{"term": 1}]
    assert not reign.machine.leads(world.now)
    assert lives(commands) == []


def test_a_store_that_does_not_answer_ends_leadership_until_it_does(reign: Reign, world: World) -> None:
    reign.line.cuts = 1
    assert notes(reign.hears(interests("g0", 1, A)), "no store") == [{}]
    assert not reign.machine.leads(world.now)
    reign.line.cuts = 0
    for _ in range(20):
        reign.step()
    assert reign.machine.leads(world.now)
    assert (world.store.term, reign.epoch) == (1, 1)  # it led all the time, as far as the store knows


def test_a_coordinator_that_comes_back_from_a_crash_needs_a_new_term(reign: Reign, world: World) -> None:
    again = Reign(world, incarnation=2)
    assert notes(again.tick(), "leads") == []
    assert notes(again.tick(SETTINGS.leader_s), "leads") == [{"term": 2}]


def test_a_new_leader_treats_every_source_as_leased_for_one_lease(reign: Reign, world: World) -> None:
    reign.hears(interests("g0", 1, A))
    other = Reign(world, "d")
    world.now += SETTINGS.leader_s
    began = world.now
    while not lives(other.step(silent=("s",))):
        assert world.now < began + 2 * SETTINGS.dead_s
    assert world.now >= began + SETTINGS.lease_s


# --- leases


def test_a_source_that_follows_the_plan_gets_a_lease_that_echoes_its_clock(reign: Reign, world: World) -> None:
    beat = msgspec.structs.replace(world.beat("s"), sent_at=123.0)
    assert sends(reign.hears(("s", beat)), Lease) == [("s", Lease(1, 123.0, SETTINGS.lease_s, 1))]


def test_a_source_that_does_not_follow_the_plan_is_told_it_and_gets_no_lease(reign: Reign, world: World) -> None:
    world.crash("s")
    commands = reign.hears(("s", world.beat("s")))
    assert only(commands, Switch).epoch == 1
    assert not leased(commands)


def test_who_is_no_source_is_welcomed(reign: Reign, world: World) -> None:
    assert only(reign.hears(("m", world.beat("m"))), Welcome) == Welcome(1, world.now)


# --- subscriptions


def test_a_subscription_is_stored_before_anything_is_said_of_it(reign: Reign, world: World) -> None:
    before = dict(world.store.read())
    assert reign.hears(interests("g0", 1, A)) == []
    assert world.store.read()["interests"] != before.get("interests")


def test_a_subscription_is_live_when_every_leased_source_has_confirmed_it(reign: Reign, world: World) -> None:
    world.ends["s"] = 7
    reign.hears(interests("g0", 1, A))
    commands = reign.step()  # installed everywhere
    while not frames(commands, Switch):
        commands = reign.step(deaf=("s",))
    assert A in [profile for _, profile, _ in only(commands, Switch).profiles]
    for _ in range(9):
        assert lives(reign.step(deaf=("s",))) == []
    said: list[Live] = []
    while not said:
        said = lives(reign.step())
    assert said == [Live(1, 1, 1, 2, (("s", 7),))]


def test_an_expired_lease_releases_the_wait_and_the_source_is_unsure(reign: Reign, world: World) -> None:
    world.ends["s"] = 7
    reign.step()
    reign.hears(interests("g0", 1, A))
    began, said = world.now, []
    while not said:
        said = lives(reign.step(silent=("s",)))
    assert world.now - began >= SETTINGS.lease_s
    assert (said[0].positions, said[0].unsure) == ((("s", 7),), ("s",))


def test_live_is_said_again_to_a_gateway_that_asks_again(reign: Reign) -> None:
    reign.hears(interests("g0", 1, A))
    (said,) = lives(reign.settle())
    assert lives(reign.hears(interests("g0", 1, A))) == [said]
    assert lives(reign.hears(interests("g0", 2, A, B))) == []


def test_an_older_word_of_a_gateway_does_not_undo_a_newer_one(reign: Reign) -> None:
    reign.hears(interests("g0", 2, A, B), interests("g0", 1, A))
    assert [live.serial for live in lives(reign.settle())] == [2]


def test_a_gateway_that_has_fallen_counts_its_serials_anew(reign: Reign) -> None:
    reign.hears(interests("g0", 5, A))
    reign.settle()
    reign.hears(interests("g0", 1, B, incarnation=2))
    assert [(live.incarnation, live.serial) for live in lives(reign.settle())] == [(2, 1)]


def test_what_is_asked_for_during_a_change_goes_into_the_next(reign: Reign) -> None:
    reign.hears(interests("g0", 1, A))
    reign.step(deaf=("m",))
    assert reign.phase == "installing"
    reign.hears(interests("g1", 1, B))
    commands = reign.settle()
    assert [(live.serial, live.epoch) for live in lives(commands)] == [(1, 2), (1, 3)]


def test_only_gateways_whose_interests_are_in_a_plan_for_the_first_time_hear_that_they_are_live(reign: Reign) -> None:
    reign.hears(interests("g0", 1, A))
    reign.settle()
    reign.hears(interests("g1", 1, B))
    assert [to for to, _ in sends(reign.settle(), Live)] == ["g1"]


# --- make before break


def test_no_source_is_switched_before_every_broker_has_its_tables(world: World) -> None:
    reign = Reign(world)
    for broker in EVERYBODY:
        for _ in range(4):
            commands = reign.step(deaf=[other for other in EVERYBODY if other >= broker])
            assert frames(commands, Switch) == []
    assert frames(reign.settle(), Switch) != []


def test_tables_are_said_again_until_they_are_installed(world: World) -> None:
    reign = Reign(world)
    told = [to for _ in range(9) for to, _ in sends(reign.step(deaf=("m",)), Install)]
    assert [told.count(broker) for broker in ("g0", "g1", "s")] == [1, 1, 1]
    assert told.count("m") > 1


def test_a_broker_that_misses_tables_is_told_all_of_them_under_another_number(reign: Reign, world: World) -> None:
    reign.hears(interests("g0", 1, A))
    first = world.installed["m"]
    world.installed.pop("m")
    world.incarnations["m"] += 1
    (told,) = [frame for to, frame in sends(reign.step(), Install) if to == "m"]
    assert {entry.key for entry in told.entries} == {entry.key for entry in first.entries}
    assert told.keep == ()
    assert told.revision > first.revision


def test_an_answer_that_names_missing_tables_brings_all_of_them(reign: Reign, world: World) -> None:
    told = world.installed["m"]
    (key,) = [entry.key for entry in told.entries]
    reign.hears(("m", Installed("m", 1, 1, told.revision, (key,))))
    (again,) = [frame for to, frame in sends(reign.step(), Install) if to == "m"]
    assert [entry.key for entry in again.entries] == [key]
    assert again.revision > told.revision


def test_a_plan_is_abandoned_when_a_broker_dies_while_it_is_installed(reign: Reign, world: World) -> None:
    reign.hears(interests("g0", 1, A))
    for _ in range(40):
        commands = reign.step(silent=("g1",))
        assert all("g1" not in tree_brokers(frame) for frame in frames(commands, Switch))
        if lives(commands):
            break
    assert reign.epoch == 3  # 2 was never followed


def tree_brokers(switch: Switch) -> set[str]:
    return {broker for tree in switch.trees for link in tree.links for broker in link}


def test_a_plan_that_sources_may_follow_is_not_abandoned(world: World) -> None:
    reign = Reign(world, settings=replace(SETTINGS, lease_s=9.0))
    reign.settle()
    reign.hears(interests("g0", 1, A))
    while reign.phase != "switching":
        reign.step(deaf=("s",))
    epochs = set()
    for _ in range(30):
        reign.step(silent=("g1",), deaf=("s",))
        epochs.add((reign.phase, reign.epoch))
    assert epochs == {("switching", 1)}
    assert lives(reign.step(silent=("g1",)) + reign.step(silent=("g1",))) != []


def test_old_trees_stay_until_every_living_gateway_says_that_nothing_is_under_way(reign: Reign, world: World) -> None:
    reign.settle(silent=("g1",))  # g1 is away: another tree
    (old,) = [key for key in tables(reign, "g0") if key[1] == 1]
    (new,) = [key for key in tables(reign, "g0") if key[1] != 1]
    world.clean["g0"] = 1
    reign.settle(silent=("g1",))
    assert reign.draining == 1
    assert old in tables(reign, "g0")
    world.clean["g0"] = new[1]
    reign.settle(silent=("g1",))  # g1 does not count: it is dead
    assert reign.draining == 0
    assert tables(reign, "g0") == [new]
    assert old not in [*world.installed["m"].keep, *(entry.key for entry in world.installed["m"].entries)]


def tables(reign: Reign, broker: str) -> list[tuple[str, int]]:
    return reign.machine.state()["tables"][broker]  # type: ignore[index,no-any-return]


# --- brokers that fall and come back


def test_a_dead_broker_is_taken_off_the_trees_and_a_returning_one_is_put_on_them_again() -> None:
    world = World(overlay(Link("s", "g0", 9.0)))
    reign = Reign(world)
    reign.settle()
    reign.hears(interests("g0", 1, A), interests("g1", 1, A))
    reign.settle()
    switch = only([*reign.settle(silent=("m",))], Switch)
    assert [(tree.links, tree.gateways) for tree in switch.trees] == [((("s", "g0"),), (0,))]
    assert switch.absent == ("g1",)  # it hangs together with nobody
    world.clean = {"g0": switch.epoch, "g1": switch.epoch}
    switch = only([*reign.settle()], Switch)
    assert [tree.gateways for tree in switch.trees] == [(0, 1)]
    assert switch.absent == ()


def test_a_link_that_one_end_does_not_hear_over_is_not_used() -> None:
    world = World(overlay(Link("s", "g0", 9.0)))
    reign = Reign(world)
    reign.settle()
    switch = only([*reign.settle(down={"g0": ("m",)})], Switch)
    assert {frozenset(link) for tree in switch.trees for link in tree.links} == {
        frozenset({"s", "m"}), frozenset({"m", "g1"}), frozenset({"s", "g0"}),
    }  # fmt: skip


def test_trees_that_stay_as_they_are_keep_their_version(reign: Reign, world: World) -> None:
    before = tables(reign, "m")
    reign.hears(interests("g0", 1, A))
    commands = reign.settle()
    assert reign.epoch == 2
    assert tables(reign, "m") == before
    assert reign.draining == 0
    (told,) = [frame for to, frame in sends(commands, Install) if to == "m"] or [None]
    assert told is None or told.entries == ()


def test_bits_of_gateways_never_change(reign: Reign, world: World) -> None:
    bits = {name: world.installed[name].bit for name in ("g0", "g1")}
    assert bits == {"g0": 0, "g1": 1}
    reign.settle(silent=("g0",))
    assert world.installed["g1"].bit == 1
    assert only([*reign.settle()], Switch).gateways == ("g0", "g1")
    assert {name: world.installed[name].bit for name in ("g0", "g1")} == bits


def test_the_log_is_kept_for_gateways_that_are_away_and_wanted_something(reign: Reign) -> None:
    reign.hears(interests("g0", 1, A))
    reign.settle()
    assert only([*reign.settle(silent=("g0",))], Switch).absent == ("g0",)


# --- reorganising


def test_a_reorganisation_asks_the_sources_for_samples_and_plans_when_they_have_come(reign: Reign) -> None:
    reign.hears(interests("g0", 1, A))
    reign.settle()
    request = only(reign.hears(Reorganise()), AskSamples)
    assert notes(reign.step(), "plan") == []
    reign.hears(("s", Samples("s", request.request - 1, 1.0, ())))  # to an earlier question
    assert notes(reign.step(), "plan") == []
    reign.hears(("s", Samples("s", request.request, 1.0, (("p0",),))))
    (made,) = notes(reign.step(), "plan")
    assert (made["epoch"], made["reorganised"]) == (3, True)


def test_a_reorganisation_does_not_wait_for_ever_for_a_source(reign: Reign, world: World) -> None:
    reign.hears(Reorganise())
    made = [note for _ in range(30) for note in notes(reign.step(), "plan")]
    assert [note["reorganised"] for note in made] == [True]


def test_reorganisations_come_by_themselves_where_that_is_set(world: World) -> None:
    reign = Reign(world, settings=replace(SETTINGS, reorganise_s=5.0))
    asked = [world.now for _ in range(120) if frames(reign.step(), AskSamples)]
    assert len(asked) == 2
    assert asked[1] - asked[0] >= 5.0


# --- going on after a crash


@pytest.mark.parametrize("phase", ["installing", "switching", "settled"])
def test_another_coordinator_goes_on_from_any_phase(reign: Reign, world: World, phase: str) -> None:
    world.ends["s"] = 7
    reign.hears(interests("g0", 1, A))
    while reign.phase != phase or (reign.epoch == 1 and phase == "settled"):
        reign.step(deaf=("m",) if phase == "installing" else ("s",) if phase == "switching" else ())
    successor = Reign(world, "d")
    world.now += SETTINGS.leader_s
    commands = successor.settle()
    assert (successor.phase, successor.epoch) == ("settled", 2)
    assert lives(successor.hears(interests("g0", 1, A))) == [Live(2, 1, 1, 2, (("s", 7),))]
    assert world.follows["s"] == (2, 7)
    assert all(told.term == 2 for told in frames(commands, Install))


def test_what_was_asked_for_and_not_planned_is_planned_by_the_successor(reign: Reign, world: World) -> None:
    reign.hears(interests("g0", 1, A))  # stored, and then it falls
    successor = Reign(world, "d")
    world.now += SETTINGS.leader_s
    assert [live.serial for live in lives(successor.settle())] == [1]


def test_a_successor_waits_anew_for_old_trees_to_be_clean(reign: Reign, world: World) -> None:
    reign.settle(silent=("g1",))
    assert reign.draining == 1
    world.clean["g0"] = 1
    successor = Reign(world, "d")
    world.now += SETTINGS.leader_s
    for _ in range(20):
        successor.step(silent=("g1",))
    assert successor.draining == 1


def test_interests_told_by_another_broker_are_stored_but_not_answered(reign: Reign) -> None:
    frame = Interests("g0", 1, 1, (A,))
    assert reign.hears(("m", frame)) == []
    assert [to for to, _ in sends(reign.settle(), Live)] == ["g0"]
