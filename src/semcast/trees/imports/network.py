"""From a network as found to a topology: one link between two brokers, all connected, named, placed and delayed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from semcast.trees.generators.sketch import LEAST_MS, Costs, delays_ms, parts_of
from semcast.trees.graph import FloatArray
from semcast.trees.topology import Broker, Link, Topology, TopologyError, natural

KM_PER_MS = 299_792.458 * 2 / 3 / 1000
"""How far a signal gets in glass: two thirds of the speed of light."""
_EARTH_KM = 6371.0088


@dataclass(frozen=True)
class Node:
    """A node by its key in the file; ``x`` and ``y`` are longitude and latitude in a geographic network."""

    key: str
    name: str | None = None
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Edge:
    """A link as found; what is None follows from the distance."""

    a: str
    b: str
    cost: float | None = None
    delay_ms: float | None = None


@dataclass(frozen=True)
class Network:
    """Nodes and links as they were found: links may be double or loops, parts may be apart."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    geographic: bool = False


@dataclass(frozen=True)
class Changes:
    """What a network lost on its way to a topology."""

    loops: int = 0
    doubles: int = 0
    apart: int = 0
    """Brokers outside the largest connected part."""
    unplaced: int = 0
    """Brokers without coordinates: they stay, without a place."""
    guessed: int = 0
    """Links that have neither a delay nor coordinates at both ends: they get 1 ms."""

    def lines(self) -> list[str]:
        """What to tell, a line each."""
        told = {
            f"{self.loops:,} links from a node to itself were dropped": self.loops,
            f"{self.doubles:,} links between nodes that were linked already were dropped": self.doubles,
            f"{self.apart:,} nodes outside the largest connected part were dropped": self.apart,
            f"{self.unplaced:,} brokers have no coordinates, so no place": self.unplaced,
            f"{self.guessed:,} links have no delay and no coordinates at both ends: they get 1 ms": self.guessed,
        }
        return [line for line, count in told.items() if count]


def cleaned(network: Network, *, largest: bool = False, costs: Costs = "unit") -> tuple[Topology, Changes]:
    """A topology of the network. Unconnected parts are an error, unless only the ``largest`` is kept.

    Of several links between two nodes the smallest cost and the smallest delay count. Places are in the unit
    square. The result does not depend on the order of nodes and links.
    """
    nodes = sorted(network.nodes, key=lambda node: natural(node.key))
    number = {node.key: at for at, node in enumerate(nodes)}
    if len(number) < len(nodes):
        twice = next(key for key, times in Counter(node.key for node in nodes).items() if times > 1)
        raise TopologyError(f"two nodes have the id {twice!r}")
    loops, edges = _merged(network.edges, number)
    kept = _kept(len(nodes), list(edges), largest)
    at = _places([nodes[i] for i in kept], network.geographic)
    place = dict(zip(kept, at.tolist(), strict=True))
    ids = dict(zip(kept, _names([nodes[i] for i in kept]), strict=True))
    brokers = [Broker(ids[i]) if math.isnan(place[i][0]) else Broker(ids[i], place[i][0], place[i][1]) for i in kept]
    inside = {ends: edge for ends, edge in edges.items() if ends[0] in ids}
    links, guessed = [], 0
    for (a, b), edge in inside.items():
        delay = edge.delay_ms
        if delay is None:
            delay = _delay(network, nodes[a], nodes[b], place[a], place[b])
        guessed += delay is None
        delay = 1.0 if delay is None else delay
        cost = edge.cost if edge.cost is not None else (1.0 if costs == "unit" else delay)
        links.append(Link(ids[a], ids[b], cost, delay))
    doubles = len(network.edges) - loops - len(edges)
    unplaced = int(np.isnan(at).any(axis=1).sum())
    return Topology.of(brokers, links), Changes(loops, doubles, len(nodes) - len(kept), unplaced, guessed)


