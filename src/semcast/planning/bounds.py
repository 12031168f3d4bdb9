"""Staleness bounds of a plan: gateways that are too far away join anew (2005 §4), and who stays too far is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from semcast.planning.plan import Plan, PlannedChannel
from semcast.trees.graph import FloatArray
from semcast.trees.joins import Routes, join_within
from semcast.trees.topology import Topology
from semcast.trees.tree import DisseminationTree

Bounds = Mapping[tuple[str, str], float]
"""(gateway, profile id) → the longest way in ms that its clients put up with."""


def bounded(plan: Plan, topology: Topology, sources: Sequence[str], bounds: Bounds) -> tuple[Plan, dict[str, float]]:
    """The plan with its trees fitted to the bounds, and ``gateway/profile`` → expected delay where one is not met.

    Trees that hang at a rendezvous point are fitted gateway by gateway: one that is too far leaves and joins within
    what the longest leg leaves of its bound. Trees on which masks or filters decide span everybody, and stay.
    """
    if not bounds or not sources:
        return plan, {}
    routes = Routes(topology.graph)
    if not plan.kind.filtered:
        channels = tuple(_fitted(plan, channel, topology, routes, sources, bounds) for channel in plan.channels)
        plan = msgspec.structs.replace(plan, channels=channels)
    return plan, _late(plan, topology, routes, sources, bounds)


def expected_delays(plan: Plan, topology: Topology, sources: Sequence[str]) -> dict[str, float]:
    """Per gateway how long the slowest source's messages may be under way to it, in ms, whatever tree they take."""
    routes = Routes(topology.graph)
    delays = [_delays(plan, channel, topology, routes, sources) for channel in plan.channels]
    found: dict[str, float] = {}
    for gateway in plan.gateways:
        node = topology.numbers.get(gateway)
        ways = [float(way[node]) for way in delays if way[node] < float("inf")] if node is not None else []
        if ways:
            found[gateway] = max(ways)
    return found


def _fitted(
    plan: Plan, channel: PlannedChannel, topology: Topology, routes: Routes, sources: Sequence[str], bounds: Bounds
) -> PlannedChannel:
    strictest: dict[str, float] = {}
    for (gateway, profile), bound in bounds.items():
        if gateway in channel.gateways and channel.id in plan.assignment.get(profile, ()):
            strictest[gateway] = min(bound, strictest.get(gateway, bound))
    if not strictest:
        return channel
    leg = max(_legs(channel, topology, routes, _users(plan, channel, sources)))
    nodes = [topology.node(gateway) for gateway in channel.gateways]
    tree = DisseminationTree.of(topology.graph, plan.tree(channel, topology), nodes)
    for gateway, bound in sorted(strictest.items(), key=lambda item: (item[1], item[0])):
        node = topology.node(gateway)
        if tree.delay_ms[node] + leg > bound:
            tree.leave(node)
            join_within(tree, node, bound - leg, routes)
    ids = [broker.id for broker in topology.brokers]
    links = tuple((ids[parent], ids[child]) for parent, child in tree.tree().links.tolist())
    return msgspec.structs.replace(channel, tree=links)


def _users(plan: Plan, channel: PlannedChannel, sources: Sequence[str]) -> Sequence[str]:
    """The sources that send over a channel: where trees hang at sources, that one alone."""
    return [channel.rendezvous] if plan.kind.per_source else sources


def _legs(channel: PlannedChannel, topology: Topology, routes: Routes, sources: Sequence[str]) -> list[float]:
    """How long messages are under way to the rendezvous point, per source, by the cheapest path."""
    root = topology.node(channel.rendezvous)
    found: list[float] = []
    for source in sources:
        ways = routes.of(topology.node(source))
        path = ways.to(root)
        graph = topology.graph
        found.append(sum(float(graph.delays[graph.arc(a, b)]) for a, b in pairwise(path)))
    return found


def _late(plan: Plan, topology: Topology, routes: Routes, sources: Sequence[str], bounds: Bounds) -> dict[str, float]:
    delays = {channel.id: _delays(plan, channel, topology, routes, sources) for channel in plan.channels}
    late: dict[str, float] = {}
    for (gateway, profile), bound in bounds.items():
        ways = [delays[name][topology.node(gateway)] for name in plan.assignment.get(profile, ())]
        reached = [float(delay) for delay in ways if delay < float("inf")]
        if reached and max(reached) > bound:
            late[f"{gateway}/{profile}"] = max(reached)
    return late


def _delays(
    plan: Plan, channel: PlannedChannel, topology: Topology, routes: Routes, sources: Sequence[str]
) -> FloatArray:
    """Per node how long the slowest source's messages are under way to it over a channel."""
    tree = plan.tree(channel, topology)
    sources = _users(plan, channel, sources)
    if not plan.kind.filtered:
        return tree.distances(topology.graph) + max(_legs(channel, topology, routes, sources))
    starts = [topology.node(source) for source in sources if topology.node(source) in tree.nodes]
    found = [tree.rooted_at(start).distances(topology.graph) for start in starts]
    worst = found[0]
    for distances in found[1:]:
        worst = worst.clip(min=distances)
    return worst
