"""What it costs to get messages to the gateways that want them: link transmissions, counted one by one.

A transmission is one message over one link, whatever the link costs. Everything is counted per message and
per link, so means, weighted costs and link stress are sums over what is returned here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from semcast.model.bits import Bits, count
from semcast.trees import kernels
from semcast.trees.demand import Counts, Demand
from semcast.trees.graph import FloatArray, Graph, IntArray
from semcast.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class Routed:
    """Trees with the messages that each carries: bit m of row c says that message m goes over tree c.

    ``masked``: a message goes only where somebody wants it, and from its source if that is on the tree. Else
    it goes to the root first and then over every link of the tree.
    """

    trees: Sequence[Tree]
    carried: Bits
    masked: bool = False


class Transmissions(NamedTuple):
    """How often each message was sent over a link, and each link sent a message."""

    on_trees: Counts
    """Per message, over the links of trees."""
    on_legs: Counts
    """Per message, from its source to the roots of its trees."""
    per_link: Counts
    """Per link of the overlay, legs included."""

    @property
    def mean(self) -> float:
        """Per message, without the legs."""
        return _mean(self.on_trees)

    @property
    def mean_with_leg(self) -> float:
        return _mean(self.on_trees) + _mean(self.on_legs)


def transmissions(graph: Graph, routed: Routed, demand: Demand, source: int) -> Transmissions:
    """Count what routed messages cost that enter the overlay at ``source``.

    A message that goes over several trees with one root has one leg to it. O(tree links · messages / 64) for
    masked trees, O(messages carried) for others.
    """
    on_trees, on_legs = np.zeros((2, demand.messages), np.int64)
    per_link = np.zeros(graph.num_links, np.int64)
    to_roots: dict[int, Bits] = {}
    for tree, carried in zip(routed.trees, routed.carried, strict=True):
        if routed.masked and source in tree.nodes:
            _add_pruned(graph, tree.rooted_at(source), carried, demand, on_trees, per_link)
            continue
        if routed.masked:
            _add_pruned(graph, tree, carried, demand, on_trees, per_link)
        else:
            kernels.add_bits(carried, 0, len(tree), on_trees)
            per_link[tree.numbers(graph)] += count(carried)
        to_roots[tree.root] = to_roots.get(tree.root, np.uint64(0)) | carried
    _add_legs(graph, to_roots, source, on_legs, per_link)
    return Transmissions(on_trees, on_legs, per_link)


def legs(graph: Graph, routed: Routed, demand: Demand, source: int) -> float:
    """The mean transmissions per message from ``source`` to the roots of its trees: what is left of ``transmissions``.

    For who counts the same messages, over trees that are not masked, from many sources.
    """
    to_roots: dict[int, Bits] = {}
    for tree, carried in zip(routed.trees, routed.carried, strict=True):
        to_roots[tree.root] = to_roots.get(tree.root, np.uint64(0)) | carried
    on_legs, per_link = np.zeros(demand.messages, np.int64), np.zeros(graph.num_links, np.int64)
    _add_legs(graph, to_roots, source, on_legs, per_link)
    return _mean(on_legs)


def _add_legs(graph: Graph, to_roots: Mapping[int, Bits], source: int, on_legs: Counts, per_link: Counts) -> None:
    ways = graph.paths(source)
    for root, carried in to_roots.items():
        path = ways.to(root)
        kernels.add_bits(carried, 0, len(path) - 1, on_legs)
        per_link[_numbers(graph, path)] += count(carried)


def pruned(graph: Graph, tree: Tree, demand: Demand) -> Transmissions:
    """Every message over one tree, filtered at every hop; the papers' SPT where the tree is one of shortest paths."""
    routed = Routed([tree], demand.any_wanted[None, :], masked=True)
    return transmissions(graph, routed, demand, tree.root)


