from __future__ import annotations

import numpy as np
import pytest

from semcast.trees.graph import Graph
from semcast.trees.steiner import (
    QUICK,
    Effort,
    local_search,
    shortest_path_tree,
    takahashi_matsuyama,
)
from tests.laws.steiner_worlds import random_graph

HEURISTICS = [shortest_path_tree, takahashi_matsuyama, local_search]
# Terminals 1, 2, 3 at the rim, each two links from the root by its own way, and one link from the hub 4.
WHEEL = Graph.of(8, [(0, 5), (5, 1), (0, 6), (6, 2), (0, 7), (7, 3), (1, 4), (2, 4), (3, 4)])


def test_a_shortest_path_tree_takes_every_terminal_the_short_way() -> None:
    tree = shortest_path_tree(WHEEL, 0, [1, 2, 3])
    assert tree.pairs.tolist() == [[0, 5], [5, 1], [0, 6], [6, 2], [0, 7], [7, 3]]
    assert tree.cost == 6


def test_takahashi_matsuyama_joins_the_closest_terminal_to_what_is_there() -> None:
    tree = takahashi_matsuyama(WHEEL, 0, [1, 2, 3])
    # All are 2 away: 1 comes first. Then 2 is 2 away from the root and from node 1, through 4 < 6.
    assert tree.pairs.tolist() == [[0, 5], [5, 1], [1, 4], [4, 2], [4, 3]]
    assert tree.cost == 5


def test_a_shortest_path_tree_can_follow_delays_and_still_counts_costs() -> None:
    triangle = Graph.of(3, [(0, 1), (1, 2), (0, 2)], costs=[1, 1, 3], delays=[5, 5, 1])
    assert shortest_path_tree(triangle, 0, [2], "delay").pairs.tolist() == [[0, 2]]
    assert shortest_path_tree(triangle, 0, [2], "delay").cost == 3
    assert shortest_path_tree(triangle, 0, [2]).cost == 2


def test_takahashi_matsuyama_equals_a_search_from_scratch_for_every_terminal() -> None:
    for seed in range(30):
        graph = random_graph(60, 110, seed, real=seed % 2 == 1)
        root, *terminals = np.random.default_rng(seed).choice(60, 12, replace=False).tolist()
        assert sorted(takahashi_matsuyama(graph, root, terminals).pairs.tolist()) == _from_scratch(
            graph, root, terminals
        )


def _from_scratch(graph: Graph, root: int, terminals: list[int]) -> list[list[int]]:
    nodes, pairs, left = {root}, [], set(terminals)
    links = list(zip(graph.ends.tolist(), graph.link_costs.tolist(), strict=True))
    while left:
        distance = [0.0 if node in nodes else np.inf for node in range(graph.num_nodes)]
        before: list[float] = []
        while before != distance:
            before = distance.copy()
            for (one, other), cost in links:
                distance[one] = min(distance[one], distance[other] + cost)
                distance[other] = min(distance[other], distance[one] + cost)
        node = min(left, key=lambda terminal: (distance[terminal], terminal))
        while node not in nodes:
            tight = [
                near
                for near in graph.neighbours(node).tolist()
                if distance[near] + graph.costs[graph.arc(near, node)] == distance[node]
            ]
            pairs.append([min(tight), node])
            nodes.add(node)
            node = min(tight)
        left -= nodes
    return sorted(pairs)


def test_local_search_leaves_the_ways_that_only_looked_short() -> None:
    # From the root every terminal looks closest over a link of 2; the hub 6 serves five for 1 each.
    ends = [(0, 6), *((0, terminal) for terminal in range(1, 6)), *((6, terminal) for terminal in range(1, 6))]
    graph = Graph.of(7, ends, [2.0, *[1.9] * 5, *[1.0] * 5])
    assert takahashi_matsuyama(graph, 0, range(1, 6)).cost == pytest.approx(9.5)
    assert local_search(graph, 0, range(1, 6)).cost == pytest.approx(6.9)
    assert local_search(graph, 0, range(1, 6), QUICK).cost == pytest.approx(6.9)


def test_more_effort_finds_cheaper_trees() -> None:
    graph = random_graph(400, 1000, 1)
    terminals = np.random.default_rng(1).choice(400, 60, replace=False).tolist()
    costs = [
        takahashi_matsuyama(graph, 0, terminals).cost,
        local_search(graph, 0, terminals, Effort(1, 0, 10_000)).cost,
        local_search(graph, 0, terminals).cost,
    ]
    assert costs[0] > costs[1] > costs[2]


def test_the_budget_of_evaluations_ends_a_search_with_a_whole_tree() -> None:
    graph = random_graph(200, 400, 2)
    terminals = np.random.default_rng(2).choice(200, 30, replace=False).tolist()
    dear = takahashi_matsuyama(graph, 0, terminals).cost
    for evaluations in (0, 1, 10):
        tree = local_search(graph, 0, terminals, Effort(5, 5, evaluations))
        assert {0, *terminals} <= set(tree.nodes.tolist())
        assert tree.cost <= dear


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_alone_a_root_is_its_tree(heuristic: object) -> None:
    for graph in (WHEEL, Graph.of(1, [])):
        for terminals in ([], [0], [0, 0]):
            tree = heuristic(graph, 0, terminals)  # type: ignore[operator]
            assert (tree.pairs.shape, tree.cost, tree.nodes.tolist()) == ((0, 2), 0, [0])


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_a_terminal_that_cannot_be_reached_or_is_no_node_is_named(heuristic: object) -> None:
    apart = Graph.of(4, [(0, 1), (2, 3)])
    with pytest.raises(ValueError, match="no way from node 0 to node 2"):
        heuristic(apart, 0, [1, 3, 2])  # type: ignore[operator]
    with pytest.raises(ValueError, match="nodes are 0 … 3, not 4"):
        heuristic(apart, 0, [4])  # type: ignore[operator]


def test_every_arc_knows_the_way_back() -> None:
    for arc, back in enumerate(WHEEL.reverse.tolist()):
        assert WHEEL.reverse[back] == arc != back
        assert WHEEL.links[back] == WHEEL.links[arc]
        assert WHEEL.heads[back] == np.searchsorted(WHEEL.indptr, arc, side="right") - 1
