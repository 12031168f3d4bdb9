"""What a plan costs on a set of messages, counted with its real trees.

``semcast cost`` and ``semcast plan`` both count here, so what a plan says of itself is what anyone finds who
counts again on the same messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from semcast.matching.matches import Matches
from semcast.planning.demands import demand_of
from semcast.planning.masks import interested, mask_bytes
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.planning.subscriptions import Subscriptions
from semcast.trees import Demand, Routed, Topology, Tree, evaluate
from semcast.trees.oracle import Oracle
from semcast.trees.steiner import THOROUGH, Effort, shortest_path_tree


@dataclass(frozen=True)
class Cost:
    """Mean link transmissions per message, unweighted, and how messages travel."""

    messages: int
    plan: float
    plan_with_leg: float
    unicast: float
    """A copy per gateway."""
    unicast_clients: float
    spt: float
    """A shortest-path tree, filtered at every hop."""
    oracle: float | None
    """A tree per message, found for a sample of them; None where no message was looked at.

    The sample's mean, times what all messages cost by ``spt`` over what the sample does: both kinds of cost go
    together, so this is far nearer to the mean of all than the sample's own.
    """
    oracle_bound: float | None
    """What no trees can do with less than: certified for the sample, and scaled like ``oracle``."""
    oracle_messages: int
    weighted: float
    """The plan with its legs, where a transmission costs what its link costs."""
    stretch: float
    """Hops travelled over hops of the shortest path, mean over deliveries."""
    hops: float
    depth: float
    """Hops below the root of a tree, mean over deliveries."""
    max_stress: float
    """Transmissions per message over the busiest link."""
    channels_per_message: float
    mask_bytes: float | None
    """Header bytes that a message carries to name its gateways, mean; None where nobody needs them."""
    missed: int
    """Deliveries that the plan does not make: 0, or it withholds messages."""
    extra: int
    """Deliveries that nobody wanted: a gateway got a message that no client of it matches."""

    def as_dict(self) -> dict[str, float | None]:
        return asdict(self)


def cost_of(
    plan: Plan,
    topology: Topology,
    subscriptions: Subscriptions,
    matches: Matches,
    source: str,
    *,
    oracle_messages: int = 200,
    effort: Effort = THOROUGH,
    rng: np.random.Generator | None = None,
    done: Callable[[int], None] = lambda _: None,
) -> Cost:
    """Count a plan on messages given by their matches over the distinct profiles.

    The oracle is asked about ``oracle_messages`` of them, drawn at random (always the same without ``rng``).
    """
    node = topology.node(source)
    demand = demand_of(matches, subscriptions, topology)
    router = Router(plan, subscriptions.distinct, source, topology)
    trees = [plan.tree(channel, topology) for channel in plan.channels]
    routed = Routed(trees, router.carried(matches), plan.filtered)
    counted = evaluate.transmissions(topology.graph, routed, demand, node)
    delivered = evaluate.delivery(topology.graph, routed, demand, node)
    known = Oracle(topology.graph, node, effort).costs(demand, oracle_messages, rng or np.random.default_rng(0), done)
    asked = len(known.messages)
    spt = evaluate.pruned(topology.graph, _spt(topology, demand, node), demand)
    scale = spt.mean / (float(spt.on_trees[known.messages].mean()) or 1.0) if asked else 1.0
    each = max(1, demand.messages)
    return Cost(
        messages=demand.messages,
        plan=counted.mean,
        plan_with_leg=counted.mean_with_leg,
        unicast=evaluate.unicast(topology.graph, demand, node).mean,
        unicast_clients=evaluate.unicast_clients(topology.graph, demand, node),
        spt=spt.mean,
        oracle=scale * float(known.found.mean()) if asked else None,
        oracle_bound=scale * float(known.bound.mean()) if asked else None,
        oracle_messages=asked,
        weighted=evaluate.weighted(topology.graph, counted.per_link, demand.messages),
        stretch=delivered.stretch,
        hops=delivered.hops,
        depth=delivered.depth,
        max_stress=float(counted.per_link.max(initial=0)) / each,
        channels_per_message=float(np.bitwise_count(routed.carried).sum()) / each,
        mask_bytes=_mask_bytes(demand) if plan.scheme == "masked" else None,
        missed=delivered.missed,
        extra=_extra(plan, topology, routed, demand),
    )


def _spt(topology: Topology, demand: Demand, source: int) -> Tree:
    found = shortest_path_tree(topology.graph, source, demand.gateways.tolist())
    return found.tree


def _mask_bytes(demand: Demand) -> float:
    wanting = interested(demand)
    wanted = wanting[wanting > 0]
    return float(mask_bytes(len(demand.gateways), wanted).mean()) if len(wanted) else 0.0


def _extra(plan: Plan, topology: Topology, routed: Routed, demand: Demand) -> int:
    """Messages that arrive at a gateway of a channel and that nobody there wants, over all channels."""
    if plan.filtered:
        return 0
    place = {node: number for number, node in enumerate(demand.gateways.tolist())}
    extra = 0
    for channel, carried in zip(plan.channels, routed.carried, strict=True):
        for gateway in channel.gateways:
            wanted = demand.wanted[place[topology.node(gateway)]]
            extra += int(np.bitwise_count(carried & ~wanted).sum())
    return extra
