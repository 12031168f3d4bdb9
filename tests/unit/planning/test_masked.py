"""Masked channels as planned: what is kept, what is changed when statistics drift, and what a mask weighs."""

from __future__ import annotations

import numpy as np
import pytest

from semcast.planning import masked
from semcast.planning.masks import interested, mask_bytes
from semcast.planning.signatures import Signatures
from semcast.trees.demand import Demand
from semcast.trees.generators import generate
from semcast.trees.graph import Graph
from semcast.trees.masked_tree import as_tree
from semcast.trees.tree import Tree

GATEWAYS = list(range(0, 60, 4))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return generate("waxman", 60, np.random.default_rng(5), degree=4.0).graph


def groups(seed: int, count: int = 400, kinds: int = 6) -> Demand:
    """Messages of some kinds, each wanted by gateways of its own."""
    rng = np.random.default_rng(seed)
    wanted = [rng.choice(GATEWAYS, 5, replace=False).tolist() for _ in range(kinds)]
    return Demand.from_sets(GATEWAYS, [wanted[kind] for kind in np.random.default_rng(1).integers(0, kinds, count)])


def test_more_channels_cost_less_where_messages_are_of_several_kinds(graph: Graph) -> None:
    costs = [masked.plan(graph, {2: groups(3, kinds=20)}, k, np.random.default_rng(0)).validated for k in (1, 3, 8)]
    assert costs[0] > costs[1] > costs[2]


def test_no_more_channels_than_bring_something_on_messages_set_apart(graph: Graph) -> None:
    plan = masked.plan(graph, {2: groups(3)}, 32, np.random.default_rng(0), least_gain=0.001)
    assert len(plan.trees) <= 7  # six kinds of messages, and the tree for all
    assert plan.validated < plan.single


def test_signatures_are_as_like_as_the_angle_between_them_is_narrow() -> None:
    signatures = Signatures.of({2: groups(3), 57: groups(4)})
    came = 2 * np.equal.outer(signatures.source, [2, 57]).astype(float) * np.sqrt(len(GATEWAYS) / 16)
    every = np.concatenate((signatures.wanted, came), axis=1)
    every -= np.average(every, axis=0, weights=signatures.weight)
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    for number in range(len(signatures)):
        assert signatures.likeness(number) == pytest.approx(every @ every[number], abs=1e-5)


def test_who_costs_more_than_as_many_others_do_is_in_need() -> None:
    sets = [[0, 4], [8, 12], [16, 20], [0, 4, 8], [4, 8, 12], [0, 8, 12, 16]]
    signatures = Signatures.of({2: Demand.from_sets(GATEWAYS, sets)})
    lowest = 3 * signatures.sizes.astype(np.int32)
    poor = int(np.flatnonzero(signatures.sizes == 2)[0])
    lowest[poor] += 4
    squares = np.vander(signatures.sizes / 4, 3)
    over = lowest - squares @ np.linalg.lstsq(squares, lowest.astype(float))[0]
    need = masked._need(signatures, lowest)
    assert int(need.argmax()) == poor
    assert np.log(need) == pytest.approx(over / over.std(), abs=1e-9)


def test_a_source_that_sent_nothing_is_spanned(graph: Graph) -> None:
    silent = Demand.from_sets(GATEWAYS, [])
    plan = masked.plan(graph, {2: groups(3), 9: silent}, 2, np.random.default_rng(0), 20_000)
    assert all({2, 9} <= tree.nodes for tree in plan.trees)
    alone = masked.plan(graph, {9: silent}, 3, np.random.default_rng(0))
    assert len(alone.trees) == 1
    assert alone.trees[0].nodes >= {9, *GATEWAYS}
    assert (alone.cost, alone.validated) == (0.0, 0.0)


def test_sources_that_suit_each_other_badly_get_trees_of_their_own(graph: Graph) -> None:
    samples = {2: groups(3, kinds=2), 57: groups(4, kinds=2)}
    shared = masked.plan(graph, samples, 1, np.random.default_rng(0))
    apart = masked.plan(graph, samples, 5, np.random.default_rng(0))
    alone = [masked.plan(graph, {source: sample}, 3, np.random.default_rng(0)) for source, sample in samples.items()]
    assert apart.cost < shared.cost
    assert apart.cost == pytest.approx(sum(plan.cost for plan in alone) / 2, rel=0.02)


def test_an_overlay_in_two_parts_is_refused() -> None:
    parted = Graph.of(4, [(0, 1), (2, 3)])
    with pytest.raises(ValueError, match="not connected"):
        masked.plan(parted, {0: Demand.from_sets([1, 3], [{1}])}, 2, np.random.default_rng(0))


