"""Changes of plan, one at a time: made before the old is broken, whoever falls meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcast.protocol.contract import Reorganise
from semcast.protocol.wire.frames import AskSamples, Install, Installed, Live, Samples, Switch
from semcast.trees.topology import Link
from tests.protocol.playbook import SETTINGS, frames, notes, only, sends, topic
from tests.protocol.reigns import EVERYBODY, Reign, World, lives, overlay, wants

A, B = topic("a"), topic("b")


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
    reign.hears(wants("g0", 1, A))
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


def test_a_plan_is_abandoned_when_a_broker_dies_while_it_is_installed(planning: Reign, world: World) -> None:
    planning.hears(wants("g0", 1, A))
    switches: list[Switch] = []
    for _ in range(40):
        commands = planning.step(silent=("g1",))
        switches += frames(commands, Switch)
        if lives(commands):
            break
    assert switches
    assert all("g1" not in tree_brokers(frame) for frame in switches)
    assert planning.epoch == 3  # 2 was never followed


def tree_brokers(switch: Switch) -> set[str]:
    return {broker for tree in switch.trees for link in tree.links for broker in link}


def test_a_plan_that_sources_may_follow_is_not_abandoned(world: World) -> None:
    reign = Reign(world, scheme="unicast", settings=replace(SETTINGS, lease_s=9.0))
    reign.settle()
    reign.hears(wants("g0", 1, B), wants("g1", 1, B))
    reign.settle()
    reign.hears(wants("g0", 2, A))
    while reign.phase != "switching":
        reign.step(deaf=("s",))
    epochs = set()
    for _ in range(30):
        reign.step(silent=("g1",), deaf=("s",))
        epochs.add((reign.phase, reign.epoch))
    assert epochs == {("switching", 2)}
    assert lives(reign.step(silent=("g1",)) + reign.step(silent=("g1",))) != []


def test_old_trees_stay_until_every_living_gateway_says_that_nothing_is_under_way(reign: Reign, world: World) -> None:
    reign.settle(silent=("g1",))  # g1 is away: another tree
    (old,) = [key for key in tables(reign, "g0") if key[1] == 1]
    (new,) = [key for key in tables(reign, "g0") if key[1] != 1]
    world.clean["g0"] = 1
    reign.settle(silent=("g1",))
    assert reign.draining == 1
    assert set(world.tables["g0"]) == set(world.tables["m"]) == {old, new}
    world.clean["g0"] = new[1]
    reign.settle(silent=("g1",))  # g1 does not count: it is dead
    assert reign.draining == 0
    assert set(world.tables["g0"]) == set(world.tables["m"]) == {new}


def tables(reign: Reign, broker: str) -> list[tuple[str, int]]:
    return reign.machine.state()["tables"][broker]  # type: ignore[index,no-any-return]


def test_brokers_that_filter_get_another_tree_when_what_is_wanted_behind_a_link_changes(world: World) -> None:
    """On one tree brokers and source would not agree meanwhile on what a gateway is to get, and count apart."""
    reign = Reign(world, scheme="spt")
    reign.settle()
    reign.hears(wants("g0", 1, A), wants("g1", 1, A))
    reign.settle()
    reign.hears(wants("g0", 2, B, without=(A,)))
    while reign.phase != "switching":
        reign.step(deaf=("s",) if reign.phase == "switching" else ())
    assert wanted(world, "g0") == [{"a"}, {"b"}]
    reign.settle()
    assert wanted(world, "g0") == [{"a"}, {"b"}]  # what went over the first may still be under way
    world.clean |= dict.fromkeys(("g0", "g1"), world.follows["s"][0])
    reign.settle()
    assert wanted(world, "g0") == [{"b"}]
    assert wanted(world, "g1") == [{"a"}]


def test_a_tree_on_which_brokers_filter_as_before_goes_on(world: World) -> None:
    reign = Reign(world, scheme="spt")
    reign.settle()
    reign.hears(wants("g0", 1, A))
    reign.settle()
    reign.hears(wants("g0", 2, topic("a/b")))  # which A covers
    reign.settle()
    reign.hears(wants("g0", 3, without=(topic("a/b"),)))
    before = set(world.tables["m"])
    epoch = reign.epoch
    reign.settle()
    assert reign.epoch != epoch
    assert set(world.tables["m"]) == before
    assert reign.draining == 0


def wanted(world: World, gateway: str) -> list[set[str]]:
    """What the broker in the middle lets through to a gateway, tree by tree, the oldest first."""
    found = sorted(world.tables["m"].items(), key=lambda item: item[0][1])
    links = [(entry, link) for _, entry in found for link in entry.links if link.broker == gateway]
    return [{entry.profiles[place].text for place in link.profiles or ()} for entry, link in links]


# --- brokers that fall and come back


def test_a_dead_broker_is_taken_off_the_trees_and_a_returning_one_is_put_on_them_again() -> None:
    world = World(overlay(Link("s", "g0", 9.0)))
    reign = Reign(world)
    reign.settle()
    reign.hears(wants("g0", 1, A), wants("g1", 1, A))
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


def test_under_masks_a_subscription_changes_no_tree_no_table_and_no_epoch(reign: Reign, world: World) -> None:
    before = tables(reign, "m")
    reign.hears(wants("g0", 1, A))
    commands = reign.settle()
    assert lives(commands)
    assert reign.epoch == 1
    assert tables(reign, "m") == before
    assert frames(commands, Install) == frames(commands, Switch) == []


def test_trees_that_stay_as_they_are_keep_their_version(planning: Reign, world: World) -> None:
    planning.hears(wants("g0", 1, A))
    planning.settle()
    before = tables(planning, "m")
    planning.hears(wants("g0", 2, B))
    commands = planning.settle()
    assert planning.epoch == 3
    assert tables(planning, "m") == before
    assert planning.draining == 0
    assert [entry for to, frame in sends(commands, Install) if to == "m" for entry in frame.entries] == []


def test_bits_of_gateways_never_change(reign: Reign, world: World) -> None:
    bits = {name: world.installed[name].bit for name in ("g0", "g1")}
    assert bits == {"g0": 0, "g1": 1}
    reign.settle(silent=("g0",))
    assert world.installed["g1"].bit == 1
    assert only([*reign.settle()], Switch).gateways == ("g0", "g1")
    assert {name: world.installed[name].bit for name in ("g0", "g1")} == bits


def test_the_log_is_kept_for_gateways_that_are_away_and_wanted_something(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    assert only([*reign.settle(silent=("g0",))], Switch).absent == ("g0",)


# --- reorganising


def test_a_reorganisation_asks_the_sources_for_samples_and_plans_when_they_have_come(reign: Reign) -> None:
    reign.hears(wants("g0", 1, A))
    reign.settle()
    request = only(reign.hears(Reorganise()), AskSamples)
    assert notes(reign.step(), "plan") == []
    reign.hears(("s", Samples("s", request.request - 1, 1.0, ())))  # to an earlier question
    assert notes(reign.step(), "plan") == []
    reign.hears(("s", Samples("s", request.request, 1.0, (("p1",),))))
    (made,) = notes(reign.step(), "plan")
    assert (made["epoch"], made["reorganised"]) == (2, True)


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
def test_another_coordinator_goes_on_from_any_phase(planning: Reign, world: World, phase: str) -> None:
    planning.hears(wants("g0", 1, B))
    planning.settle()
    world.ends["s"] = 7
    planning.hears(wants("g0", 2, A))
    while planning.phase != phase or (planning.epoch == 2 and phase == "settled"):
        planning.step(deaf=("m",) if phase == "installing" else ("s",) if phase == "switching" else ())
    successor = Reign(world, "d", scheme="unicast")
    world.now += SETTINGS.leader_s
    commands = successor.settle()
    assert (successor.phase, successor.epoch) == ("settled", 3)
    assert lives(successor.hears(wants("g0", 3))) == [Live(2, 1, 2, 2, (("s", 7),))]
    assert world.follows["s"] == (3, 7)
    assert {told.term for told in frames(commands, Install)} == {2}


def test_what_was_asked_for_and_not_planned_is_planned_by_the_successor(planning: Reign, world: World) -> None:
    planning.hears(wants("g0", 1, A))  # stored, and then it falls
    successor = Reign(world, "d", scheme="unicast")
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
