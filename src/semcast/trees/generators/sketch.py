"""A drawn graph that is no topology yet: places and links, without names, costs and roles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from semcast.trees.graph import FloatArray, IntArray
from semcast.trees.topology import Broker, Link, Topology, TopologyError


@njit("int32(int32[::1], int32)", cache=True, nogil=True)
def find(parent, node):  # type: ignore[no-untyped-def]
    """The root of a node; the way to it is halved, so that the next search is shorter."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit("void(int32[:, ::1], int32[::1], boolean[::1])", cache=True, nogil=True)
def forest(ends, part, holds):  # type: ignore[no-untyped-def]
    """Mark the links that join two parts when they are added in the order given.

    ``part`` comes with every node on its own (0 … n-1) and leaves with the smallest node of its part.
    """
    for link in range(len(ends)):
        a = find(part, ends[link, 0])
        b = find(part, ends[link, 1])
        if a != b:
            holds[link] = True
            part[max(a, b)] = min(a, b)
    for node in range(len(part)):
        part[node] = find(part, node)


Costs = Literal["unit", "distance"]
BoolArray = NDArray[np.bool_]

DEFAULT_DEGREE = 4.0
DIAGONAL = math.sqrt(2)
"""The largest distance in the unit square: Waxman's L."""
DIAGONAL_MS = 100.0
"""What the unit square's diagonal takes: as long as light in glass takes half way round the earth."""
LEAST_MS = 0.05
"""No link is faster: brokers in one place still have to forward."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """Nodes in the unit square and links between them: connected, no loop, no double."""

    positions: FloatArray
    """Shape (n, 2)."""
    ends: IntArray
    """Per link its two nodes: shape (m, 2)."""
    edge: BoolArray | None = None
    """The nodes at the network's edge, where gateways stand first; None: there is no difference."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """What the graph was drawn with, as far as it was not given."""

    def topology(self, costs: Costs = "unit") -> Topology:
        """Brokers b0 … without roles; delays by distance, costs 1 or the delay."""
        lengths = distances(self.positions, self.ends)
        delays = delays_ms(lengths).tolist()
        brokers = [Broker(f"b{i}", x, y) for i, (x, y) in enumerate(np.round(self.positions, 6).tolist())]
        links = [
            Link(f"b{a}", f"b{b}", 1.0 if costs == "unit" else delay, delay)
            for (a, b), delay in zip(self.ends.tolist(), delays, strict=True)
        ]
        return Topology.of(brokers, links)


def distances(positions: FloatArray, ends: IntArray) -> FloatArray:
    """How far apart the ends of each link are."""
    apart = positions[ends[:, 0]] - positions[ends[:, 1]]
    return np.asarray(np.hypot(apart[:, 0], apart[:, 1]))


def delays_ms(lengths: FloatArray) -> FloatArray:
    """Distances in the unit square as delays, to the microsecond."""
    delays: FloatArray = np.maximum(lengths / DIAGONAL * DIAGONAL_MS, LEAST_MS)
    return delays.round(3)


def num_links(brokers: int, degree: float | None) -> int:
    """How many links give this mean degree: exactly, up to rounding to a whole link (1/n of a degree).

    Without a degree it is the default one, or the nearest that so few brokers can have.
    """
    if brokers < 1:
        raise TopologyError(f"an overlay needs at least one broker, not {brokers}")
    least, most = brokers - 1, brokers * (brokers - 1) // 2
    if degree is None:
        return min(max(round(brokers * DEFAULT_DEGREE / 2), least), most)
    links = round(brokers * degree / 2) if math.isfinite(degree) else -1
    if not least <= links <= most:
        bounds = f"from {2 * least / brokers:.4g} (a tree) to {brokers - 1} (all linked to all)"
        raise TopologyError(f"{brokers} brokers that are connected have a mean degree {bounds}, not {degree:g}")
    return links


Joins = Callable[[int, IntArray], int]
"""Which of some nodes a node is joined to."""


def connected(nodes: int, ends: IntArray, rng: np.random.Generator, joins: Joins) -> IntArray:
    """Join the parts that ``ends`` leaves apart, and drop as many links that hold nothing together.

    GT-ITM draws a graph again until it is connected, which sparse graphs of many nodes never are. Here each
    part, from the largest down, is joined by one link, from a node drawn from it to the one that ``joins``
    chooses among all those joined before; a graph that is connected stays as it is. The number of links
    stays too, unless there are too few to drop (fewer than n-1 links in all).
    """
    shuffled = ends[rng.permutation(len(ends))]
    part, holds = parts_of(nodes, shuffled)
    groups = _groups(part)
    joined = np.concatenate(groups)
    added = np.empty((len(groups) - 1, 2), np.int32)
    before = len(groups[0])
    for at, group in enumerate(groups[1:]):
        node = int(rng.choice(group))
        added[at] = node, joins(node, joined[:before])
        before += len(group)
    spare = np.flatnonzero(~holds)[: len(added)]
    return np.concatenate((np.delete(shuffled, spare, axis=0), added))


def parts_of(nodes: int, ends: IntArray) -> tuple[IntArray, BoolArray]:
    """Per node the smallest node of its part, and which links hold the parts together."""
    part = np.arange(nodes, dtype=np.int32)
    holds = np.zeros(len(ends), np.bool_)
    forest(np.ascontiguousarray(ends, np.int32).reshape(-1, 2), part, holds)
    return part, holds


def _groups(part: IntArray) -> Sequence[IntArray]:
    """The nodes of each part, the largest part first."""
    order = np.argsort(part, kind="stable").astype(np.int32)
    cuts = np.flatnonzero(np.diff(part[order])) + 1
    return sorted(np.split(order, cuts), key=lambda group: (-len(group), int(group[0])))
