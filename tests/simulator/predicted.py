"""What ``semcast.planning.cost`` counts, per link: what every overlay that follows a plan must transmit."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from semcast.matching.matches import Matches
from semcast.planning.demands import demand_of
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.planning.subscriptions import Subscriptions
from semcast.protocol.coordinator.deployment import Deployment
from semcast.trees import evaluate
from semcast.trees.evaluate import Routed
from semcast.trees.topology import Topology


def predicted(
    deployment: Deployment, topology: Topology, source: str, matched: list[list[str]]
) -> Counter[tuple[str, str]]:
    """Per link what ``semcast.planning.cost`` counts; over the trees that the source uses."""
    return predicted_by(deployment.plan, topology, source, matched)


def predicted_by(plan: Plan, topology: Topology, source: str, matched: list[list[str]]) -> Counter[tuple[str, str]]:
    """The same for a plan that nobody had to deploy."""
    if plan.kind.per_source:
        own = tuple(channel for channel in plan.channels if channel.rendezvous == source)
        plan = msgspec.structs.replace(plan, channels=own)
    matches = _matches(plan, matched)
    subscriptions = Subscriptions.of(plan.gateways, plan.subscriptions, {name: name for name in plan.subscriptions})
    demand = demand_of(matches, subscriptions, topology)
    trees = [plan.tree(channel, topology) for channel in plan.channels]
    carried = Router(plan, source=source, topology=topology).carried(matches)
    per_link = evaluate.transmissions(
        topology.graph, Routed(trees, carried, plan.kind.filtered), demand, topology.node(source)
    ).per_link
    names = [tuple(sorted(topology.ids(ends))) for ends in topology.graph.ends.tolist()]
    return Counter({(a, b): int(count) for (a, b), count in zip(names, per_link.tolist(), strict=True) if count})


def _matches(plan: Plan, matched: list[list[str]]) -> Matches:
    numbers = [sorted(plan.numbers[name] for name in names) for names in matched]
    indptr = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
    return Matches(indptr, np.array([number for row in numbers for number in row], np.int32))
