"""Bound ≤ optimum ≤ local search ≤ Takahashi–Matsuyama, and every tree is one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.trees.dual_ascent import LowerBound, lower_bound
from semcast.trees.graph import Graph
from semcast.trees.steiner import (
    QUICK,
    THOROUGH,
    SteinerTree,
    certified,
    local_search,
    shortest_path_tree,
    takahashi_matsuyama,
)
from tests.laws.steiner_worlds import Case, cases, cheapest, dreyfus_wagner, link_costs, random_graph

Heuristic = Callable[[Graph, int, list[int]], SteinerTree]


def quick(graph: Graph, root: int, terminals: list[int]) -> SteinerTree:
    return local_search(graph, root, terminals, QUICK)


HEURISTICS: list[Heuristic] = [shortest_path_tree, takahashi_matsuyama, quick, local_search]


@pytest.mark.parametrize("heuristic", HEURISTICS)
@given(cases(14))
def test_a_tree_joins_the_terminals_and_holds_no_more_than_it_must(heuristic: Heuristic, case: Case) -> None:
    graph, root, terminals = case
    tree = heuristic(graph, root, terminals)
    known, leaves = {root}, {root}
    for (parent, child), link in zip(tree.pairs.tolist(), tree.links.tolist(), strict=True):
        assert parent in known
        assert child not in known
        assert graph.ends[link].tolist() == sorted((parent, child))
        known.add(child)
        leaves = (leaves - {parent}) | {child}
    assert {root, *terminals} >= leaves
    assert {root, *terminals} <= known
    assert tree.nodes.tolist()[0] == root
    assert set(tree.nodes.tolist()) == known
    assert tree.cost == pytest.approx(sum(link_costs(graph)[link] for link in tree.links), rel=1e-12)
    parents = tree.parents(graph.num_nodes)
    assert [(int(parents[child]), child) for child in tree.pairs[:, 1].tolist()] == [*map(tuple, tree.pairs.tolist())]
    assert (parents >= -1).sum() == len(known)


@settings(max_examples=200)
@given(cases())
def test_bound_optimum_local_search_and_takahashi_matsuyama_are_in_this_order(case: Case) -> None:
    optimum = cheapest(*case)
    slack = 1e-12 * optimum
    found = local_search(*case).cost
    assert lower_bound(*case).value <= optimum <= found + slack
    assert optimum <= quick(*case).cost + slack
    assert found <= takahashi_matsuyama(*case).cost <= 2 * optimum + slack
    assert optimum <= shortest_path_tree(*case).cost + slack


@given(cases(), st.integers(0, 8))
def test_a_certified_tree_is_that_of_local_search_and_its_bound_never_above_the_optimum(
    case: Case, rounds: int
) -> None:
    optimum = cheapest(*case)
    tree, bound = certified(*case, QUICK, rounds=rounds)
    assert tree.pairs.tolist() == quick(*case).pairs.tolist()
    assert bound <= optimum * (1 + 1e-12)
    assert certified(*case, QUICK, rounds=rounds + 8).bound >= bound


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_a_search_is_as_near_as_that_of_an_ascent_by_itself(seed: int) -> None:
    graph = random_graph(200, 500, seed, real=False)
    terminals = np.random.default_rng(seed).choice(200, 40, replace=False).tolist()
    tree, bound = certified(graph, 7, terminals)
    assert bound >= 0.98 * lower_bound(graph, 7, terminals).value
    assert tree.cost <= 1.06 * bound


@given(cases(14), st.integers(0, 5))
def test_the_certificate_of_a_bound_can_be_checked(case: Case, rounds: int) -> None:
    graph, root, terminals = case
    check(graph, root, terminals, lower_bound(graph, root, terminals, rounds=rounds))


@pytest.mark.parametrize("real", [False, True])
def test_a_certificate_holds_in_large_graphs_too(real: bool) -> None:
    graph = random_graph(300, 800, 4, real=real)
    terminals = np.random.default_rng(4).choice(300, 40).tolist()
    bound = lower_bound(graph, 7, terminals)
    check(graph, 7, terminals, bound)
    assert bound.value <= local_search(graph, 7, terminals, THOROUGH).cost <= 1.06 * bound.value


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_local_search_finds_the_optimum_of_ten_terminals_and_the_bound_is_near_it(seed: int, real: bool) -> None:
    graph = random_graph(40, 80, seed, real=real)
    root, *terminals = np.random.default_rng(seed).choice(40, 10, replace=False).tolist()
    optimum = dreyfus_wagner(graph, root, terminals)
    assert local_search(graph, root, terminals).cost == pytest.approx(optimum, rel=1e-12)
    assert 0.95 * optimum <= lower_bound(graph, root, terminals).value <= optimum


@given(cases(14))
def test_order_and_repetition_of_terminals_do_not_matter(case: Case) -> None:
    graph, root, terminals = case
    other = terminals[::-1] + terminals[:2] + [root]
    for heuristic in HEURISTICS:
        assert heuristic(graph, root, terminals).pairs.tolist() == heuristic(graph, root, other).pairs.tolist()
    assert lower_bound(graph, root, terminals).reduced.tolist() == lower_bound(graph, root, other).reduced.tolist()


@given(cases(14), st.integers(0, 1000))
def test_the_same_seed_gives_the_same_tree_and_the_same_bound(case: Case, seed: int) -> None:
    trees = [local_search(*case, QUICK, np.random.default_rng(seed)) for _ in range(2)]
    assert trees[0].pairs.tolist() == trees[1].pairs.tolist()
    bounds = [lower_bound(*case, rng=np.random.default_rng(seed)) for _ in range(2)]
    assert bounds[0].duals.tolist() == bounds[1].duals.tolist()


@given(cases(14))
def test_more_rounds_never_lower_the_bound(case: Case) -> None:
    values = [lower_bound(*case, rounds=rounds).value for rounds in (0, 1, 4, 16)]
    assert values == sorted(values)


def check(graph: Graph, root: int, terminals: list[int], bound: LowerBound) -> None:
    """Every cut parts a terminal from the root, no arc is charged more than it costs, and the sum is the bound."""
    tails = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    charged = np.zeros(len(graph.heads))
    total = 0.0
    for dual, members in bound.cuts():
        assert dual >= 0
        assert root not in members
        assert {*terminals} & {*members.tolist()}
        inside = np.isin(np.arange(graph.num_nodes), members)
        charged[inside[graph.heads] & ~inside[tails]] += dual
        total += dual
    slack = 1e-9 * graph.costs.max() if len(graph.costs) else 0.0
    assert np.all(charged <= graph.costs + slack)
    assert charged + bound.reduced == pytest.approx(graph.costs, abs=slack)
    if np.all(graph.costs == np.rint(graph.costs)):
        assert bound.value == math.ceil(total - 1e-6)
    else:
        assert total * (1 - 1e-8) <= bound.value <= total
