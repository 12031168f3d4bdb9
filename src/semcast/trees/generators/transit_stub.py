"""Transit-stub graphs (Zegura, Calvert and Bhattacharjee 1996): GT-ITM's model of an internet of domains.

Transit domains are linked to each other, and each is a graph of transit nodes. Stub domains, each a small graph,
hang at transit nodes; a few extra links lead from stubs to other transit nodes and to other stubs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from semcast.trees.generators.domains import Domains, TransitStub
from semcast.trees.generators.sketch import BoolArray, Sketch, num_links, parts_of
from semcast.trees.graph import FloatArray, IntArray
from semcast.trees.topology import TopologyError

_EDGES = {"top": 0.5, "transit": 0.6, "stub": 0.42}  # of GT-ITM's own examples


class _Pool(NamedTuple):
    """The links there may be inside domains and between transit domains, each with a number drawn from [0, 1)."""

    ends: IntArray
    draws: FloatArray
    probability: FloatArray
    """Of each, where edge probabilities are given."""
    holds: BoolArray
    """The links that are needed: they make every domain connected in itself, and then the transit domains."""


def transit_stub(
    brokers: int,
    rng: np.random.Generator,
    degree: float | None = None,
    parameters: TransitStub | None = None,
) -> Sketch:
    """Exactly ``brokers`` nodes, the transit nodes first; the stub nodes are the network's edge.

    With a degree, one probability for all links inside domains and between transit domains follows from it; with
    edge probabilities, the degree is what comes out. Time and memory: O(n + m + pairs of nodes inside domains).
    """
    given = parameters or TransitStub()
    if degree is not None and given.has_probabilities:
        raise TopologyError("edge probabilities and the degree decide the same thing: give one of them")
    links = num_links(brokers, degree)
    domains = Domains.draw(brokers, given.sizes(brokers), rng)
    room = None if given.has_probabilities else links - (brokers - 1)
    count = _extras(given, len(domains.stubs), room)
    pool = _pool(domains, given, rng)
    attached = np.array([(host, rng.choice(stub)) for host, stub in zip(domains.hosts, domains.stubs, strict=True)])
    known = attached.astype(np.int32).reshape(-1, 2)
    for drawn, number in zip((_stub_to_transit, _stub_to_stub), count, strict=True):
        known = np.concatenate((known, drawn(domains, known, number, rng)))
    if given.has_probabilities:
        chosen = pool.holds | (pool.draws < pool.probability)
    else:
        chosen = _fill(pool, links - len(known))
    known = np.concatenate((known, pool.ends[chosen]))
    if not given.has_probabilities:  # domains that are full leave the rest to links between any two
        known = np.concatenate((known, _anywhere(brokers, known, links - len(known), rng)))
    told = _told(domains, brokers, count, float(chosen.mean()) if len(chosen) else 0.0)
    return Sketch(domains.place(rng), known, np.arange(brokers) >= domains.num_transit, told)


def _extras(given: TransitStub, stubs: int, room: int | None) -> tuple[int, int]:
    """Extra transit-stub and stub-stub links: by default for a tenth of the stubs each, where the degree has room."""
    most = stubs // 10 if room is None else min(stubs // 10, room // 4)
    wanted = (given.extra_transit_stub, given.extra_stub_stub)
    to_transit, to_stub = (most if number is None else number for number in wanted)
    if room is not None and to_transit + to_stub > room:
        raise TopologyError(f"the degree leaves room for {room} extra links, not {to_transit + to_stub}")
    return to_transit, to_stub


def _pool(domains: Domains, given: TransitStub, rng: np.random.Generator) -> _Pool:
    inside = [_pairs(len(nodes)) + nodes[0] for nodes in (*domains.stubs, *domains.transit)]
    between = _pairs(len(domains.transit))
    top = [(rng.choice(domains.transit[a]), rng.choice(domains.transit[b])) for a, b in between]
    ends = np.concatenate([*inside, np.asarray(top, np.int32).reshape(-1, 2)])
    levels = np.repeat([0, 1], [sum(map(len, inside)), len(top)])
    draws = rng.random(len(ends))
    # Links between domains are taken last, so that a domain never hangs together only through others.
    order = np.lexsort((draws, levels))
    holds = np.empty(len(ends), np.bool_)
    holds[order] = parts_of(int(domains.num_transit + sum(map(len, domains.stubs))), ends[order])[1]
    in_transit = ends[:, 0] < domains.num_transit
    edges = [given.stub_edges, given.transit_edges, given.top_edges]
    stub, transit, upper = (
        default if value is None else value
        for value, default in zip(edges, (_EDGES["stub"], _EDGES["transit"], _EDGES["top"]), strict=True)
    )
    probability = np.where(levels == 1, upper, np.where(in_transit, transit, stub))
    return _Pool(ends, draws, probability, holds)


def _fill(pool: _Pool, links: int) -> BoolArray:
    """The links that are needed and, of the others, those with the smallest draws: ``links`` in all, or all."""
    chosen = pool.holds.copy()
    others = np.flatnonzero(~chosen)
    chosen[others[np.argsort(pool.draws[others])][: max(0, links - int(chosen.sum()))]] = True
    return chosen


def _stub_to_transit(domains: Domains, known: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    transit, nodes = domains.num_transit, len(domains.stub_of())

    def draw(size: int) -> IntArray:
        return np.stack((rng.integers(transit, size=size), rng.integers(transit, nodes, size=size)), axis=1)

    room = transit * (nodes - transit) - len(known)
    return _draw(draw, nodes, known, count, room, "transit-stub") if count else known[:0]


def _stub_to_stub(domains: Domains, known: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    stub_of, transit = domains.stub_of(), domains.num_transit
    nodes = len(stub_of)

    def draw(size: int) -> IntArray:
        pairs = np.sort(rng.integers(transit, nodes, size=(size, 2)), axis=1)
        return np.asarray(pairs[stub_of[pairs[:, 0]] != stub_of[pairs[:, 1]]])

    stub_nodes = nodes - transit
    room = stub_nodes * (stub_nodes - 1) // 2 - sum(len(stub) * (len(stub) - 1) // 2 for stub in domains.stubs)
    return _draw(draw, nodes, known, count, room, "stub-stub") if count else known[:0]


def _anywhere(nodes: int, known: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    def draw(size: int) -> IntArray:
        pairs = np.sort(rng.integers(nodes, size=(size, 2)), axis=1)
        return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])

    return _draw(draw, nodes, known, count, count, "") if count > 0 else known[:0]


def _draw(draw: Callable[[int], IntArray], nodes: int, known: IntArray, count: int, room: int, what: str) -> IntArray:
    """``count`` different pairs (smaller node first) that are not known yet."""
    if count > room:
        raise TopologyError(f"there is room for {room} extra {what} links, not {count}")
    taken = np.sort(known, axis=1) @ np.array([nodes, 1])
    found = np.empty(0, np.int64)
    while len(found) < count:
        drawn = draw(max(1024, 2 * (count - len(found)))).astype(np.int64) @ np.array([nodes, 1])
        drawn = drawn[~np.isin(drawn, taken)]
        found = np.concatenate((found, drawn))
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return np.stack(np.divmod(found[:count], nodes), axis=1).astype(np.int32)


def _pairs(nodes: int) -> IntArray:
    return np.stack(np.triu_indices(nodes, 1), axis=1).astype(np.int32)


def _told(domains: Domains, brokers: int, extra: tuple[int, int], probability: float) -> dict[str, float]:
    transit, stubs = domains.num_transit, len(domains.stubs)
    return {
        "transit_domains": len(domains.transit),
        "transit_nodes": transit / len(domains.transit),
        "stubs": stubs / transit,
        "stub_nodes": (brokers - transit) / max(1, stubs),
        "extra_transit_stub": extra[0],
        "extra_stub_stub": extra[1],
        "edge_probability": probability,
    }
