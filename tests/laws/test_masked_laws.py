"""Masked channels: whatever was sampled and whatever comes, all who want it are reached, once, by the cheapest tree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.planning import masked
from semcast.trees import evaluate
from semcast.trees.choice import Choice
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Routed
from semcast.trees.graph import Graph
from semcast.trees.joins import Routes, low_cost_tree
from semcast.trees.masked_tree import Ends, anneal, as_tree, descend, parents, pruned_cost, spanning
from semcast.trees.rows import OFF
from semcast.trees.tree import Tree
from tests.laws.masked_worlds import World, forwarded, worlds
from tests.laws.overlays import masks_of, nodes_of


def counted(graph: Graph, tree: Tree, demand: Demand, source: int) -> list[int]:
    """What every message would cost on a tree, leg included, as ``evaluate`` counts it."""
    found = evaluate.transmissions(graph, Routed([tree], demand.any_wanted[None, :], masked=True), demand, source)
    return (found.on_trees + found.on_legs).tolist()


@given(data=st.data())
def test_a_message_takes_the_first_of_the_cheapest_trees_that_hold_all_who_want_it(data: st.DataObject) -> None:
    world = data.draw(worlds())
    routes = Routes(world.graph)
    some = st.lists(st.sampled_from(world.gateways), max_size=5)
    roots = data.draw(st.lists(nodes_of(world.graph), max_size=4))
    trees = [low_cost_tree(routes, root, data.draw(some)).tree() for root in roots]
    everybody = low_cost_tree(routes, data.draw(nodes_of(world.graph)), world.gateways).tree()
    trees.insert(data.draw(st.integers(0, len(trees))), everybody)
    source = data.draw(nodes_of(world.graph))
    repeats = data.draw(st.sampled_from([1, 30, 400]))  # around the ends of words and of blocks of them
    demand = Demand.from_sets(world.gateways, [wanted for sets in world.sets for wanted in sets] * repeats)
    chosen = Choice.of(world.graph, trees, demand.gateways, source).choose(demand)
    costs = np.array([counted(world.graph, tree, demand, source) for tree in trees]).reshape(len(trees), -1)
    for message, wanted in enumerate(demand.sets()):
        able = [number for number, tree in enumerate(trees) if tree.nodes.issuperset(wanted)] if wanted else [0]
        best = min(able, key=lambda number: (costs[number, message], number))
        assert (chosen.channels[message], chosen.transmissions[message]) == (best, costs[best, message])
    routed = Routed(trees, chosen.carried(len(trees), demand), masked=True)
    total = evaluate.transmissions(world.graph, routed, demand, source)
    assert (total.on_trees + np.minimum(total.on_legs, chosen.transmissions) == chosen.transmissions).all()
    assert evaluate.delivery(world.graph, routed, demand, source).missed == 0


@settings(max_examples=30)
@given(data=st.data())
def test_a_plan_carries_any_set_from_any_source_to_exactly_those_who_want_it(data: st.DataObject) -> None:
    world = data.draw(worlds())
    plan = masked.plan(world.graph, world.samples, data.draw(st.integers(1, 4)), np.random.default_rng(1), 3_000)
    sets = [set(chosen) for size in range(3) for chosen in combinations(world.gateways, size)] + [set(world.gateways)]
    demand = Demand.from_sets(world.gateways, sets)  # most of them were never sampled
    for source in world.sources:
        chosen = Choice.of(world.graph, plan.trees, plan.gateways, source).choose(demand)
        for wanted, channel, links in zip(sets, chosen.channels, chosen.transmissions, strict=True):
            mask = sum(1 << world.gateways.index(node) for node in wanted)
            reached, used = forwarded(masks_of(plan.trees[channel], world.gateways), source, mask)
            assert len(set(reached)) == len(reached)
            assert wanted <= set(reached)
            assert used == links
            leaves = set(reached) - wanted - {source}
            assert all(sum(1 for end in reached if end in plan_links(plan.trees[channel], node)) > 1 for node in leaves)


def plan_links(tree: Tree, node: int) -> set[int]:
    return {b if a == node else a for a, b in tree.links.tolist() if node in (a, b)}


@settings(max_examples=30)
@given(data=st.data())
def test_a_plan_is_the_same_for_the_same_seed_and_never_worse_than_its_first_tree(data: st.DataObject) -> None:
    world = data.draw(worlds())
    channels = data.draw(st.integers(1, 4))
    one, other = (masked.plan(world.graph, world.samples, channels, np.random.default_rng(7), 3_000) for _ in range(2))
    assert [tree.links.tolist() for tree in one.trees] == [tree.links.tolist() for tree in other.trees]
    assert (one.cost, one.validated, one.cuts) == (other.cost, other.validated, other.cuts)
    assert 1 <= len(one.trees) <= channels
    assert one.validated <= one.single
    everybody = {*world.gateways, *world.sources}
    assert all(tree.nodes >= everybody for tree in one.trees)


@given(data=st.data())
def test_the_search_counts_what_evaluate_counts_and_never_makes_a_tree_dearer(data: st.DataObject) -> None:
    world = data.draw(worlds())
    start = spanning(world.graph, world.sources[0], [*world.gateways, *world.sources])
    ends = world.ends
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    better, cuts = descend(world.graph, start, ends, rng, data.draw(st.integers(0, 40)))
    assert cuts <= 40
    for parent in (start, better):
        expected = weight = 0
        for source, sets in zip(world.sources, world.sets, strict=True):
            costs = counted(world.graph, as_tree(parent), Demand.from_sets(world.gateways, sets), source)
            expected += sum((weight + place) * cost for place, cost in enumerate(costs, 1))
            weight += len(costs)
        assert pruned_cost(parent, ends) == expected
    assert pruned_cost(better, ends) <= pruned_cost(start, ends)
    assert ends.spanned_by(better)


def cheapest(graph: Graph, ends: Ends) -> int:
    """The least cost of any tree, all of them tried."""
    best = None
    for links in combinations(range(graph.num_links), graph.num_nodes - 1):
        try:
            tree = Tree.joining(graph, ends.root, links)
        except ValueError:
            continue
        cost = pruned_cost(parents(tree, graph.num_nodes), ends)
        best = cost if best is None else min(best, cost)
    assert best is not None
    return best


@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_on_small_overlays_the_search_finds_the_cheapest_of_all_trees(seed: int, sources: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = 7
    links = {(int(rng.integers(node)), node) for node in range(1, nodes)}
    while len(links) < 11:
        a, b = sorted(rng.choice(nodes, 2, replace=False).tolist())
        links.add((a, b))
    graph = Graph.of(nodes, sorted(links))
    gateways = [1, 3, 4, 6]
    sets = [[{node for node in gateways if rng.random() < 0.5} for _ in range(4)] for _ in range(sources)]
    ends = World(graph, gateways, [0, 5][:sources], sets).ends
    start = spanning(graph, ends.root, np.flatnonzero(ends.row >= 0).tolist())
    found = min((anneal(graph, start, ends, rng, 10, 2.0).parent for _ in range(4)), key=lambda p: pruned_cost(p, ends))
    assert pruned_cost(found, ends) == cheapest(graph, ends)


@given(data=st.data())
def test_where_the_search_ends_no_link_can_be_exchanged_for_a_cheaper_one(data: st.DataObject) -> None:
    world = data.draw(worlds())
    ends = world.ends
    start = spanning(world.graph, world.sources[0], [*world.gateways, *world.sources])
    found = descend(world.graph, start, ends, np.random.default_rng(data.draw(st.integers(0, 9))), 10_000).parent
    cost = pruned_cost(found, ends)
    links = {tuple(sorted(link)) for link in as_tree(found).links.tolist()}
    for out in links:
        for add in {tuple(sorted(link)) for link in world.graph.ends.tolist()} - links:
            parent = _hung(links - {out} | {add}, ends.root, world.graph.num_nodes)
            if ends.spanned_by(parent):
                assert pruned_cost(parent, ends) >= cost


def _hung(links: set[tuple[int, ...]], root: int, num_nodes: int) -> np.ndarray:
    """Parents of all that these links join to the root."""
    parent = np.full(num_nodes, OFF, np.int32)
    parent[root] = -1
    reached = [root]
    for node in reached:
        for link in links:
            (other,) = set(link) - {node} if node in link else {root}
            if parent[other] == OFF:
                parent[other] = node
                reached.append(other)
    return parent


@given(data=st.data())
def test_with_one_source_both_ways_to_look_at_a_cut_find_the_same_tree(data: st.DataObject) -> None:
    world = data.draw(worlds(max_sources=1))
    ends = world.ends
    assert ends.rooted
    start = spanning(world.graph, world.sources[0], [*world.gateways, *world.sources])
    one, other = (
        anneal(world.graph, start, replace(ends, rooted=rooted), np.random.default_rng(3), 4, 1.0)
        for rooted in (True, False)
    )
    assert one.parent.tolist() == other.parent.tolist()
    assert one.cuts == other.cuts
