"""What a message counts: twice the weight is the message twice, and no weight is no message."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.planning import masked
from semcast.planning.signatures import Signatures
from semcast.trees.demand import Demand
from semcast.trees.masked_tree import as_tree, spanning
from tests.laws.masked_worlds import World, worlds

pytestmark = pytest.mark.filterwarnings("error")


class Weighted(NamedTuple):
    world: World
    weights: list[list[float]]

    def signatures(self) -> Signatures:
        of = {source: np.array(own, np.float64) for source, own in zip(self.world.sources, self.weights, strict=True)}
        return Signatures.of(self.world.samples, of)

    def listed(self, times: float = 1) -> World:
        """The same with every message as often as it weighs."""
        sets = [
            [wanted for wanted, weight in zip(held, own, strict=True) for _ in range(round(times * weight))]
            for held, own in zip(self.world.sets, self.weights, strict=True)
        ]
        return self.world._replace(sets=sets)


@st.composite
def weighted(draw: st.DrawFn, weight: st.SearchStrategy[float]) -> Weighted:
    world = draw(worlds())
    return Weighted(world, [[draw(weight) for _ in held] for held in world.sets])


@settings(max_examples=40)
@given(case=weighted(st.sampled_from([0.0, 1.0, 2.0, 3.0])))
def test_a_message_of_weight_two_is_searched_for_as_two_messages(case: Weighted) -> None:
    one, other = case.signatures(), Signatures.of(case.listed().samples)
    assert one.wanted.tolist() == other.wanted.tolist()
    assert one.source.tolist() == other.source.tolist()
    assert (one.weight * other.messages).tolist() == (other.weight * one.messages).tolist()
    found = []
    for seen in (one, other):
        search = masked.Search(case.world.graph, seen, 3, np.random.default_rng(4))
        search.run(2_000)
        search.polish()
        found.append([tree.links.tolist() for tree in search.ordered()])
    assert found[0] == found[1]


@given(case=weighted(st.sampled_from([0.0, 0.25, 0.5, 1.75])))
def test_fractions_of_a_message_count_exactly(case: Weighted) -> None:
    graph = case.world.graph
    tree = as_tree(spanning(graph, case.world.sources[0], [*case.world.gateways, *case.world.sources]))
    one, other = case.signatures(), Signatures.of(case.listed(times=4).samples)
    assert one.wanted.tolist() == other.wanted.tolist()
    means = [seen.mean(seen.counts(graph, [tree])[0]) for seen in (one, other)]
    assert means[0] == pytest.approx(means[1], rel=1e-5)


@given(case=weighted(st.floats(0.01, 100)), seed=st.integers(0, 5))
def test_dividing_a_sample_loses_no_weight_and_no_message(case: Weighted, seed: int) -> None:
    whole = case.signatures()
    parts = whole.divided(0.3, np.random.default_rng(seed))
    assert sum(part.messages for part in parts) == whole.messages
    assert sum(part.count.sum() for part in parts) == whole.count.sum()
    assert all((part.weight > 0).all() for part in parts)


@given(world=worlds(), weight=st.sampled_from([1.0, 2.5, 1000.0]), times=st.integers(1, 8), seed=st.integers(0, 5))
def test_messages_that_count_alike_are_divided_as_if_nobody_had_weighed_them(
    world: World, weight: float, times: int, seed: int
) -> None:
    # Where every set comes equally often, a tenth of each must still be set apart, and not what rounding leaves of it.
    often = world._replace(sets=[held * times for held in world.sets])
    alike = {source: np.full(len(held), weight) for source, held in zip(often.sources, often.sets, strict=True)}
    found = []
    for signatures in (Signatures.of(often.samples, alike), Signatures.of(often.samples)):
        parts = signatures.divided(0.3, np.random.default_rng(seed))
        found.append([(part.wanted.tolist(), part.weight.tolist(), part.count.tolist()) for part in parts])
    assert found[0] == found[1]


@given(case=weighted(st.floats(0.01, 100)))
def test_the_search_rounds_weights_without_drifting(case: Weighted) -> None:
    whole = case.signatures()
    ends = whole.ends(case.world.graph.num_nodes)
    searched = sum(int(np.bitwise_count(ends.own[row]) @ ends.weight) for row in {ends.row[n] for n in whole.sources})
    if whole.grain > 1:  # the light ones of a few may be lost, their sum is not
        assert searched * whole.grain >= whole.messages - whole.grain


def test_what_is_recent_decides() -> None:
    """Two kinds of messages want different trees; the plan is made for the kind that still counts."""
    from semcast.trees.graph import Graph

    #     1
    #   0   3   from 0 by 1 or by 2; gateways 1 and 3 want the old messages, 2 and 3 the new ones
    #     2
    graph = Graph.of(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    sample = {0: Demand.from_sets([1, 2, 3], [{1, 3}] * 40 + [{2, 3}] * 40)}
    for old, new, way in ((0.01, 1.0, (2, 3)), (1.0, 0.01, (1, 3))):
        weights = {0: np.array([old] * 40 + [new] * 40)}
        plan = masked.plan(graph, sample, 1, np.random.default_rng(0), weights=weights)
        assert way in [tuple(sorted(link)) for link in plan.trees[0].links.tolist()]
        assert plan.validated == pytest.approx(2.0, abs=0.05)


def test_a_channel_is_kept_for_messages_that_count() -> None:
    """A second tree pays for old messages only; once they count little, it is not kept."""
    from semcast.trees.graph import Graph

    graph = Graph.of(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    sample = {0: Demand.from_sets([1, 2, 3], [{1, 3}] * 200 + [{2, 3}] * 200)}
    numbers = []
    for old in (1.0, 1e-4):
        weights = {0: np.array([old] * 200 + [1.0] * 200)}
        plan = masked.plan(graph, sample, 2, np.random.default_rng(0), least_gain=0.01, weights=weights)
        numbers.append(len(plan.trees))
    assert numbers == [2, 1]


def test_weights_that_make_no_sense_are_refused() -> None:
    sample = {0: Demand.from_sets([1], [{1}])}
    for wrong in (np.array([-1.0]), np.array([1.0, 1.0])):
        with pytest.raises(ValueError, match="a weight of 0 or more"):
            Signatures.of(sample, {0: wrong})