def _merged(found: Iterable[Edge], number: dict[str, int]) -> tuple[int, dict[tuple[int, int], Edge]]:
    """How many loops there are, and one link for each two nodes that have any."""
    loops, merged = 0, dict[tuple[int, int], Edge]()
    for edge in found:
        for end in (edge.a, edge.b):
            if end not in number:
                raise TopologyError(f"the link {edge.a!r}–{edge.b!r} names {end!r}, which is no node")
        if edge.a == edge.b:
            loops += 1
            continue
        a, b = sorted((number[edge.a], number[edge.b]))
        other = merged.get((a, b), edge)
        cost, delay = _least(edge.cost, other.cost), _least(edge.delay_ms, other.delay_ms)
        merged[a, b] = Edge(edge.a, edge.b, cost, delay)
    return loops, merged


def _least(one: float | None, other: float | None) -> float | None:
    given = [value for value in (one, other) if value is not None]
    return min(given) if given else None


def _kept(nodes: int, ends: list[tuple[int, int]], largest: bool) -> list[int]:
    """The nodes of the largest part (of equal ones, the first)."""
    if not nodes:
        raise TopologyError("the network has no nodes")
    part, _ = parts_of(nodes, np.asarray(ends, np.int32).reshape(-1, 2))
    sizes = np.bincount(part, minlength=nodes)
    if (sizes > 0).sum() > 1 and not largest:
        parts = int((sizes > 0).sum())
        raise TopologyError(
            f"the network is in {parts:,} parts that are not connected; the largest has {sizes.max():,} of {nodes:,} "
            "nodes: --largest-component keeps that one"
        )
    return [int(node) for node in np.flatnonzero(part == sizes.argmax())]


def _names(nodes: Sequence[Node]) -> list[str]:
    """A node's name where no other has it, else with its key: 'Frankfurt (12)'; without a name, its key."""
    wanted = [(node.name or "").strip() for node in nodes]
    times = Counter(wanted)
    names = [
        node.key if not name else name if times[name] == 1 else f"{name} ({node.key})"
        for node, name in zip(nodes, wanted, strict=True)
    ]
    # A key may happen to be another node's name.
    return names if len(set(names)) == len(names) else [node.key for node in nodes]


def _places(nodes: Sequence[Node], geographic: bool) -> FloatArray:
    """Coordinates scaled into the unit square, y upwards; NaN where a node has none."""
    at = np.array([(node.x, node.y) if None not in (node.x, node.y) else (None, None) for node in nodes], np.float64)
    known = ~np.isnan(at).any(axis=1)
    if not known.any():
        return at
    if geographic:
        at[known, 0] = _unrolled(at[known, 0])
        # Degrees of longitude are shorter than those of latitude, by the cosine of the latitude.
        middle = (at[known, 1].min() + at[known, 1].max()) / 2
        at[:, 0] *= max(0.1, math.cos(math.radians(middle)))
    at -= at[known].min(axis=0)
    scaled: FloatArray = at / (at[known].max() or 1.0)
    return scaled.round(6)


def _unrolled(longitudes: FloatArray) -> FloatArray:
    """Longitudes cut where no node is for longest, so that a network across the Pacific is not torn."""
    turned = np.sort(longitudes % 360)
    gaps = np.diff(turned, append=turned[0] + 360)
    cut = turned[(gaps.argmax() + 1) % len(turned)]
    return np.asarray((longitudes - cut) % 360)


def _delay(network: Network, a: Node, b: Node, at: list[float], to: list[float]) -> float | None:
    """Along the great circle at two thirds of the speed of light; on a plane, as in drawn topologies."""
    if a.x is None or a.y is None or b.x is None or b.y is None:
        return None
    if not network.geographic:
        return float(delays_ms(np.array([math.dist(at, to)]))[0])
    return round(max(LEAST_MS, great_circle_km(a.x, a.y, b.x, b.y) / KM_PER_MS), 3)


def great_circle_km(lon_a: float, lat_a: float, lon_b: float, lat_b: float) -> float:
    """The way between two places on a round earth (haversine formula)."""
    lon_a, lat_a, lon_b, lat_b = map(math.radians, (lon_a, lat_a, lon_b, lat_b))
    half = math.sin((lat_b - lat_a) / 2) ** 2
    half += math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * _EARTH_KM * math.asin(math.sqrt(min(1.0, half)))
