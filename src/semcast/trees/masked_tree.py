"""Trees that are cheap when pruned: every message goes only where somebody wants it.

The cost of a tree is the expected number of its links that a message uses, so a link costs the share of messages
that have an end on either side of it: the price of two gateways' links is sub-additive, and the best tree lies
between shortest paths (gateways that never want the same) and a Steiner tree (gateways that always do). Finding
it is NP-hard with either end; here it is found by link exchange under noise.

One step cuts the tree at a node and joins its two parts again in the cheapest way there is, by any path through
nodes that are on neither: a node is thereby re-hung, a Steiner node won or lost, or the lower part hung up at
another of its nodes. Steps go on under prices of links that are noisy first and true in the end, so that they leave
poor optima.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.model.bits import Bits, bits
from semcast.trees import masked_kernels, rows
from semcast.trees.demand import Counts
from semcast.trees.graph import Graph, IntArray
from semcast.trees.tree import Tree

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ends:
    """Weighted messages, each as the nodes it must join: the gateways that want it and the source it comes from.

    Bit m of ``own[row[v]]``: message m has an end at node v. All messages of a word weigh the same.
    """

    row: IntArray
    own: Bits
    weight: Counts
    root: int
    rooted: bool
    """Does every message come from the root?"""

    @staticmethod
    def of(
        num_nodes: int,
        gateways: IntArray,
        wanted: Bools,
        sources: IntArray,
        weights: Counts,
        spanned: Sequence[int] = (),
    ) -> Ends:
        """From each message's wanted gateways (a row of ``wanted``), its source and its whole weight.

        All gateways stay on the tree whoever wants what, and so do nodes of ``spanned``. The tree hangs at the
        first source; without messages it hangs at the first of ``spanned``.

        A weight counts as its powers of two, each in words of their own, so the work grows with the number of
        messages and the logarithm of their weights.
        """
        entered = np.unique(sources)
        nodes = np.unique(np.concatenate((gateways, entered, np.array(spanned, np.int32))))
        row = np.full(num_nodes, -1, np.int32)
        row[nodes] = np.arange(len(nodes))
        parts, weight = [], []
        for power in range(int(weights.max(initial=1)).bit_length()):
            held = np.flatnonzero(weights >> power & 1)
            if len(held):
                message, gateway = np.nonzero(wanted[held])
                ends = np.concatenate((row[gateways[gateway]], row[sources[held]])).astype(np.int64)
                parts.append(bits(len(nodes), len(held), ends, np.concatenate((message, np.arange(len(held))))))
                weight.append(np.full(parts[-1].shape[1], 1 << power, np.int64))
        own = np.concatenate(parts, axis=1) if parts else np.zeros((len(nodes), 0), np.uint64)
        words = np.concatenate(weight) if weight else np.zeros(0, np.int64)
        root = int(entered[0]) if len(entered) else int(spanned[0])
        return Ends(row, np.ascontiguousarray(own), words, root, len(entered) <= 1)

    def spanned_by(self, parent: IntArray) -> bool:
        """Are all ends on the tree?"""
        return bool((parent[self.row >= 0] != rows.OFF).all())


class Improved(NamedTuple):
    """A tree, and how many cuts were tried to get it."""

    parent: IntArray
    cuts: int


def parents(tree: Tree, num_nodes: int) -> IntArray:
    """A tree as the search holds it: each node's parent, -1 for the root, OFF for nodes that are not on it."""
    parent = np.full(num_nodes, rows.OFF, np.int32)
    parent[tree.links[:, 1]] = tree.links[:, 0]
    parent[tree.root] = -1
    return parent


def as_tree(parent: IntArray) -> Tree:
    (root,) = np.flatnonzero(parent == -1).tolist()
    held = np.flatnonzero(parent >= 0)
    return Tree.of(root, dict(zip(held.tolist(), parent[held].tolist(), strict=True)))


def rooted_at(parent: IntArray, node: int) -> IntArray:
    """The same links, hung up at another node of the tree."""
    parent = parent.copy()
    below, above = node, int(parent[node])
    parent[node] = -1
    while above >= 0:
        further = int(parent[above])
        parent[above] = below
        below, above = above, further
    return parent


def pruned_cost(parent: IntArray, ends: Ends) -> int:
    """The links that all messages use, each as often as the message weighs."""
    hung = rooted_at(parent, ends.root)
    return int(rows.usage(hung, ends.row, ends.own, ends.weight, ends.rooted, ends.root))


def descend(graph: Graph, parent: IntArray, ends: Ends, rng: np.random.Generator, cuts: int) -> Improved:
    """Improve a tree until no single exchange does, or until ``cuts`` were tried; it never gets dearer."""
    return _steps(graph, parent, ends, rng, np.ones(len(graph.heads)), cuts)


def anneal(graph: Graph, parent: IntArray, ends: Ends, rng: np.random.Generator, rounds: int, noise: float) -> Improved:
    """Improve a tree under prices of links that are up to ``1 + noise`` and sink to 1 in ``rounds`` rounds.

    The result may be dearer than the tree was: whoever calls keeps the better one. A round tries every node once.
    """
    cuts = 0
    for done in range(rounds):
        prices = 1 + noise * (1 - done / rounds) * rng.random(graph.num_links)
        parent, tried = _steps(graph, parent, ends, rng, prices[graph.links], graph.num_nodes)
        cuts += tried
    parent, tried = descend(graph, parent, ends, rng, 50 * graph.num_nodes)
    return Improved(parent, cuts + tried)


def spanning(graph: Graph, root: int, nodes: Iterable[int], grown: IntArray | None = None) -> IntArray:
    """A cheap tree that spans ``nodes`` as far as there is a way: each joins by its shortest path, the closest first.

    Grows from the root, or from the tree ``grown``. Takahashi and Matsuyama's heuristic with unit costs;
    O(nodes · links).
    """
    parent = np.full(graph.num_nodes, rows.OFF, np.int32) if grown is None else grown.copy()
    if grown is None:
        parent[root] = -1
    rows.span(graph.indptr, graph.heads, np.array(sorted(nodes), np.int32), parent)
    return parent


def _steps(
    graph: Graph, parent: IntArray, ends: Ends, rng: np.random.Generator, prices: NDArray[np.float64], cuts: int
) -> Improved:
    parent = rooted_at(parent, ends.root)
    state = np.zeros(2)
    tried = 0
    # One order for all rounds: as many cuts in a row as there are nodes are then a cut at each of them.
    order = rng.permutation(graph.num_nodes).astype(np.int32)
    while tried < cuts and state[1] < graph.num_nodes:
        tried += masked_kernels.exchange(
            graph.indptr, graph.heads, prices, ends.row, ends.own, ends.weight, ends.rooted, ends.root, parent,
            order[: cuts - tried], graph.num_nodes, state,
        )  # fmt: skip
    return Improved(parent, tried)
