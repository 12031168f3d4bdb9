from __future__ import annotations

import numpy as np
import pytest

from semcast.trees.dual_ascent import lower_bound
from semcast.trees.graph import Graph
from semcast.trees.steiner import local_search
from tests.laws.steiner_worlds import random_graph


def test_on_a_tree_the_bound_is_what_the_tree_costs() -> None:
    tree = Graph.of(5, [(0, 1), (1, 2), (1, 3), (3, 4)], [2, 3, 5, 7])
    assert lower_bound(tree, 0, [2, 4], rounds=0).value == 17
    assert lower_bound(tree, 0, [2], rounds=0).value == 5


def test_one_terminal_is_bounded_by_its_distance() -> None:
    graph = random_graph(50, 120, 3, real=True)
    for target in (7, 20, 49):
        distance = graph.paths(0).distance[target]
        assert lower_bound(graph, 0, [target], rounds=0).value == pytest.approx(distance, rel=1e-8)


def test_cuts_part_terminals_from_the_root_and_charge_the_arcs_that_enter() -> None:
    path = Graph.of(3, [(0, 1), (1, 2)], [2, 3])
    bound = lower_bound(path, 0, [2], rounds=0)
    assert [(dual, sorted(members.tolist())) for dual, members in bound.cuts()] == [(3, [2]), (2, [1, 2])]
    # 0→1, 1→0, 1→2, 2→1
    assert bound.reduced.tolist() == [0, 2, 0, 3]


def test_integral_costs_round_the_bound_up_and_others_do_not() -> None:
    # Two of three terminals around a triangle with a hub each: the relaxation ends half-way between integers.
    ends = [(0, 3), (0, 4), (1, 3), (1, 5), (2, 4), (2, 5), (3, 6), (4, 6), (5, 6)]
    whole = lower_bound(Graph.of(7, ends), 0, [1, 2], rounds=100)
    assert whole.value == int(whole.value)
    assert sum(whole.duals) <= whole.value == local_search(Graph.of(7, ends), 0, [1, 2]).cost
    halves = lower_bound(Graph.of(7, ends, [0.5] * 9), 0, [1, 2], rounds=100)
    assert halves.value == pytest.approx(sum(halves.duals))


def test_rounds_improve_on_a_single_ascent() -> None:
    graph = random_graph(300, 900, 6)
    terminals = np.random.default_rng(6).choice(300, 40, replace=False).tolist()
    single, default = (lower_bound(graph, 0, terminals, rounds=rounds).value for rounds in (0, 32))
    assert single < default <= local_search(graph, 0, terminals).cost


def test_alone_a_root_costs_nothing() -> None:
    assert lower_bound(Graph.of(1, []), 0, []).value == 0
    assert lower_bound(Graph.of(2, [(0, 1)]), 0, [0]).value == 0


def test_a_terminal_that_cannot_be_reached_is_refused() -> None:
    apart = Graph.of(4, [(0, 1), (2, 3)])
    with pytest.raises(ValueError, match="no way from node 0"):
        lower_bound(apart, 0, [1, 2])
    with pytest.raises(ValueError, match="nodes are 0 … 3, not -1"):
        lower_bound(apart, 0, [-1])
