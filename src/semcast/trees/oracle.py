"""The least a message can cost: a tree over exactly the gateways that want it, found anew for each message.

No system could run it; it is what all others are measured against. Beside what local search finds stands a
certified lower bound, so that a weak search cannot flatter anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from semcast.trees.demand import Demand
from semcast.trees.graph import FloatArray, Graph
from semcast.trees.steiner import THOROUGH, Effort, certified


class OracleCosts(NamedTuple):
    """What sampled messages would cost at least, each."""

    messages: np.ndarray[tuple[int], np.dtype[np.int64]]
    """Which ones were looked at, ascending."""
    found: FloatArray
    """Links of the best tree that local search found."""
    bound: FloatArray
    """Links that no tree can do without."""


class Oracle:
    """Near-optimal trees from one source, kept by their sets of gateways."""

    def __init__(self, graph: Graph, source: int, effort: Effort = THOROUGH) -> None:
        # A transmission counts 1 on every link, whatever the link costs.
        self._graph = Graph.of(graph.num_nodes, graph.ends)
        self._source = source
        self._effort = effort
        self._known: dict[tuple[int, ...], tuple[float, float]] = {}

    def cost(self, gateways: tuple[int, ...]) -> tuple[float, float]:
        """Links of the best tree known, and a lower bound on any; the same for the same set."""
        known = self._known.get(gateways)
        if known is None:
            found = certified(self._graph, self._source, gateways, self._effort)
            known = self._known[gateways] = (found.tree.cost, found.bound)
        return known

    def costs(
        self, demand: Demand, most: int, rng: np.random.Generator, done: Callable[[int], None] = lambda _: None
    ) -> OracleCosts:
        """Of all messages, or of ``most`` drawn at random; ``done`` hears how many are finished."""
        count = min(most, demand.messages)
        chosen = np.sort(rng.choice(demand.messages, count, replace=False)).astype(np.int64)
        found = np.zeros((2, count))
        for place, gateways in enumerate(demand.only(chosen).sets()):
            found[:, place] = self.cost(gateways)
            done(place + 1)
        return OracleCosts(chosen, found[0], found[1])
