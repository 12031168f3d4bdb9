"""Masked channels: few trees that each could carry every message, of which each message takes its cheapest.

A channel is a tree over all gateways and sources. A message goes over exactly one, with the set of its gateways as
a mask, and uses only the links that lead to them: an unused part of a tree costs nothing. So every tree is a
catch-all, no set of gateways is ever without a channel, and what counts is that the trees differ where it
matters. The plan that is sought minimises the mean over sampled messages of the lowest cost over the trees:
a k-median problem whose facilities are trees.

The search: draw a signature, take those most like it until they make up one to eight times a channel's share of the
messages, make a tree for them by link exchange under noise (``trees.masked_tree``), and take it in if that lowers
the mean; where there are as many channels as allowed, in the place of the one that is missed least. A signature
that nearly has a channel's share has a tree of its own made. Every other tree starts from the drawn signature's
own tree instead of one that is there: trees that descend from one another are too much alike.

What lost, on independent interests with 64 trees: k-means (improve each tree for its messages, choose anew), which
stalls after a few rounds, some 4 % dearer; exchanges judged by the mean of the lowest costs itself, which fit
the sample (0.8 % cheaper there, 0.1 % on other messages); sharing each message out among the trees that nearly suit
it, in proportion and ever more sharply (0.2 %).

A tenth of the sample is set apart. It decides how many of the channels are kept, and, when statistics drift, which
ones are worth a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from semcast.planning.signatures import Signatures, Uses
from semcast.trees import sliced
from semcast.trees.demand import Demand
from semcast.trees.graph import Graph, IntArray
from semcast.trees.masked_tree import anneal, as_tree, parents, pruned_cost, spanning
from semcast.trees.steiner import local_search, shortest_path_tree
from semcast.trees.tree import Tree

Stop = Literal["budget", "settled"]
VALIDATED = 0.1  # share of the sample that decides and is not searched on
LEAST_GAIN = 0.00005  # of the mean cost: what a channel must bring on the messages set apart
_SHARES = (1, 2, 4, 8)  # few for interests that recur, many for those that never do
_ALONE = 2 / 3  # of a channel's share: what a signature must weigh for a tree of its own
_PROPOSALS = 5  # per channel
_ROUNDS, _NOISE = 20, 1.0  # of the search for one tree
_PASSES, _LEAST_PASS = 8, 0.0005  # over all trees in the end, while one lowers the mean by so much of it
_BASE_ROUNDS, _BASE_NOISE = 120, 1.0  # of the tree for all messages, from which all others descend


@dataclass(frozen=True, eq=False)
class MaskedChannels:
    """Trees of which any carries any message, the one for all messages first, and how they were found."""

    gateways: IntArray
    """In the order of the bits of a mask."""
    sources: tuple[int, ...]
    trees: tuple[Tree, ...]
    cost: float
    """Mean transmissions of a message of the sample that the search saw."""
    validated: float
    """The same of the messages set apart."""
    single: float
    """The same, if all went over the first tree."""
    cuts: int
    """The budget used: how often a tree was cut and joined again."""
    proposals: int
    stopped: Stop
    """Whether the budget ended the search, or nothing was found for long."""


def plan(
    graph: Graph,
    samples: Mapping[int, Demand],
    channels: int,
    rng: np.random.Generator,
    budget: int | None = None,
    least_gain: float = LEAST_GAIN,
    weights: Mapping[int, NDArray[np.float64]] | None = None,
) -> MaskedChannels:
    """Find at most ``channels`` trees for what was sampled at each source; ``weights`` say what each message counts.

    Every tree spans all gateways and all sources, so a message has no leg. ``budget`` counts cuts; the default
    takes half a second for one channel and some 12 s for 64, with 600 brokers and 10,000 messages. ValueError where
    the overlay is not connected.
    """
    seen, apart = Signatures.of(samples, weights).divided(VALIDATED, rng)
    search = Search(graph, seen, channels, rng)
    search.run(default_budget(graph, channels) if budget is None else budget)
    search.settle()
    trees = kept(search.ordered(), apart.counts(graph, search.ordered()), apart, least_gain)
    return _found(search, apart, trees)


def replan(
    graph: Graph,
    old: MaskedChannels,
    samples: Mapping[int, Demand],
    channels: int,
    rng: np.random.Generator,
    budget: int | None = None,
    least_gain: float = 0.002,
    weights: Mapping[int, NDArray[np.float64]] | None = None,
) -> MaskedChannels:
    """Change a plan as little as new statistics justify.

    Trees first grow to what they do not span yet. Then a tree is replaced or added only if that alone lowers the mean
    cost of the messages set apart by ``least_gain`` of it, the best change first; the other trees stay as they are.
    """
    seen, apart = Signatures.of(samples, weights).divided(VALIDATED, rng)
    before = [_grown(graph, tree, seen) for tree in old.trees[:channels]]
    search = Search(graph, seen, channels, rng, before)
    search.run(default_budget(graph, channels) if budget is None else budget)
    offered = [tree for tree in search.trees if tree not in before]
    trees = justified(graph, before, offered, apart, channels, least_gain)
    return _found(search, apart, trees)


def default_budget(graph: Graph, channels: int) -> int:
    """Five proposals per channel, and the tree for all messages."""
    return graph.num_nodes * (2 * _BASE_ROUNDS + _PROPOSALS * (channels - 1) * (_ROUNDS + 10))


class Search:
    """Trees under way, with what each signature costs on each of them.

    Invariants: the first tree is the one for all messages and stays; the mean of the lowest costs never rises.
    """

    def __init__(
        self,
        graph: Graph,
        seen: Signatures,
        channels: int,
        rng: np.random.Generator,
        trees: Sequence[Tree] = (),
    ) -> None:
        if channels < 1:
            raise ValueError("at least one channel is needed")
        self.graph = graph
        self.seen = seen
        self.channels = channels
        self.rng = rng
        self.cuts = 0
        self.proposals = 0
        self.stopped: Stop = "settled"
        self.trees: list[Tree] = list(trees) or [self._base()]
        self._costs = np.zeros((channels, len(seen)), np.uint16)
        self._costs[: len(self.trees)] = seen.counts(graph, self.trees)
        self._drawn = np.zeros(len(seen), np.int64)
        self._rank()

    def run(self, budget: int) -> None:
        """Propose trees until the cuts are used up, or two proposals per channel in a row fail."""
        failed, patience = 0, 2 * self.channels + 16
        if self.channels == 1 or not len(self.seen):
            return
        while failed < patience:
            if self.cuts >= budget:
                self.stopped = "budget"
                return
            failed = 0 if self.propose() else failed + 1

    def propose(self) -> bool:
        """Make a tree for signatures like a random one; was it taken in?"""
        self.proposals += 1
        chance = self.seen.weight * self._need / (1 + self._drawn)
        anchor = int(self.rng.choice(len(self.seen), p=chance / chance.sum()))
        self._drawn[anchor] += 1
        ends = self.seen.ends(self.graph.num_nodes, self._like(anchor))
        found, cuts = anneal(self.graph, self._start(anchor), ends, self.rng, _ROUNDS, _NOISE)
        self.cuts += cuts
        tree = as_tree(found)
        return self._taken(tree, self.seen.counts(self.graph, [tree])[0])

    def settle(self) -> None:
        """Polish as long as that pays."""
        for _ in range(_PASSES):
            before = int(self._lowest @ self.seen.weight)
            self.polish()
            if before - int(self._lowest @ self.seen.weight) < _LEAST_PASS * before:
                return

    def polish(self) -> None:
        """Improve each tree but the first for the messages that take it, and for those that nearly do."""
        for place in range(1, len(self.trees)):
            over = self._costs[place].astype(np.int32) - self._lowest
            numbers = np.flatnonzero(over <= 2)
            if not len(numbers):
                continue
            ends = self.seen.ends(self.graph.num_nodes, numbers, 4 >> over[numbers])
            start = parents(self.trees[place], self.graph.num_nodes)
            found, cuts = anneal(self.graph, start, ends, self.rng, _ROUNDS, _NOISE)
            self.cuts += cuts
            tree = as_tree(found)
            costs = self.seen.counts(self.graph, [tree])[0]
            others = np.where(self._chosen == place, self._second, self._lowest)
            if np.minimum(others, costs) @ self.seen.weight < self._lowest @ self.seen.weight:
                self._put(place, tree, costs)

    def ordered(self) -> list[Tree]:
        """The first tree, then always the one that lowers the mean most."""
        costs = self._costs[: len(self.trees)].astype(np.int32)
        lowest, order, left = costs[0], [0], list(range(1, len(self.trees)))
        while left:
            gains = np.maximum(lowest - costs[left], 0) @ self.seen.weight
            best = left.pop(int(gains.argmax()))
            lowest = np.minimum(lowest, costs[best])
            order.append(best)
        return [self.trees[place] for place in order]

    def _base(self) -> Tree:
        """One tree for all messages: the better of two starts, a Steiner tree and one of shortest paths."""
        ends = self.seen.ends(self.graph.num_nodes)
        nodes = np.flatnonzero(ends.row >= 0).tolist()
        units = Graph.of(self.graph.num_nodes, self.graph.ends)
        if np.isinf(units.paths(ends.root).distance[nodes]).any():
            raise ValueError("the overlay is not connected")
        starts = [
            grow(units, ends.root, nodes).parents(self.graph.num_nodes) for grow in (local_search, shortest_path_tree)
        ]
        found = [anneal(self.graph, start, ends, self.rng, _BASE_ROUNDS, _BASE_NOISE) for start in starts]
        self.cuts += sum(cuts for _, cuts in found)
        return as_tree(min((parent for parent, _ in found), key=lambda parent: pruned_cost(parent, ends)))

    def _start(self, anchor: int) -> IntArray:
        """The tree that a signature takes, or, every other time, one for it alone that all others join."""
        if self.proposals % 2:
            return parents(self.trees[int(self._chosen[anchor])], self.graph.num_nodes)
        source = int(self.seen.source[anchor])
        alone = spanning(self.graph, source, self.seen.gateways[self.seen.wanted[anchor]].tolist())
        return spanning(self.graph, source, [*self.seen.gateways.tolist(), *self.seen.sources], alone)

    def _like(self, anchor: int) -> NDArray[np.int64]:
        """The signatures nearest to one, itself first, until they weigh one to eight times a channel's share.

        One that nearly has a channel's share by itself stays alone: with another as heavy it would get a tree for both,
        which is the one for all messages where there are two channels.
        """
        if self.channels * self.seen.weight[anchor] >= _ALONE * self.seen.messages:
            return np.array([anchor])
        near = self.seen.likeness(anchor)
        near[anchor] = np.inf
        order = np.argsort(-near, kind="stable")
        before = np.cumsum(self.seen.weight[order]) - self.seen.weight[order]
        share = int(self.rng.choice(_SHARES)) / self.channels
        return order[before < share * self.seen.messages]

    def _taken(self, tree: Tree, costs: Uses) -> bool:
        new = costs.astype(np.int32)
        gain = int(np.maximum(self._lowest - new, 0) @ self.seen.weight)
        if len(self.trees) < self.channels:
            place, loss = len(self.trees), 0
            if gain:
                self.trees.append(tree)
        else:
            without = np.minimum(self._second, new) - np.minimum(self._lowest, new)
            losses = np.bincount(self._chosen, weights=without * self.seen.weight, minlength=len(self.trees))
            place = 1 + int(losses[1:].argmin())
            loss = int(losses[place])
        if gain <= loss:
            return False
        self._put(place, tree, costs)
        return True

    def _put(self, place: int, tree: Tree, costs: Uses) -> None:
        self.trees[place] = tree
        self._costs[place] = costs
        self._rank()

    def _rank(self) -> None:
        chosen, lowest, second = np.zeros((3, len(self.seen)), np.uint16)
        sliced.two_lowest(self._costs[: len(self.trees)], chosen, lowest, second)
        self._chosen = chosen
        self._lowest = lowest.astype(np.int32)
        self._second = second.astype(np.int32)
        self._need = _need(self.seen, self._lowest)


def _need(seen: Signatures, lowest: NDArray[np.int32]) -> NDArray[np.float64]:
    """Who is served badly for so many gateways: e to the power of deviations from what as many cost on average.

    Costs are fitted per number of gateways, each as often as it comes: a hundredth of the rows, and the same parabola.
    """
    counts = np.bincount(seen.sizes)
    sizes = np.flatnonzero(counts)
    if len(sizes) < 2:
        return np.ones(len(seen))
    squares = np.vander(sizes / sizes[-1], 3)
    often = np.sqrt(counts[sizes])
    sums = np.bincount(seen.sizes, lowest)[sizes]
    fitted = squares @ np.linalg.lstsq(squares * often[:, None], sums / often)[0]
    over: NDArray[np.float64] = lowest - fitted[np.searchsorted(sizes, seen.sizes)]
    return np.exp(np.clip(over / max(float(over.std()), 1e-9), -4, 4))


def kept(trees: Sequence[Tree], costs: Uses, apart: Signatures, least_gain: float) -> list[Tree]:
    """As many of ``trees``, from the first on, as each bring ``least_gain`` of the cost of the messages set apart.

    A tree that brings less is kept if those after it make up for it. Never dearer there than the first alone.
    """
    if not apart.messages:
        return list(trees)
    means = [apart.mean(lowest) for lowest in np.minimum.accumulate(costs, axis=0)]
    charged = [mean + number * least_gain * means[0] for number, mean in enumerate(means)]
    return list(trees[: int(np.argmin(charged)) + 1])


def justified(
    graph: Graph, before: Sequence[Tree], offered: Sequence[Tree], apart: Signatures, channels: int, least_gain: float
) -> list[Tree]:
    """``before`` with the changes by ``offered`` trees that each gain enough on the messages set apart."""
    trees, left = list(before), list(offered)
    costs = apart.counts(graph, [*trees, *left]).astype(np.int64)
    now, new = costs[: len(trees)], costs[len(trees) :]
    while left and apart.messages:
        total = int(now.min(axis=0) @ apart.weight)
        places = range(len(trees)) if len(trees) >= channels else [len(trees)]
        best = min(
            (int(np.minimum(_without(now, place).min(axis=0), new[number]) @ apart.weight), number, place)
            for number in range(len(left))
            for place in places
        )
        _, number, place = best
        gains = now.min(axis=0) - np.minimum(_without(now, place).min(axis=0), new[number])
        if total - best[0] < max(least_gain * total, 1) or _by_chance(gains, apart):
            break
        now = np.insert(_without(now, place), min(place, len(now)), new[number], axis=0)
        trees[place : place + 1] = [left.pop(number)]
        new = np.delete(new, number, axis=0)
    return trees


def _by_chance(gains: NDArray[np.int64], apart: Signatures) -> bool:
    """Could so few messages show this gain where there is none? Less than two standard errors of the sum."""
    weighed = (gains * apart.weight).astype(np.float64)
    return bool(weighed.sum() ** 2 < 4 * (weighed**2 / np.maximum(apart.count, 1)).sum())


def _without(costs: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    """Without one row, or, where there is no such row, all; of no rows the lowest is out of reach."""
    left = np.delete(costs, place, axis=0) if place < len(costs) else costs
    return left if len(left) else np.full((1, costs.shape[1]), np.iinfo(np.uint16).max, np.int64)


def _grown(graph: Graph, tree: Tree, seen: Signatures) -> Tree:
    nodes = [*seen.gateways.tolist(), *seen.sources]
    if tree.nodes.issuperset(nodes):
        return tree
    return as_tree(spanning(graph, tree.root, nodes, parents(tree, graph.num_nodes)))


def _found(search: Search, apart: Signatures, trees: Sequence[Tree]) -> MaskedChannels:
    seen = search.seen
    judged = apart if apart.messages else seen
    validated = judged.counts(search.graph, trees)
    return MaskedChannels(
        seen.gateways,
        seen.sources,
        tuple(trees),
        seen.mean(seen.counts(search.graph, trees).min(axis=0)),
        judged.mean(validated.min(axis=0)),
        judged.mean(validated[0]),
        search.cuts,
        search.proposals,
        search.stopped,
    )
