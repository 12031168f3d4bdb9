"""Graphs with a few hubs: preferential attachment (Barabási and Albert 1999), for any mean degree."""

from __future__ import annotations

import numpy as np

from semcast.trees.generators.sketch import Sketch, num_links
from semcast.trees.graph import IntArray


def power_law(brokers: int, rng: np.random.Generator, degree: float | None = None) -> Sketch:
    """Brokers come one after another and link to those before them, with chances in proportion to their degrees.

    Each brings m/n links on average: for a degree of 5 half of them two and half of them three. The share of
    brokers with degree k falls as k^-3. Connected by construction; b0 is the oldest. O(n + m) expected.
    """
    brings = _brings(brokers, num_links(brokers, degree), rng)
    ends: list[tuple[int, int]] = []
    stubs: list[int] = []  # every node as often as it has links: a draw from it is in proportion to degree
    for node in range(1, brokers):
        chosen = _targets(node, int(brings[node]), stubs, rng)
        ends += [(other, node) for other in chosen]
        stubs += chosen
        stubs += [node] * len(chosen)
    return Sketch(rng.random((brokers, 2)), np.asarray(ends, np.int32).reshape(-1, 2))


def _brings(brokers: int, links: int, rng: np.random.Generator) -> IntArray:
    """How many links each broker brings: as even as it can be, where node v can bring v at most."""
    rooms = np.arange(brokers)
    level = 0
    while np.minimum(rooms, level + 1).sum() <= links and level < brokers - 1:
        level += 1
    brings = np.minimum(rooms, level)
    if links > brings.sum():
        brings[rng.choice(np.flatnonzero(rooms > level), links - int(brings.sum()), replace=False)] += 1
    return brings.astype(np.int32)


def _targets(node: int, count: int, stubs: list[int], rng: np.random.Generator) -> list[int]:
    """``count`` different nodes before ``node``, ascending."""
    if 2 * count > node:  # drawing again what was drawn before would take long
        if count == node:
            return list(range(node))
        degrees = np.bincount(stubs, minlength=node).astype(np.float64)
        return sorted(rng.choice(node, count, replace=False, p=degrees / degrees.sum()).tolist())
    chosen: set[int] = set()
    while len(chosen) < count:
        missing = count - len(chosen)
        chosen.update(stubs[at] for at in rng.integers(len(stubs), size=missing).tolist())
    return sorted(chosen)
