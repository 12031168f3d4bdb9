"""How many links a low-cost tree will have, without building it (2005 §3.2.2, cost approximation).

Gateways are taken to join in a random order: the first by a shortest path to the rendezvous point, each other by
one to the closest that joined before. Paths that share links are counted twice, so this is an overestimate;
a plan says by how much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semcast.trees import kernels
from semcast.trees.graph import FloatArray, IntArray
from semcast.trees.joins import Routes


class JoinEstimate:
    """Estimates for sets of gateways, as bit masks over ``gateways``, kept once made.

    The order of joining is drawn once, so a set has one estimate. O(|set|²) time each.
    """

    def __init__(self, routes: Routes, gateways: Sequence[int], rng: np.random.Generator) -> None:
        self._routes = routes
        self._gateways = np.asarray(gateways, np.int64)
        self._order: IntArray = rng.permutation(len(gateways)).astype(np.int32)
        self._between: FloatArray = np.ascontiguousarray(
            [routes.of(node).distance[self._gateways] for node in gateways]
        ).reshape(len(gateways), len(gateways))
        self._legs: dict[int, FloatArray] = {}
        self._known: dict[tuple[int, int], float] = {}

    def links(self, gateways: int, rendezvous: int) -> float:
        """The estimated cost of a tree from ``rendezvous`` (a node) to a set of gateways (a bit mask)."""
        key = (gateways, rendezvous)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._estimated(gateways, rendezvous)
        return found

    def _estimated(self, gateways: int, rendezvous: int) -> float:
        legs = self._legs.get(rendezvous)
        if legs is None:
            legs = self._legs[rendezvous] = self._routes.of(rendezvous).distance[self._gateways].copy()
        count = len(self._gateways)
        packed = np.frombuffer(gateways.to_bytes((count + 7) // 8, "little"), np.uint8)
        member = np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_)
        return float(kernels.joined(self._between, legs, self._order[member[self._order]]))
