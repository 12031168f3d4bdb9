"""Places for brokers that have none, so that a drawing shows who is near whom."""

from __future__ import annotations

import numpy as np

from semcast.trees.graph import FloatArray, Graph
from semcast.trees.topology import Topology

_ROUNDS = 120
_FORCES = 2000  # brokers up to which repulsion between all pairs is worth its O(n²)


def places(topology: Topology) -> FloatArray:
    """Where each broker is drawn, shape (n, 2): its own place, or one that follows from its links.

    If some brokers have places, the others stand in the middle of their neighbours; if none has, a spectral layout is
    loosened by forces. Depends on nothing but the topology.
    """
    given = [(b.x, b.y) if b.x is not None and b.y is not None else (np.nan, np.nan) for b in topology.brokers]
    at = np.array(given, np.float64)
    missing = np.isnan(at[:, 0])
    if missing.all():
        return laid_out(topology.graph)
    if missing.any():
        _between(topology.graph, at, missing)
    return at


def laid_out(graph: Graph) -> FloatArray:
    """A layout from links alone: O(rounds · n²) up to 2,000 brokers, beyond that spectral only."""
    at = _spectral(graph)
    if 2 < graph.num_nodes <= _FORCES:
        at = _loosened(graph, at)
    at -= at.min(axis=0)
    return np.asarray(at / (at.max() or 1.0))


def _spectral(graph: Graph) -> FloatArray:
    """The two slowest modes of a random walk on the graph, by repeated averaging over neighbours.

    Starts from fixed waves, so that no chance is needed.
    """
    nodes = graph.num_nodes
    tails = np.repeat(np.arange(nodes), np.diff(graph.indptr))
    degree = np.maximum(1, np.diff(graph.indptr)).astype(np.float64)
    number = np.arange(nodes)
    at = np.stack((np.cos(number * 2.399963), np.sin(number * 2.399963)), axis=1)
    for _ in range(_ROUNDS):
        mean = np.stack([np.bincount(tails, at[graph.heads, axis], nodes) for axis in (0, 1)], axis=1)
        at = (at + mean / degree[:, None]) / 2
        at -= (degree[:, None] * at).sum(axis=0) / degree.sum()
        first, second = at[:, 0], at[:, 1]
        first /= np.sqrt((degree * first**2).sum()) or 1.0
        second -= first * (degree * first * second).sum()
        second /= np.sqrt((degree * second**2).sum()) or 1.0
    return at


def _loosened(graph: Graph, at: FloatArray) -> FloatArray:
    """Links pull, brokers push (Fruchterman and Reingold 1991), with steps that shrink."""
    nodes = graph.num_nodes
    # Brokers with the same neighbours fall on one place above; a turn around it sets them apart.
    number = np.arange(nodes)
    at = at / (np.abs(at).max() or 1.0) + 0.02 * np.stack((np.cos(number), np.sin(number)), axis=1)
    ideal = 2 / np.sqrt(nodes)
    ends = graph.ends
    for step in np.linspace(0.2, 0.005, _ROUNDS):
        apart = at[:, None] - at
        square = (apart**2).sum(axis=2) + 1e-9
        move = (apart * (ideal**2 / square)[:, :, None]).sum(axis=1)
        along = at[ends[:, 0]] - at[ends[:, 1]]
        pull = along * np.hypot(along[:, 0], along[:, 1])[:, None] / ideal
        for axis in (0, 1):
            move[:, axis] -= np.bincount(ends[:, 0], pull[:, axis], nodes)
            move[:, axis] += np.bincount(ends[:, 1], pull[:, axis], nodes)
        length = np.hypot(move[:, 0], move[:, 1]) + 1e-12
        at = at + move * (np.minimum(length, step) / length)[:, None]
    return at


def _between(graph: Graph, at: FloatArray, missing: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> None:
    """Give the brokers without a place the middle of their neighbours', inwards from those that have one."""
    todo = np.flatnonzero(missing)
    spread = np.ptp(at[~missing], axis=0).max() or 1.0
    while len(todo):
        placed = {
            int(node): at[near].mean(axis=0)
            for node in todo
            if len(near := [other for other in graph.neighbours(int(node)) if not np.isnan(at[other, 0])])
        }
        for node, middle in placed.items():
            at[node] = middle + 0.03 * spread * np.array([np.cos(node), np.sin(node)])
        todo = np.flatnonzero(np.isnan(at[:, 0]))
