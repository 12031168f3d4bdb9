"""The law above all: whatever the plan, each gateway with an interested client gets each message that is matched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from semcast.channels import expressions as ex
from semcast.channels.selectivity import Selectivity
from semcast.matching.matches import Matches
from semcast.model import SemcastError
from semcast.planning.build import Request, make_plan
from semcast.planning.coordinators import keepers, shares, synchronised
from semcast.planning.cost import Cost, cost_of
from semcast.planning.origins import Origins, Sent
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.planning.schemes import SCHEMES
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.steiner import QUICK
from semcast.trees.topology import Broker, Link, Topology
from tests.laws.channel_worlds import matches_of
from tests.laws.overlays import graphs, masks_of, nodes_of


class World(NamedTuple):
    topology: Topology
    source: str
    subscriptions: Subscriptions
    sample: list[set[int]]
    messages: list[set[int]]  # by distinct profiles; may contradict the sample


@st.composite
def worlds(draw: st.DrawFn) -> World:
    graph = draw(graphs(max_nodes=9))
    names = [f"b{node}" for node in range(graph.num_nodes)]
    gateways = draw(st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True))
    brokers = [Broker(name, roles=("gateway",) if name in gateways else ()) for name in names]
    topology = Topology.of(brokers, [Link(names[a], names[b]) for a, b in graph.ends.tolist()])
    some = st.lists(st.sampled_from(gateways), min_size=1, max_size=2, unique=True)
    wanted = {f"p {n}|": draw(some) for n in range(draw(st.integers(1, 7)))}
    meaning = {profile: draw(st.integers(0, 4)) for profile in wanted}
    subscriptions = Subscriptions.of(gateways, wanted, meaning)
    matched = st.sets(st.integers(0, len(subscriptions.distinct) - 1))
    sample, messages = draw(st.lists(matched, max_size=10)), draw(st.lists(matched, max_size=10))
    return World(topology, names[draw(nodes_of(graph))], subscriptions, sample, messages)


def _made(world: World, scheme: str, seed: int = 0) -> Plan:
    selectivity = Selectivity.of(matches_of(world.sample), len(world.subscriptions.distinct))
    return make_plan(scheme, Request(world.topology, world.source, world.subscriptions, selectivity, seed))


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=60)
@given(world=worlds())
def test_every_gateway_gets_what_its_clients_match_whatever_was_sampled(scheme: str, world: World) -> None:
    plan = Plan.from_json(_made(world, scheme).to_json())
    batches = Router(plan, world.subscriptions.distinct).route(matches_of(world.messages))
    over = [{b.channel for b in batches if m in b.rows.tolist()} for m in range(len(world.messages))]
    channels = {channel.id: channel for channel in plan.channels}
    for matched, used in zip(world.messages, over, strict=True):
        for number in matched:
            for profile in world.subscriptions.members[number]:
                assigned = [channels[name] for name in plan.assignment[profile]]
                carrying = [channel for channel in assigned if plan.channels.index(channel) in used]
                reached = {gateway for channel in carrying for gateway in channel.gateways}
                assert set(plan.subscriptions[profile]) <= reached
    assert plan == _made(world, scheme), "the same seed gives the same plan"


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=40)
@given(world=worlds())
def test_messages_are_routed_by_the_expressions_that_the_plan_prints(scheme: str, world: World) -> None:
    plan = _made(world, scheme)
    everyone = list(plan.subscriptions)  # as an outsider would match: every profile, not one per class
    matched = [{everyone.index(p) for n in one for p in world.subscriptions.members[n]} for one in world.messages]
    rows = {batch.channel: batch.rows.tolist() for batch in Router(plan).route(matches_of(matched))}
    for number, channel in enumerate(plan.channels):
        if channel.expression is not None:
            expression = ex.parse(channel.expression, plan.numbers)
            held = [m for m, profiles in enumerate(matched) if ex.holds(expression, profiles)]
            assert rows.get(number, []) == held


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=40)
@given(world=worlds())
def test_costs_stand_in_their_order_and_nothing_is_missed(scheme: str, world: World) -> None:
    plan = _made(world, scheme)
    matches = matches_of(world.messages)
    cost = cost_of(plan, world.topology, world.subscriptions, matches, world.source, effort=QUICK, oracle_messages=50)
    assert cost.missed == 0
    assert cost.messages == len(world.messages)
    assert cost.oracle is None or cost.oracle_bound is not None
    if world.messages:
        assert cost.oracle_bound <= cost.oracle <= cost.spt + 1e-9 <= cost.unicast + 2e-9  # type: ignore[operator]
        assert cost.unicast <= cost.unicast_clients + 1e-9
        assert cost.oracle_bound <= cost.plan_with_leg + 1e-9  # type: ignore[operator]
    if scheme == "unicast":
        assert cost.plan_with_leg == pytest.approx(cost.unicast)
    if scheme in ("spt", "semnet"):
        assert cost.plan_with_leg == pytest.approx(cost.spt)


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=30)
@given(data=st.data())
def test_of_several_sources_each_message_costs_what_it_costs_from_its_own(scheme: str, data: st.DataObject) -> None:
    world = data.draw(worlds())
    names = [broker.id for broker in world.topology.brokers]
    sources = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    selectivity = Selectivity.of(matches_of(world.sample), len(world.subscriptions.distinct))
    origins = Origins.spread(sources, len(world.sample))
    request = Request(world.topology, sources[0], world.subscriptions, selectivity, channels=3, origins=origins)
    plan = Plan.from_json(make_plan(scheme, request).to_json())
    assert plan.sources == tuple(sources)
    place = np.array(data.draw(st.lists(st.integers(0, len(sources) - 1), min_size=10, max_size=10)))
    matches = matches_of(world.messages)
    whole = _whole_cost(world, plan, matches, Origins.of(sources, place[: matches.rows]))
    alone = [_whole_cost(world, plan, sent.matches, sent.source) for sent in whole_sent(sources, place, matches)]
    each = max(1, matches.rows)
    for key in ("plan", "plan_with_leg", "unicast", "unicast_clients", "spt", "weighted", "mask_bytes_per_message"):
        parts = [(getattr(cost, key) or 0.0) * cost.messages for cost in alone]
        assert (getattr(whole, key) or 0.0) == pytest.approx(sum(parts) / each), key
    if matches.rows:
        oracle = sum((cost.oracle or 0.0) * cost.messages for cost in alone) / each
        assert whole.oracle == pytest.approx(oracle)
    assert (whole.missed, whole.messages) == (0, matches.rows)
    if scheme == "unicast":
        assert whole.plan_with_leg == pytest.approx(whole.unicast)
    if scheme in ("spt", "semnet"):
        assert whole.plan_with_leg == pytest.approx(whole.spt)


def whole_sent(sources: list[str], place: NDArray[np.int64], matches: Matches) -> list[Sent]:
    return list(Origins.of(sources, place[: matches.rows]).sent(matches))


def _whole_cost(world: World, plan: Plan, matches: Matches, source: str | Origins) -> Cost:
    return cost_of(plan, world.topology, world.subscriptions, matches, source, effort=QUICK, oracle_messages=99)


def test_a_source_named_twice_is_refused() -> None:
    with pytest.raises(SemcastError, match="'b1' is named twice"):
        Origins.spread(["b1", "b2", "b1"], 4)


@settings(max_examples=30)
@given(world=worlds())
def test_header_bytes_are_those_of_the_masks_that_brokers_pass_on(world: World) -> None:
    plan = _made(world, "masked")
    matches = matches_of(world.messages)
    cost = cost_of(plan, world.topology, world.subscriptions, matches, world.source, oracle_messages=0)
    nodes = [world.topology.node(gateway) for gateway in plan.gateways]
    total = used = 0
    for batch in Router(plan, world.subscriptions.distinct, world.source, world.topology).route(matches):
        masks = masks_of(plan.tree(plan.channels[batch.channel], world.topology), nodes)
        assert batch.masks is not None
        for words in batch.masks:
            mask = int.from_bytes(words.tobytes(), "little")
            for behind in _passed_on(masks, world.topology.node(world.source), mask):
                total += 1 + min((len(nodes) + 7) // 8, behind.bit_count())
                used += 1
    assert cost.mask_bytes_per_message == pytest.approx(total / max(1, matches.rows))
    assert cost.mask_bytes_per_transmission == pytest.approx(total / max(1, used))
    assert cost.plan == pytest.approx(used / max(1, matches.rows))


def _passed_on(masks: dict[int, dict[int, int]], at: int, mask: int, over: int | None = None) -> list[int]:
    """The mask on every link that a message uses."""
    found: list[int] = []
    for other, behind in masks[at].items():
        if other != over and mask & behind:
            found += [mask & behind, *_passed_on(masks, other, mask & behind, at)]
    return found


@settings(max_examples=30)
@given(world=worlds())
def test_on_the_sample_the_realised_estimate_is_the_counted_cost(world: World) -> None:
    plan = _made(world, "semcast")
    cost = cost_of(plan, world.topology, world.subscriptions, matches_of(world.sample), world.source, oracle_messages=0)
    assert cost.plan == pytest.approx(plan.estimate["realised"])
    assert np.isclose(cost.plan, sum(channel.rate * len(channel.tree) for channel in plan.channels))


@given(data=st.data())
def test_several_coordinators_decide_what_one_would(data: st.DataObject) -> None:
    world = data.draw(worlds())
    count = len(world.subscriptions.distinct)
    names = st.sets(st.sampled_from(["price", "symbol", "volume", "sector"]))
    attributes = data.draw(st.lists(names, min_size=count, max_size=count))
    whole = Selectivity.of(matches_of(world.sample), count)
    parts = shares(whole, attributes, data.draw(st.integers(1, 4)))
    for profile, own in enumerate(attributes):
        kept_by = {number for number, part in enumerate(parts) if profile in part.profiles}
        assert kept_by == keepers(own, len(parts))
    together = synchronised(parts, count)
    assert together.matches.pairs().tolist() == whole.matches.pairs().tolist()
    one, many = (
        make_plan("semcast", Request(world.topology, world.source, world.subscriptions, statistics))
        for statistics in (whole, together)
    )
    assert one == many


def test_a_profile_that_nobody_keeps_is_missed() -> None:
    whole = Selectivity.of(matches_of([{0}, {1}]), 2)
    part = shares(whole, [["a"], ["a"]], 1)[0]
    with pytest.raises(ValueError, match="no coordinator keeps profile 1"):
        synchronised([part._replace(profiles=(0,))], 2)
