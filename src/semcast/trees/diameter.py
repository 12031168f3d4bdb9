"""How far apart the brokers of an overlay are at most, in links."""

from __future__ import annotations

import numpy as np

from semcast.trees.graph import Graph

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