def unicast(graph: Graph, demand: Demand, source: int) -> Transmissions:
    """A copy for each interested gateway, by the cheapest path."""
    on_trees, on_legs = np.zeros((2, demand.messages), np.int64)
    per_link = np.zeros(graph.num_links, np.int64)
    ways = graph.paths(source)
    for gateway, wanted in zip(demand.gateways.tolist(), demand.wanted, strict=True):
        path = ways.to(gateway)
        kernels.add_bits(wanted, 0, len(path) - 1, on_trees)
        per_link[_numbers(graph, path)] += count(wanted)
    return Transmissions(on_trees, on_legs, per_link)


def unicast_clients(graph: Graph, demand: Demand, source: int) -> float:
    """The mean transmissions per message if every interested client got a copy of its own."""
    ways = graph.paths(source)
    hops = np.array([len(ways.to(gateway)) - 1 for gateway in demand.gateways.tolist()], np.int64)
    return float(hops @ demand.copies) / demand.messages if demand.messages else 0.0


class Delivery(NamedTuple):
    """How far messages travel to the gateways that want them, on the way that is shortest of those they take."""

    stretch: float
    """Mean over deliveries of hops travelled over hops of the shortest path; 1 is the best."""
    hops: float
    """Mean hops from the source, legs included."""
    depth: float
    """Mean hops from the root of the tree."""
    missed: int
    """Deliveries that no tree makes: a plan for which this is not 0 withholds messages."""


def delivery(graph: Graph, routed: Routed, demand: Demand, source: int) -> Delivery:
    """Follow every message to every gateway that wants it; O(gateways · trees · messages / 64)."""
    ways = graph.paths(source)
    direct = [len(ways.to(node)) - 1 for node in range(graph.num_nodes)]
    entered = [_entered(tree, routed.masked, source, direct, graph) for tree in routed.trees]
    travelled = stretched = deep = 0.0
    made = missed = 0
    for node, wanted in zip(demand.gateways.tolist(), demand.wanted, strict=True):
        left = wanted.copy()
        near = sorted((leg + int(hops[node]), number) for number, (leg, hops) in enumerate(entered) if hops[node] >= 0)
        for hops_travelled, number in near:
            taken = left & routed.carried[number]
            left &= ~taken
            deliveries = count(taken)
            made += deliveries
            travelled += deliveries * hops_travelled
            stretched += deliveries * (hops_travelled / direct[node] if direct[node] else 1.0)
            deep += deliveries * int(entered[number][1][node])
        missed += count(left)
    parts = max(made, 1)
    return Delivery(stretched / parts, travelled / parts, deep / parts, missed)


def _entered(tree: Tree, masked: bool, source: int, direct: list[int], graph: Graph) -> tuple[int, IntArray]:
    """The hops to where a message enters the tree, and the hops of each node from there."""
    if masked and source in tree.nodes:
        return 0, tree.rooted_at(source).hops(graph.num_nodes)
    return direct[tree.root], tree.hops(graph.num_nodes)


def _add_pruned(graph: Graph, tree: Tree, carried: Bits, demand: Demand, on_trees: Counts, per_link: Counts) -> None:
    places = {tree.root: 0} | {child: place for place, child in enumerate(tree.links[:, 1].tolist(), 1)}
    rows = np.full(len(places), -1, np.int32)
    for row, node in enumerate(demand.gateways.tolist()):
        if node in places:
            rows[places[node]] = row
    links = np.array([(places[a], places[b]) for a, b in tree.links.tolist()], np.int32).reshape(-1, 2)
    used = np.zeros(len(links), np.int64)
    kernels.pruned(links, rows, demand.wanted, np.ascontiguousarray(carried), used, on_trees)
    per_link[tree.numbers(graph)] += used


def _numbers(graph: Graph, path: list[int]) -> list[int]:
    return [int(graph.links[graph.arc(a, b)]) for a, b in pairwise(path)]


def _mean(counts: Counts) -> float:
    return float(counts.mean()) if len(counts) else 0.0


def weighted(graph: Graph, per_link: Counts, messages: int) -> float:
    """The mean cost of a message where a transmission costs what its link costs."""
    costs = np.empty(graph.num_links)
    costs[graph.links] = graph.costs
    found: FloatArray = per_link * costs
    return float(found.sum()) / messages if messages else 0.0
