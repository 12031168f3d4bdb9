"""From a plan to what each broker has to know, and from what is left of an overlay to a plan."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest

from semcast.model.message import ProfileText
from semcast.planning.plan import Plan, PlannedChannel
from semcast.protocol.coordinator.deployment import Deployment, acking_channels, aggregated, tables
from semcast.protocol.coordinator.overlay import Overlay
from semcast.protocol.coordinator.planner import Planner, Statistics, Wishes, reduced
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Entry, Heartbeat
from semcast.trees.topology import Broker, Link, Topology
from tests.protocol.playbook import LINKS, topic
from tests.protocol.reigns import World, overlay

SUBSCRIPTIONS = {"p0": ("g0",), "p1": ("g0", "g1"), "p2": ("g1",)}
PROFILES = {"p0": topic("a"), "p1": topic("a/b"), "p2": topic("z")}


def channel(name: str, *gateways: str, links: tuple[tuple[str, str], ...] = LINKS, root: str = "s") -> PlannedChannel:
    return PlannedChannel(name, None, None, (), gateways, root, links, 0.0)


def deployment(scheme: str, *channels: PlannedChannel, **changes: object) -> Deployment:
    assignment = {profile: tuple(c.id for c in channels) for profile in SUBSCRIPTIONS}
    plan = Plan(1, 3, scheme, ("g0", "g1"), SUBSCRIPTIONS, channels, assignment)
    made = Deployment(
        plan, {c.id: 3 for c in channels}, PROFILES, SUBSCRIPTIONS, ("g0", "g1", "m", "s"), (), ("s",), ()
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def entry_of(made: Deployment, broker: str) -> Entry:
    (entry,) = tables(made, overlay())[broker].values()
    return entry


# --- tables


def test_masked_tables_have_every_link_of_the_tree_with_the_gateways_behind_it() -> None:
    made = deployment("masked", channel("c0", "g0", "g1"))
    middle = entry_of(made, "m")
    assert (middle.key, middle.parent, middle.bit) == (("c0", 3), "s", None)
    assert {link.broker: int.from_bytes(link.mask or b"", "little") for link in middle.links} == {
        "g0": 0b01, "g1": 0b10, "s": 0,
    }  # fmt: skip
    leaf = entry_of(made, "g0")
    assert (leaf.bit, leaf.parent) == (0, "m")
    assert [(link.broker, link.mask) for link in leaf.links] == [("m", b"\x02")]


def test_tables_of_the_papers_schemes_lead_away_from_the_rendezvous_point_and_sources_up_to_it() -> None:
    made = deployment("semcast", channel("c0", "g0", "g1", links=(("m", "g0"), ("m", "g1")), root="m"))
    middle = entry_of(made, "m")
    assert (middle.parent, [link.broker for link in middle.links], middle.ups) == (None, ["g0", "g1"], ())
    source = entry_of(made, "s")
    assert (source.links, source.ups, source.acks) == ((), (("s", "m"),), False)


def test_filter_tables_have_per_link_what_is_wanted_behind_it_without_what_others_cover() -> None:
    made = deployment("spt", channel("c0", "g0", "g1"))
    middle = entry_of(made, "m")
    wanted = {link.broker: {middle.profiles[place].text for place in link.profiles or ()} for link in middle.links}
    assert wanted == {"g0": {"a"}, "g1": {"a/b", "z"}}  # for g0, a covers a/b
    source = entry_of(made, "s")
    assert {profile.text for profile in source.profiles} == {"a", "z"}
    leaf = entry_of(made, "g1")
    assert [(link.broker, len(link.profiles or ())) for link in leaf.links] == [("g1", 2)]


def test_aggregation_keeps_of_equal_profiles_the_first_and_drops_all_that_others_cover() -> None:
    texts = ["a/b", "a", "a", "a/b/c", "z/*", "z/y"]
    assert [profile.text for profile in aggregated(map(topic, texts))] == ["a", "z/*"]


def test_acks_go_up_few_trees_that_together_hold_all_gateways() -> None:
    def plan(scheme: str, *channels: PlannedChannel) -> Plan:
        return deployment(scheme, *channels).plan

    some = [channel("c0", "g0"), channel("c1", "g0", "g1"), channel("c2", "g1")]
    assert acking_channels(plan("semcast", *some)) == ["c1"]
    assert acking_channels(plan("semcast", some[0], some[2])) == ["c0", "c2"]
    other = channel("c3", "g1", root="t")
    assert set(acking_channels(plan("spt", *some, other))) == {"c1", "c3"}  # each source has its own


def test_every_gateway_is_in_an_acking_tree_whatever_the_channels() -> None:
    rng = np.random.default_rng(3)
    names = [f"g{n}" for n in range(6)]
    for _ in range(50):
        held = [channel(f"c{n}", *(g for g in names if rng.random() < 0.4)) for n in range(5)]
        made = Plan(1, 1, "semcast", tuple(names), {}, tuple(held), {})
        chosen = acking_channels(made)
        assert {g for c in held if c.id in chosen for g in c.gateways} == {g for c in held for g in c.gateways}
        assert len(chosen) == len(set(chosen))


def test_trees_of_one_source_are_told_to_that_source_and_named_as_its_own_to_gateways() -> None:
    made = deployment("spt", channel("c0", "g0"), channel("c1", "g0", root="t"))
    assert [tree.key for tree in made.switch("s", 1).trees] == [("c0", 3)]
    assert made.members("g0") == ((("c0", 3), "s"), (("c1", 3), "t"))
    masked = deployment("masked", channel("c0", "g0"))
    assert masked.members("g0") == ((("c0", 3), None),)
    assert masked.members("g1") == ()


def test_a_switch_tells_a_source_who_wants_what_also_of_those_that_are_away() -> None:
    made = deployment("masked", channel("c0", "g0"), absent=("g1",)).switch("s", 7)
    assert (made.term, made.epoch, made.absent) == (7, 3, ("g1",))
    assert {name: gateways for name, _, gateways in made.profiles} == SUBSCRIPTIONS
    assert made.trees[0].gateways == (0,)


# --- what is left of an overlay


def line(*names: str) -> Topology:
    return Topology.of([Broker(name) for name in names], [Link(a, b) for a, b in pairwise(names)])


def test_the_largest_part_that_hangs_together_is_used() -> None:
    whole = line("a", "b", "c", "d", "e", "f")
    assert reduced(whole, set(), set()) is whole
    left = reduced(whole, {"c"}, set())
    assert left is not None
    assert [broker.id for broker in left.brokers] == ["d", "e", "f"]
    cut = reduced(whole, set(), {("e", "d")})  # either way round
    assert cut is not None
    assert [broker.id for broker in cut.brokers] == ["a", "b", "c", "d"]
    assert reduced(whole, set("abcdef"), set()) is None


def test_a_broker_is_alive_as_long_as_it_is_heard_of_and_a_link_down_when_either_end_says_so() -> None:
    world = World()
    seen = Overlay(world.topology, Settings(dead_s=2.0))
    seen.assume_alive(0.0)
    assert seen.network(2.0) == (("g0", "g1", "m", "s"), ())
    assert seen.network(2.1) == ((), ())
    for broker in ("m", "s", "g0"):
        seen.heard(world.beat(broker), 3.0)
    assert seen.network(3.0) == (("g0", "m", "s"), ())
    seen.heard(world.beat("g0", down=("m", "nobody")), 3.0)
    assert seen.network(3.0) == (("m", "s"), ())
    seen.heard(world.beat("g0"), 3.0)
    assert seen.network(3.0) == (("g0", "m", "s"), ())


def test_a_link_that_is_down_is_named_where_both_ends_are_still_used() -> None:
    topology = Topology.of(
        [Broker(name) for name in "abc"], [Link("a", "b"), Link("b", "c"), Link("a", "c")]
    )  # fmt: skip
    seen = Overlay(topology, Settings())
    seen.assume_alive(0.0)
    seen.heard(Heartbeat("c", 1, 0.0, down=("a",)), 0.0)
    assert seen.network(0.0) == (("a", "b", "c"), (("a", "c"),))
    assert [(link.a, link.b) for link in seen.topology(*seen.network(0.0)).links] == [("a", "b"), ("b", "c")]


# --- plans


SCHEMES = ["masked", "unicast", "spt", "semcast", "semcast-merge"]


def wishes(subscriptions: dict[str, tuple[str, ...]], topology: Topology | None = None,
           bounds: dict[tuple[str, str], float] | None = None) -> Wishes:  # fmt: skip
    profiles: dict[str, ProfileText] = {name: PROFILES[name] for name in subscriptions}
    return Wishes(topology or overlay(), ("g0", "g1"), ("s",), profiles, subscriptions, bounds or {})


def planned(scheme: str, asked: Wishes, old: Plan | None = None, same_network: bool = True,
            samples: dict[str, list[list[str]]] | None = None, epoch: int = 1) -> Plan:  # fmt: skip
    planner = Planner(scheme, 4, np.random.default_rng(1))
    statistics = None if samples is None else Statistics(samples)
    return planner.plan(asked, old, same_network, statistics, 1, epoch)[0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_plan_reaches_the_gateways_of_every_profile(scheme: str) -> None:
    made = planned(scheme, wishes(SUBSCRIPTIONS))
    made.check()
    assert made.gateways == ("g0", "g1")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_channels_whose_trees_stay_keep_their_ids_when_subscriptions_come_and_go(scheme: str) -> None:
    first = planned(scheme, wishes({"p1": ("g0", "g1")}))
    second = planned(scheme, wishes(SUBSCRIPTIONS), first, epoch=2)
    second.check()
    before = {c.id: (c.rendezvous, c.tree, c.gateways) for c in first.channels}
    after = {c.id: (c.rendezvous, c.tree, c.gateways) for c in second.channels}
    if scheme != "unicast":  # there every profile of a gateway has its way
        assert any(after.get(name) == what for name, what in before.items())
    assert all(after[name] == what for name, what in before.items() if name in after and scheme in ("masked", "spt"))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_plan_for_what_is_left_uses_only_that(scheme: str) -> None:
    first = planned(scheme, wishes(SUBSCRIPTIONS))
    left = reduced(overlay(), {"g1"}, set())
    assert left is not None
    there = {name: tuple(g for g in held if g == "g0") for name, held in SUBSCRIPTIONS.items()}
    asked = wishes({name: held for name, held in there.items() if held}, left)
    second = planned(scheme, asked, first, same_network=False, epoch=2)
    second.check()
    assert {broker for c in second.channels for link in c.tree for broker in link} <= {"s", "m", "g0"}
    assert second.gateways == ("g0", "g1")  # bits stay


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_sources_or_gateways_there_is_nothing_to_plan(scheme: str) -> None:
    lonely = Topology.of([Broker("m")], [])
    made = planned(scheme, Wishes(lonely, ("g0", "g1"), (), {}, {}))
    assert made.channels == ()


def test_samples_decide_the_trees_of_masked_channels_and_without_them_they_stay() -> None:
    ring = overlay(Link("s", "g1"))
    first = planned("masked", wishes(SUBSCRIPTIONS, ring))
    assert ends(first) == [{"g1 s", "g1 m", "g0 m"}]
    assert planned("masked", wishes({"p0": ("g0",)}, ring), first, epoch=2).channels == first.channels
    rows = [["p2"], ["p0"], ["p0"]] * 5  # one gateway alone: the way to g0 must not go by g1
    second = planned("masked", wishes(SUBSCRIPTIONS, ring), first, samples={"s": rows}, epoch=2)
    second.check()
    assert ends(second) == [{"g1 s", "m s", "g0 m"}]
    assert {c.id for c in second.channels}.isdisjoint(c.id for c in first.channels)


def ends(plan: Plan) -> list[set[str]]:
    return [{" ".join(sorted(link)) for link in channel.tree} for channel in plan.channels]


# --- bounds


DETOUR = Topology.of(
    [Broker("s", roles=("source",)), Broker("m"), *(Broker(name, roles=("gateway",)) for name in ("g0", "g1"))],
    [Link("s", "m", 1, 10), Link("m", "g0", 1, 10), Link("g0", "g1", 1, 10), Link("s", "g1", 9, 1)],
)
"""The cheap way to ``g1`` takes 30 ms, the dear one 1 ms."""


def test_a_gateway_that_is_too_far_on_a_tree_joins_anew_within_its_bound() -> None:
    planner = Planner("unicast", 4, np.random.default_rng(1))
    free, _ = planner.plan(wishes(SUBSCRIPTIONS, DETOUR), None, True, None, 1, 1)
    assert ("s", "g1") not in [link for c in free.channels for link in c.tree]
    bound, late = planner.plan(wishes(SUBSCRIPTIONS, DETOUR, {("g1", "p2"): 15.0}), None, True, None, 1, 1)
    bound.check()
    assert late == {}
    assert [c.tree for c in bound.channels if c.gateways == ("g1",)] == [(("s", "g1"),)]
    assert [c.tree for c in bound.channels if c.gateways == ("g0",)] == [(("s", "m"), ("m", "g0"))]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_bound_that_no_tree_can_meet_is_told_with_what_to_expect(scheme: str) -> None:
    asked = wishes(SUBSCRIPTIONS, bounds={("g1", "p2"): 0.5, ("g0", "p0"): 100.0})
    _, late = Planner(scheme, 4, np.random.default_rng(1)).plan(asked, None, True, None, 1, 1)
    assert late == {"g1/p2": 2.0}  # two links of one millisecond
