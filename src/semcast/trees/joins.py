"""How a gateway joins a dissemination tree (2005 §4, 2004 §4).

*Low-cost*: by the cheapest path to the closest destination of the channel, hop by hop until the first broker
that is on the tree. This is an incremental, distributed relative of Takahashi and Matsuyama's Steiner trees.
*Delay-bounded*: the same, and where that is too far from the root, by the shortest path to the connection
node's parent, its parent, and so on.

Of equally close destinations the smaller node is taken, of equally cheap paths the one of Graph.paths.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from semcast.trees.graph import Graph, Paths, Weight
from semcast.trees.tree import Change, DisseminationTree

Closest = Literal["destination", "broker"]
"""What a gateway looks for: the papers' text says destination; joining the closest broker on the tree is cheaper."""
_ROUNDING = 1e-9  # delays are sums of floats, in an order that depends on the way


class Routes:
    """Shortest paths from the brokers that ask, kept while there is room.

    One broker's paths over 10,000 are 120 KB; nobody ever needs those between all pairs.
    """

    def __init__(self, graph: Graph, max_bytes: int = 1 << 28) -> None:
        self.graph = graph
        self._room = max(8, max_bytes // (12 * graph.num_nodes))
        self._kept: OrderedDict[tuple[int, Weight], Paths] = OrderedDict()

    def of(self, node: int, weight: Weight = "cost") -> Paths:
        """The shortest paths from ``node`` to all."""
        key = (node, weight)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self.graph.paths(node, weight)
            if len(self._kept) > self._room:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return found


class BoundedJoin(NamedTuple):
    """How a join with a delay bound ended."""

    met: bool
    """Does the gateway get its messages within the bound? If not, its clients are to be told."""
    delay_ms: float
    """From the root to the gateway along the tree; infinity if it was not joined."""
    climbs: int
    """How often the join request was passed on to a parent."""
    change: Change


def join(tree: DisseminationTree, gateway: int, routes: Routes, closest: Closest = "destination") -> Change:
    """Join by the low-cost rule; the first destination joins the root. Joining twice changes nothing."""
    if gateway in tree.destinations:
        return Change()
    return tree.attach(_low_cost_path(tree, gateway, routes, closest))


def join_within(
    tree: DisseminationTree,
    gateway: int,
    bound_ms: float,
    routes: Routes,
    closest: Closest = "destination",
    *,
    fallback: bool = True,
) -> BoundedJoin:
    """Join so that messages are at most ``bound_ms`` under way from the root.

    The bound holds for this gateway and, once met, for all who joined before, whoever joins or leaves later.
    It cannot be met only if the shortest path from the root is too long; then the gateway is joined by that
    path (``fallback``) or not at all.
    """
    bound_ms += _ROUNDING * max(1.0, bound_ms)
    path = _low_cost_path(tree, gateway, routes, closest)
    if tree.delay_ms[path[0]] + _delay(tree.graph, path) <= bound_ms:
        return BoundedJoin(True, *_attached(tree, path, 0))
    climbs, node = 0, path[0]
    ways = routes.of(gateway, "delay")
    while node != tree.root:
        node = tree.parent[node]
        climbs += 1
        if tree.delay_ms[node] + ways.distance[node] <= bound_ms:
            return BoundedJoin(True, *_attached(tree, _shortcut(tree, node, ways, bound_ms), climbs))
    shortest = float(ways.distance[tree.root])
    met = shortest <= bound_ms
    if not met and not fallback:
        return BoundedJoin(False, np.inf, climbs, Change())
    return BoundedJoin(met, *_attached(tree, _shortcut(tree, tree.root, ways, max(bound_ms, shortest)), climbs))


def low_cost_tree(
    routes: Routes, root: int, gateways: Iterable[int], closest: Closest = "destination"
) -> DisseminationTree:
    """The tree that comes about when ``gateways`` join one after the other."""
    tree = DisseminationTree(routes.graph, root)
    for gateway in gateways:
        join(tree, gateway, routes, closest)
    return tree


def _low_cost_path(tree: DisseminationTree, gateway: int, routes: Routes, closest: Closest) -> list[int]:
    """From the first broker on the tree, met on the way to the closest target, to the gateway."""
    if gateway in tree:
        return [gateway]
    ways = routes.of(gateway)
    targets = np.fromiter(sorted(tree.destinations if closest == "destination" else tree), np.int64)
    target = int(targets[ways.distance[targets].argmin()]) if len(targets) else tree.root
    path = [target]
    while path[-1] != gateway:
        path.append(int(ways.parent[path[-1]]))
    first = max(place for place, node in enumerate(path) if node in tree)
    return path[first:]


def _shortcut(tree: DisseminationTree, node: int, ways: Paths, bound_ms: float) -> list[int]:
    """The shortest path from ``node`` to the gateway, from the last broker on it that is near enough to the root.

    Brokers of the tree that come later on the path are farther from the root than the path makes them, so none
    of them is above an earlier one, and re-hanging them closes no loop and delays nobody.
    """
    path = [node]
    while path[-1] != ways.source:
        path.append(int(ways.parent[path[-1]]))
    near = [
        place
        for place, broker in enumerate(path)
        if broker in tree and tree.delay_ms[broker] + ways.distance[broker] <= bound_ms
    ]
    return path[max(near) :]


def _attached(tree: DisseminationTree, path: list[int], climbs: int) -> tuple[float, int, Change]:
    change = tree.attach(path)
    return tree.delay_ms[path[-1]], climbs, change


def _delay(graph: Graph, path: list[int]) -> float:
    return float(sum(graph.delays[graph.arc(a, b)] for a, b in pairwise(path)))
