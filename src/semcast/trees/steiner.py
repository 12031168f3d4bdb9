"""Cheap trees that join some terminals to a root: the shortest-path tree, Takahashi and Matsuyama's, local search.

The problem is NP-hard. ``local_search`` comes close to the optimum, and ``dual_ascent.lower_bound`` says how close.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.trees import exchange_kernels, steiner_kernels
from semcast.trees.dual_ascent import ROUNDS, DualAscent, canonical, generator
from semcast.trees.graph import FloatArray, Graph, IntArray, Weight
from semcast.trees.tree import Tree

_POOL = 8
_AGAIN = 4
_CLOSED = 50.0  # how much longer an arc counts that the dual ascent did not saturate


class Effort(NamedTuple):
    """How long a local search may take; all counted, nothing timed."""

    starts: int
    """Trees to start from. A third of them combine two good trees found before."""
    sideways: int
    """Moves per start that save nothing."""
    evaluations: int
    """Moves to look at, over all starts."""


QUICK = Effort(starts=5, sideways=20, evaluations=10_000)
THOROUGH = Effort(starts=30, sideways=20, evaluations=50_000)


@dataclass(frozen=True, eq=False)
class SteinerTree:
    """A tree that hangs at its root; all its leaves are terminals."""

    root: int
    pairs: IntArray
    """(parent, child) per link, each parent's own pair before; descendants of a node in one piece."""
    links: IntArray
    """The link of each pair."""
    cost: float

    @property
    def tree(self) -> Tree:
        """The same as a dissemination tree."""
        return Tree(self.root, self.pairs)

    @property
    def nodes(self) -> IntArray:
        """Every node once, the root first, parents before children."""
        return np.append(np.int32(self.root), self.pairs[:, 1]).astype(np.int32)

    def parents(self, nodes: int) -> IntArray:
        """Per node of a graph of that many nodes its parent; -1 for the root, -2 outside the tree."""
        parents = np.full(nodes, steiner_kernels.OUTSIDE, np.int32)
        parents[self.root] = steiner_kernels.ROOT
        parents[self.pairs[:, 1]] = self.pairs[:, 0]
        return parents


def shortest_path_tree(graph: Graph, root: int, terminals: Iterable[int], weight: Weight = "cost") -> SteinerTree:
    """The union of shortest paths, as ``Graph.paths`` breaks ties; ``cost`` counts link costs for any weight."""
    among = canonical(graph, root, terminals)
    paths = graph.paths(root, weight)
    apart = among[np.isinf(paths.distance[among])]
    if len(apart):
        raise ValueError(f"no way from node {root} to node {apart[0]}")
    steiner_kernels.prune(_wanted(graph, among), paths.parent)
    return _tree(graph, root, paths.parent)


def takahashi_matsuyama(graph: Graph, root: int, terminals: Iterable[int]) -> SteinerTree:
    """From the root on, always join the closest terminal by a shortest path; at most twice the optimum.

    Of equally close terminals the smallest, of equally short paths the smallest node before each.
    O(k · m log n) at worst; mostly that of two searches, since each goes on where the last one ended.
    """
    among = canonical(graph, root, terminals)
    return _tree(graph, root, _grown(graph, root, _wanted(graph, among), graph.costs))


class Certified(NamedTuple):
    """A tree, and what no tree for its terminals can do without."""

    tree: SteinerTree
    bound: float


def local_search(
    graph: Graph,
    root: int,
    terminals: Iterable[int],
    effort: Effort = THOROUGH,
    rng: np.random.Generator | None = None,
) -> SteinerTree:
    """The cheapest tree found from several starts; never dearer than Takahashi and Matsuyama's.

    Starts are trees grown along the arcs that rounds of dual ascent saturate, then trees grown along two trees
    found before; from Takahashi and Matsuyama's tree a start leads less far. Each is improved by exchanging key
    paths and dropping key vertices. Ends early when the tree costs no more than the dual ascent's bound, since it
    is optimal then, and when the cheapest tree has come up five times. Equal ``rng``, equal tree; without one, it
    is always the same.
    """
    return certified(graph, root, terminals, effort, rng, rounds=0).tree


def certified(
    graph: Graph,
    root: int,
    terminals: Iterable[int],
    effort: Effort = THOROUGH,
    rng: np.random.Generator | None = None,
    rounds: int = ROUNDS,
) -> Certified:
    """As ``local_search``, with the lower bound that its own dual ascent comes to.

    The ascent goes on to ``rounds`` rounds unless the tree is proved optimal before. A tenth to a third less work than
    a search and a ``lower_bound`` by itself; who wants to check the bound needs the cuts, which only the latter keeps.
    """
    among = canonical(graph, root, terminals)
    first = _tree(graph, root, _grown(graph, root, _wanted(graph, among), graph.costs))
    if len(among) <= 2:
        return Certified(first, first.cost)
    search = _Search(graph, root, among, effort, rng or np.random.default_rng(0))
    search.run()
    found = _tree(graph, root, search.pool[0].parent)
    best = found if found.cost < first.cost else first
    return Certified(best, min(search.bound(rounds, best.cost), best.cost))