def test_replanning_without_drift_changes_nothing(graph: Graph) -> None:
    old = masked.plan(graph, {2: groups(3)}, 8, np.random.default_rng(0))
    again = masked.replan(graph, old, {2: groups(3, count=500)}, 8, np.random.default_rng(1))
    assert again.trees == old.trees


def test_replanning_after_drift_changes_only_channels_that_are_worth_it(graph: Graph) -> None:
    old = masked.plan(graph, {2: groups(3)}, 8, np.random.default_rng(0))
    drifted = {2: groups(99, kinds=2)}
    kept = masked.replan(graph, old, drifted, 8, np.random.default_rng(1), least_gain=1.0)
    assert kept.trees == old.trees
    new = masked.replan(graph, old, drifted, 8, np.random.default_rng(1))
    assert new.validated < kept.validated
    assert 1 <= len(set(new.trees) - set(old.trees)) <= 2
    assert sum(a is b for a, b in zip(old.trees, new.trees, strict=False)) >= len(old.trees) - 2


@pytest.mark.parametrize("weight", [1.0, 1e-3])
def test_a_gain_that_few_messages_show_is_no_reason_to_change(weight: float) -> None:
    direct, around = Tree.of(0, {1: 0, 2: 0}), Tree.of(0, {2: 0, 1: 2})
    ring = Graph.of(3, [(0, 1), (0, 2), (2, 1)])
    for messages, changed in ((3, False), (5, True)):
        sample = Demand.from_sets([1, 2], [{1}] * messages + [{2}] * 20)
        apart = Signatures.of({0: sample}, {0: np.full(messages + 20, weight)})
        found = masked.justified(ring, [around], [direct], apart, 2, 0.002)
        assert (direct in found) == changed


def test_a_replanned_tree_grows_to_new_gateways(graph: Graph) -> None:
    few = Demand.from_sets(GATEWAYS[:4], [set(GATEWAYS[:4])] * 20)
    old = masked.plan(graph, {2: few}, 2, np.random.default_rng(0))
    new = masked.replan(graph, old, {2: groups(3), 11: groups(4)}, 2, np.random.default_rng(0), 10_000)
    assert all(tree.nodes >= {2, 11, *GATEWAYS} for tree in new.trees)


def test_settling_lowers_the_mean_and_ends_when_that_no_longer_pays(graph: Graph) -> None:
    seen = Signatures.of({2: groups(3, kinds=40)})
    search = masked.Search(graph, seen, 6, np.random.default_rng(0))
    search.run(20_000)
    before = seen.mean(seen.counts(graph, search.trees).min(axis=0))
    search.settle()
    settled = seen.mean(seen.counts(graph, search.trees).min(axis=0))
    search.polish()
    assert settled < before
    assert seen.mean(seen.counts(graph, search.trees).min(axis=0)) > 0.99 * settled


def test_a_proposal_may_start_from_the_tree_of_one_message_alone(graph: Graph) -> None:
    seen = Signatures.of({2: groups(3), 9: groups(4)})
    search = masked.Search(graph, seen, 4, np.random.default_rng(0))
    everybody = {2, 9, *GATEWAYS}
    for search.proposals in (1, 2):
        for anchor in range(len(seen)):
            start = as_tree(search._start(anchor))
            assert start.nodes >= everybody
    assert start.root == int(seen.source[-1])


def test_signatures_do_not_depend_on_the_order_of_messages() -> None:
    sets = [{4, 8}, {0}, set(), {4, 8}, {0, 8}]
    one = Signatures.of({2: Demand.from_sets(GATEWAYS, sets)})
    other = Signatures.of({2: Demand.from_sets(GATEWAYS, sets[::-1])})
    assert one.wanted.tolist() == other.wanted.tolist()
    assert one.weight.tolist() == other.weight.tolist()
    assert (len(one), one.messages) == (3, 4)  # a message that nobody wants is none


def test_a_sample_is_divided_by_message() -> None:
    whole = Signatures.of({2: groups(3, count=1_000)})
    seen, apart = whole.divided(0.1, np.random.default_rng(0))
    assert seen.messages + apart.messages == 1_000
    assert 60 < apart.messages < 140
    assert len(seen) == len(apart) == len(whole) == 6  # heavy ones are on both sides
    two = Signatures.of({2: Demand.from_sets(GATEWAYS, [{0}, {4}])}).divided(0.0, np.random.default_rng(0))
    assert [part.messages for part in two] == [1, 1]


def test_a_mask_is_bits_or_numbers_whichever_is_shorter() -> None:
    assert mask_bytes(120, np.array([0, 1, 14, 15, 16, 120])).tolist() == [1, 2, 15, 16, 16, 16]
    assert mask_bytes(300, np.array([1, 18, 19, 300])).tolist() == [3, 37, 39, 39]
    assert interested(Demand.from_sets([3, 5, 9], [{3}, set(), {3, 5, 9}])).tolist() == [1, 0, 3]
