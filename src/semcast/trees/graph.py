"""An overlay as arrays: what shortest paths and trees are computed on.

Brokers are nodes 0 … n-1. Every link is two arcs; the arcs of a node are in ascending order of where they
lead. All ties are broken by the smaller node number, so results depend on nothing but the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.trees import kernels

_EXACT = 1000  # brokers up to which the paths from all of them take less than a second
_SWEEPS = 8


def hop_diameter(graph: Graph) -> tuple[int, bool]:
    """The longest of all shortest ways, and whether that is exact.

    Up to 1,000 brokers all are looked at. Beyond, each of a few sweeps starts where the one before ended farthest: a
    lower bound, on random graphs seldom more than a link below.
    """
    hops = Graph.of(graph.num_nodes, graph.ends)
    if hops.num_nodes <= _EXACT:
        return max(int(hops.paths(node).distance.max()) for node in range(hops.num_nodes)), True
    node, farthest = 0, 0
    for _ in range(_SWEEPS):
        distance = hops.paths(node).distance
        node, farthest = int(np.argmax(distance)), max(farthest, int(distance.max()))
    return farthest, False


IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
Weight = Literal["cost", "delay"]


@dataclass(frozen=True, eq=False)
class Graph:
    """A connected or unconnected undirected graph in compressed rows: the arcs of v are ``indptr[v]:indptr[v + 1]``."""

    indptr: IntArray
    heads: IntArray
    """Where each arc leads."""
    links: IntArray
    """Which link each arc belongs to."""
    costs: FloatArray
    """Per arc."""
    delays: FloatArray
    """Per arc, in ms."""
    ends: IntArray
    """Per link its two nodes, the smaller one first: shape (m, 2)."""

    @staticmethod
    def of(
        nodes: int,
        ends: Sequence[tuple[int, int]] | IntArray,
        costs: Sequence[float] | FloatArray | None = None,
        delays: Sequence[float] | FloatArray | None = None,
    ) -> Graph:
        """A graph from its links, in any order; links without costs or delays have 1."""
        pairs = np.asarray(ends, np.int32).reshape(-1, 2)
        pairs = np.sort(pairs, axis=1)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        pairs = np.ascontiguousarray(pairs[order])
        tails = np.concatenate((pairs[:, 0], pairs[:, 1]))
        heads = np.concatenate((pairs[:, 1], pairs[:, 0]))
        arcs = np.lexsort((heads, tails))
        links = np.concatenate((np.arange(len(pairs)),) * 2).astype(np.int32)[arcs]
        indptr = np.searchsorted(tails[arcs], np.arange(nodes + 1)).astype(np.int32)
        return Graph(indptr, heads[arcs], links, _of(costs, order)[links], _of(delays, order)[links], pairs)

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_links(self) -> int:
        return len(self.ends)

    @cached_property
    def reverse(self) -> IntArray:
        """Per arc the arc of the same link that leads back."""
        pairs = np.argsort(self.links, kind="stable").astype(np.int32).reshape(-1, 2)
        reverse = np.empty(len(self.links), np.int32)
        reverse[pairs[:, 0]], reverse[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
        return reverse

    @cached_property
    def link_costs(self) -> FloatArray:
        """Per link."""
        costs = np.empty(self.num_links)
        costs[self.links] = self.costs
        return costs

    def weights(self, weight: Weight) -> FloatArray:
        """What the arcs weigh."""
        return self.costs if weight == "cost" else self.delays

    def neighbours(self, node: int) -> IntArray:
        return self.heads[self.indptr[node] : self.indptr[node + 1]]

    def arc(self, tail: int, head: int) -> int:
        """The arc from one node to another; KeyError where they are not linked."""
        start, stop = int(self.indptr[tail]), int(self.indptr[tail + 1])
        place = start + int(np.searchsorted(self.heads[start:stop], head))
        if place == stop or self.heads[place] != head:
            raise KeyError((tail, head))
        return place

    @cached_property
    def _pairs(self) -> NDArray[np.int64]:
        """Per arc its ends as one number, ascending as the arcs are; in the end one that no pair has."""
        tails = np.repeat(np.arange(self.num_nodes, dtype=np.int64), np.diff(self.indptr))
        return np.append(tails * self.num_nodes + self.heads, self.num_nodes**2)

    def arcs(self, links: IntArray) -> NDArray[np.intp]:
        """The arcs of many links (tail, head); KeyError where two are not linked."""
        wanted = links[:, 0].astype(np.int64) * self.num_nodes + links[:, 1]
        places = np.searchsorted(self._pairs, wanted)
        found = self._pairs[places] == wanted
        if not found.all():
            raise KeyError(tuple(links[int(found.argmin())].tolist()))
        return places

    def paths(self, source: int, weight: Weight = "cost") -> Paths:
        """Shortest paths from ``source`` to all; O(m log n)."""
        distance = np.full(self.num_nodes, np.inf)
        parent = np.full(self.num_nodes, -1, np.int32)
        kernels.shortest_paths(self.indptr, self.heads, self.weights(weight), source, distance, parent)
        return Paths(source, distance, parent)

    def unreached(self, source: int) -> IntArray:
        """The nodes that no path leads to."""
        return np.flatnonzero(np.isinf(self.paths(source).distance)).astype(np.int32)


class Paths(NamedTuple):
    """Shortest paths from one node, as a tree: of equally short ways, each node takes the smallest parent."""

    source: int
    distance: FloatArray
    parent: IntArray
    """The node before each on its way from the source; -1 for the source and for what is not reached."""

    def to(self, target: int) -> list[int]:
        """The nodes from the source to ``target``, both included; ValueError if there is no way."""
        if not np.isfinite(self.distance[target]):
            raise ValueError(f"no way from node {self.source} to node {target}")
        nodes = [target]
        while nodes[-1] != self.source:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]


def _of(values: Sequence[float] | FloatArray | None, order: NDArray[np.intp]) -> FloatArray:
    if values is None:
        return np.ones(len(order))
    return np.asarray(values, np.float64)[order]