class _Found(NamedTuple):
    cost: float
    parent: IntArray
    links: NDArray[np.bool_]


class _Search:
    """The best few trees found so far, different ones, cheapest first."""

    def __init__(self, graph: Graph, root: int, among: IntArray, effort: Effort, rng: np.random.Generator) -> None:
        self._graph = graph
        self._root = root
        self._among = among
        self._wanted = _wanted(graph, among)
        self._effort = effort
        self._rng = rng
        self._state = generator(rng)
        self._budget = np.array([effort.evaluations], np.int64)
        self._ascent = DualAscent(graph, root, among, rng, keep=False)
        self._rounds = 0
        self._again = 0
        self.pool: list[_Found] = []

    def run(self) -> None:
        guided = self._effort.starts - self._effort.starts // 3
        for start in range(self._effort.starts):
            if self.pool and (self._budget[0] <= 0 or self._again == _AGAIN or self.pool[0].cost <= self._ascent.value):
                return
            if start < guided or len(self.pool) < 2:
                self.improve(self._guided(start))
            else:
                self.improve(self._combined())

    def bound(self, rounds: int, enough: float) -> float:
        """What the ascent proves after ``rounds`` rounds in all, or as soon as it is ``enough``."""
        while self._rounds < rounds and self._ascent.value < enough:
            self._ascend()
        return self._ascent.value

    def improve(self, parent: IntArray) -> None:
        graph = self._graph
        cost = exchange_kernels.improve(
            graph.indptr, graph.heads, graph.costs, graph.ends, graph.link_costs, self._root, self._wanted, parent,
            self._effort.sideways, self._budget, self._state,
        )  # fmt: skip
        links = np.zeros(graph.num_links, np.bool_)
        links[_tree(graph, self._root, parent).links] = True
        known = [np.array_equal(links, other.links) for other in self.pool]
        if any(known):
            self._again += known[0]
            return
        if self.pool and cost < self.pool[0].cost:
            self._again = 0
        self.pool.append(_Found(cost, parent, links))
        self.pool.sort(key=lambda found: found.cost)
        del self.pool[_POOL:]

    def _guided(self, start: int) -> IntArray:
        """A tree along saturated arcs: by complementary slackness an optimal tree has no others, if the duals are."""
        graph = self._graph
        reduced = self._ascent.reduced if start == 0 else self._ascend()
        weights = np.where(reduced <= 1e-9 * graph.costs, graph.costs, _CLOSED * graph.costs)
        return _grown(graph, self._root, self._wanted, weights)

    def _ascend(self) -> FloatArray:
        self._rounds += 1
        return self._ascent.again()

    def _combined(self) -> IntArray:
        """A tree mostly along two trees, grown from any terminal (where it then hangs: ``span`` turns it)."""
        one, other = self._rng.choice(len(self.pool), 2, replace=False)
        shared = self.pool[one].links.astype(np.int8) + self.pool[other].links
        chance = self._rng.random(self._graph.num_links)
        factors = np.choose(shared, (1.5 + 1.5 * chance, 1.0 + chance, np.ones_like(chance)))
        start = int(self._rng.choice(self._among))
        return _grown(self._graph, start, self._wanted, self._graph.costs * factors[self._graph.links])


def _wanted(graph: Graph, among: IntArray) -> NDArray[np.uint8]:
    wanted = np.zeros(graph.num_nodes, np.uint8)
    wanted[among] = 1
    return wanted


def _grown(graph: Graph, root: int, wanted: NDArray[np.uint8], weights: FloatArray) -> IntArray:
    parent = np.empty(graph.num_nodes, np.int32)
    if steiner_kernels.grow(graph.indptr, graph.heads, weights, root, wanted, parent):
        apart = np.flatnonzero((wanted != 0) & (parent == steiner_kernels.OUTSIDE))
        raise ValueError(f"no way from node {root} to node {apart[0]}")
    return parent


def _tree(graph: Graph, root: int, parent: IntArray) -> SteinerTree:
    order = np.empty(graph.num_nodes, np.int32)
    count = steiner_kernels.preorder(root, parent, order)
    arcs = np.empty(count - 1, np.int32)
    steiner_kernels.arcs_of(graph.indptr, graph.heads, parent, order, count, arcs)
    pairs = np.stack((parent[order[1:count]], order[1:count]), axis=1)
    return SteinerTree(root, pairs, graph.links[arcs], math.fsum(graph.costs[arcs].tolist()))
