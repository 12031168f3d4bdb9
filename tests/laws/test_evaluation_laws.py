"""Counted costs equal those of messages followed one by one."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.model.bits import bits
from semcast.trees import evaluate
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Routed
from semcast.trees.graph import Graph
from semcast.trees.joins import Routes, low_cost_tree
from semcast.trees.tree import Tree
from tests.laws.overlays import graphs, nodes_of


class World(NamedTuple):
    graph: Graph
    source: int
    demand: Demand
    wanted: list[set[int]]
    trees: list[Tree]
    carries: list[set[int]]  # per message, its trees
    routed: Routed


@st.composite
def worlds(draw: st.DrawFn, masked: bool) -> World:
    graph = draw(graphs(max_nodes=10))
    gateways = draw(st.lists(nodes_of(graph), unique=True, max_size=6))
    messages = draw(st.integers(0, 6)) + draw(
        st.sampled_from([0, 0, 0, 60, 4100])
    )  # around the ends of words and blocks
    some = st.lists(st.sets(st.sampled_from(gateways)) if gateways else st.just(set()), min_size=1, max_size=8)
    sets = draw(some)
    wanted = [set(sets[message % len(sets)]) for message in range(messages)]
    routes = Routes(graph)
    trees = [
        low_cost_tree(routes, draw(nodes_of(graph)), draw(st.lists(nodes_of(graph), max_size=5))).tree()
        for _ in range(draw(st.integers(1, 4)))
    ]
    some_trees = draw(st.lists(st.sets(st.integers(0, len(trees) - 1)), min_size=1, max_size=8))
    carries = [set(some_trees[message % len(some_trees)]) for message in range(messages)]
    pairs = np.array([(tree, message) for message in range(messages) for tree in carries[message]], np.int64)
    pairs = pairs.reshape(-1, 2)
    routed = Routed(trees, bits(len(trees), messages, pairs[:, 0], pairs[:, 1]), masked)
    return World(graph, draw(nodes_of(graph)), Demand.from_sets(gateways, wanted), wanted, trees, carries, routed)


def _link(graph: Graph, a: int, b: int) -> int:
    return graph.ends.tolist().index(sorted((a, b)))


def _up(tree: Tree, node: int) -> list[tuple[int, int]]:
    found = []
    while node != tree.root:
        found.append((tree.parent[node], node))
        node = tree.parent[node]
    return found


def _followed(world: World) -> tuple[list[int], list[int], Counter[int]]:
    """Every message carried by hand: its links on trees, on legs, and all links used."""
    paths = world.graph.paths(world.source)

    @cache
    def links(wanted: frozenset[int], carries: frozenset[int]) -> tuple[list[int], list[int]]:
        used: list[tuple[int, int]] = []
        roots = set()
        for tree in (world.trees[number] for number in carries):
            if world.routed.masked and world.source in tree.nodes:
                tree = tree.rooted_at(world.source)
            else:
                roots.add(tree.root)
            if world.routed.masked:
                used += {link for node in wanted & tree.nodes for link in _up(tree, node)}
            else:
                used += map(tuple, tree.links.tolist())
        legs = [link for root in roots for link in pairwise(paths.to(root))]
        return [_link(world.graph, *link) for link in used], [_link(world.graph, *link) for link in legs]

    found = [links(frozenset(w), frozenset(c)) for w, c in zip(world.wanted, world.carries, strict=True)]
    per_link = Counter(chain.from_iterable(used + legs for used, legs in found))
    return [len(used) for used, _ in found], [len(legs) for _, legs in found], per_link


@pytest.mark.parametrize("masked", [False, True])
@given(data=st.data())
def test_transmissions_are_those_of_messages_followed_one_by_one(masked: bool, data: st.DataObject) -> None:
    world = data.draw(worlds(masked))
    counted = evaluate.transmissions(world.graph, world.routed, world.demand, world.source)
    on_trees, on_legs, per_link = _followed(world)
    assert counted.on_trees.tolist() == on_trees
    assert counted.on_legs.tolist() == on_legs
    assert dict(enumerate(counted.per_link.tolist())) == {link: per_link[link] for link in range(world.graph.num_links)}
    costs = np.zeros(world.graph.num_links)
    costs[world.graph.links] = world.graph.costs
    expected = sum(costs[link] * times for link, times in per_link.items()) / max(1, world.demand.messages)
    assert evaluate.weighted(world.graph, counted.per_link, world.demand.messages) == pytest.approx(expected)


@given(data=st.data())
def test_unicast_sends_each_gateway_its_own_copy(data: st.DataObject) -> None:
    world = data.draw(worlds(False))
    paths = world.graph.paths(world.source)
    expected = [sum(len(paths.to(node)) - 1 for node in wanted) for wanted in world.wanted]
    counted = evaluate.unicast(world.graph, world.demand, world.source)
    assert counted.on_trees.tolist() == expected
    assert counted.per_link.sum() == sum(expected)
    assert evaluate.unicast_clients(world.graph, world.demand, world.source) == pytest.approx(counted.mean)


@given(data=st.data())
def test_a_filtered_tree_never_costs_more_than_unicast_or_the_whole_tree(data: st.DataObject) -> None:
    world = data.draw(worlds(True))
    root = world.source
    tree = Tree.of(root, {node: int(p) for node, p in enumerate(world.graph.paths(root).parent) if node != root})
    filtered = evaluate.pruned(world.graph, tree, world.demand)
    assert (filtered.on_trees <= evaluate.unicast(world.graph, world.demand, root).on_trees).all()
    assert (filtered.on_trees <= len(tree)).all()
    assert not filtered.on_legs.any()
    delivered = evaluate.delivery(
        world.graph, Routed([tree], world.demand.any_wanted[None, :], True), world.demand, root
    )
    assert delivered.missed == 0
    assert delivered.stretch == pytest.approx(1 if any(world.wanted) else 0)


@pytest.mark.parametrize("masked", [False, True])
@given(data=st.data())
def test_deliveries_take_the_shortest_of_their_ways(masked: bool, data: st.DataObject) -> None:
    world = data.draw(worlds(masked))
    paths = world.graph.paths(world.source)
    direct = {node: len(paths.to(node)) - 1 for node in range(world.graph.num_nodes)}
    turned = [tree.rooted_at(world.source) if world.source in tree.nodes else tree for tree in world.trees]
    hops, ratios, missed = [], [], 0
    for wanted, carries in zip(world.wanted, world.carries, strict=True):
        for node in wanted:
            ways = []
            for tree in (turned[number] if masked else world.trees[number] for number in carries):
                leg = direct[tree.root]
                if node in tree.nodes:
                    ways.append(leg + len(_up(tree, node)))
            missed += not ways
            hops += [min(ways)] if ways else []
            ratios += [min(ways) / direct[node] if direct[node] else 1] if ways else []
    found = evaluate.delivery(world.graph, world.routed, world.demand, world.source)
    assert found.missed == missed
    assert found.hops == pytest.approx(np.mean(hops) if hops else 0)
    assert found.stretch == pytest.approx(np.mean(ratios) if ratios else 0)


@given(data=st.data())
def test_a_demand_gives_back_its_sets_and_any_selection_of_them(data: st.DataObject) -> None:
    world = data.draw(worlds(False))
    assert [set(nodes) for nodes in world.demand.sets()] == world.wanted
    if world.wanted:
        chosen = data.draw(st.lists(st.integers(0, len(world.wanted) - 1)))
        assert [set(nodes) for nodes in world.demand.only(chosen).sets()] == [world.wanted[m] for m in chosen]
