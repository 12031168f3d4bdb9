"""What a plan costs on a set of messages, counted with its real trees.

``semcast cost`` and ``semcast plan`` both count here, so what a plan says of itself is what anyone finds who
counts again on the same messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.matching.matches import Matches
from semcast.model.bits import count
from semcast.planning.demands import demand_of
from semcast.planning.headers import Headers, one_level
from semcast.planning.masks import interested, mask_bytes
from semcast.planning.origins import Origins, Sent
from semcast.planning.plan import Plan, PlanError
from semcast.planning.regions import Regions, two_level
from semcast.planning.router import Router
from semcast.planning.subscriptions import Subscriptions
from semcast.trees import evaluate
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Delivery, Routed, Transmissions
from semcast.trees.oracle import Oracle, OracleCosts
from semcast.trees.steiner import THOROUGH, Effort, shortest_path_tree
from semcast.trees.topology import Topology
from semcast.trees.tree import Tree


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
    """Header bytes that a message starts with to name its gateways, mean of those that anyone wants.

    None, as the next two, where messages carry no masks.
    """
    mask_bytes_per_transmission: float | None
    """The same over a link, where only the gateways behind it are named; mean over all transmissions."""
    mask_bytes_per_message: float | None
    """All header bytes that were sent over links, per message."""
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
    source: str | Origins,
    *,
    oracle_messages: int = 200,
    effort: Effort = THOROUGH,
    rng: np.random.Generator | None = None,
    done: Callable[[int], None] = lambda _: None,
) -> Cost:
    """Count a plan on messages given by their matches over the distinct profiles.

    They enter at one source, or where ``Origins`` say. The oracle is asked about ``oracle_messages`` of them, drawn at
    random (always the same without ``rng``), of each source in proportion.
    """
    origins = Origins.spread([source], matches.rows) if isinstance(source, str) else source
    rng = rng or np.random.default_rng(0)
    ends = np.cumsum([0, *np.bincount(origins.place, minlength=len(origins.sources))])
    asked = np.diff((2 * ends * min(oracle_messages, matches.rows) + matches.rows) // max(1, 2 * matches.rows)).tolist()
    counted: list[_Counted] = []
    for sent, most in zip(origins.sent(matches), asked, strict=True):
        before = sum(len(part.oracle.messages) for part in counted)
        on_way = _OnWay(plan, topology, subscriptions, sent)
        counted.append(on_way.counted(most, effort, rng, lambda count, before=before: done(before + count)))  # type: ignore[misc]
    return _together(plan, topology, counted)


class TwoLevels(NamedTuple):
    """What masks of two levels would cost a masked plan, beside what masks of one do; means as in Cost."""

    regions: float
    """Of a tree, mean."""
    largest_region: int
    """Gateways of the largest."""
    plan: float
    mask_bytes_per_transmission: float
    mask_bytes_per_message: float
    table_bytes: float
    """What a broker keeps for a link of a tree, mean."""
    table_bytes_one_level: float


def two_levels_of(
    plan: Plan, topology: Topology, subscriptions: Subscriptions, matches: Matches, origins: Origins
) -> TwoLevels:
    """Count a masked plan with the gateways of each tree in regions that are parts of it (``planning.regions``)."""
    if not plan.kind.masked:
        raise PlanError(f"a plan of {plan.scheme!r} has no masks")
    nodes = [topology.node(gateway) for gateway in subscriptions.gateways]
    trees = [plan.tree(channel, topology) for channel in plan.channels]
    regions = [Regions.of(tree, nodes) for tree in trees]
    parts = [_OnWay(plan, topology, subscriptions, sent).two_levels(regions) for sent in origins.sent(matches)]
    headers = Headers(*np.sum(parts, axis=0).tolist())
    each = max(1, matches.rows)
    tables = [cut.table_bytes(tree) for cut, tree in zip(regions, trees, strict=True)]
    return TwoLevels(
        float(np.mean([len(cut) for cut in regions])),
        max(len(held) for cut in regions for held in cut.members),
        headers.transmissions / each,
        headers.mean,
        headers.bytes / each,
        float(np.mean(tables)),
        float((len(nodes) + 7) // 8),
    )


class _Counted(NamedTuple):
    """What the messages of one source cost."""

    transmissions: Transmissions
    delivery: Delivery
    deliveries: int
    unicast: int
    unicast_clients: float
    spt: Transmissions
    oracle: OracleCosts
    carried: int
    starts: NDArray[np.int64]
    """Header bytes of each message that anyone wants, as it starts."""
    headers: Headers
    extra: int


class _OnWay:
    """The messages of one source, under a plan."""

    def __init__(self, plan: Plan, topology: Topology, subscriptions: Subscriptions, sent: Sent) -> None:
        self._plan = plan
        self._topology = topology
        self._graph = topology.graph
        self._node = topology.node(sent.source)
        self._demand = demand_of(sent.matches, subscriptions, topology)
        router = Router(plan, subscriptions.distinct, sent.source, topology)
        trees = [plan.tree(channel, topology) for channel in plan.channels]
        self._routed = Routed(trees, router.carried(sent.matches), plan.kind.filtered)

    def counted(self, oracle: int, effort: Effort, rng: np.random.Generator, done: Callable[[int], None]) -> _Counted:
        graph, demand, node, routed = self._graph, self._demand, self._node, self._routed
        delivered = evaluate.delivery(graph, routed, demand, node)
        wanting = interested(demand)
        masked = self._plan.kind.masked
        return _Counted(
            evaluate.transmissions(graph, routed, demand, node),
            delivered,
            count(demand.wanted) - delivered.missed,
            int(evaluate.unicast(graph, demand, node).on_trees.sum()),
            evaluate.unicast_clients(graph, demand, node) * demand.messages,
            evaluate.pruned(graph, _spt(self._topology, demand, node), demand),
            Oracle(graph, node, effort).costs(demand, oracle, rng, done),
            count(routed.carried),
            mask_bytes(len(demand.gateways), wanting[wanting > 0]),
            one_level(graph, routed, demand, node) if masked else Headers(0, 0),
            _extra(self._plan, self._topology, routed, demand),
        )

    def two_levels(self, regions: Sequence[Regions]) -> Headers:
        return two_level(self._graph, self._routed, self._demand, self._node, regions)


def _together(plan: Plan, topology: Topology, parts: Sequence[_Counted]) -> Cost:
    """The means over the messages of all sources."""
    per_link = np.sum([part.transmissions.per_link for part in parts], axis=0)
    on_trees, on_legs, spt = (
        np.concatenate(each)
        for each in zip(
            *((part.transmissions.on_trees, part.transmissions.on_legs, part.spt.on_trees) for part in parts),
            strict=True,
        )
    )
    found, bound, looked_at = (
        np.concatenate(each)
        for each in zip(
            *((p.oracle.found, p.oracle.bound, p.spt.on_trees[p.oracle.messages]) for p in parts), strict=True
        )
    )
    messages, deliveries = len(on_trees), sum(part.deliveries for part in parts)
    each, made = max(1, messages), max(1, deliveries)
    scale = (spt.mean() / (looked_at.mean() or 1.0)) if len(found) else 1.0
    starts = np.concatenate([part.starts for part in parts])
    headers = Headers(*np.sum([part.headers for part in parts], axis=0).tolist())
    masked = plan.kind.masked
    return Cost(
        messages=messages,
        plan=float(on_trees.sum()) / each,
        plan_with_leg=float(on_trees.sum()) / each + float(on_legs.sum()) / each,
        unicast=sum(part.unicast for part in parts) / each,
        unicast_clients=sum(part.unicast_clients for part in parts) / each,
        spt=float(spt.sum()) / each,
        oracle=float(scale * found.mean()) if len(found) else None,
        oracle_bound=float(scale * bound.mean()) if len(found) else None,
        oracle_messages=len(found),
        weighted=evaluate.weighted(topology.graph, per_link, messages),
        stretch=sum(part.delivery.stretch * part.deliveries for part in parts) / made,
        hops=sum(part.delivery.hops * part.deliveries for part in parts) / made,
        depth=sum(part.delivery.depth * part.deliveries for part in parts) / made,
        max_stress=float(per_link.max(initial=0)) / each,
        channels_per_message=sum(part.carried for part in parts) / each,
        mask_bytes=(float(starts.mean()) if len(starts) else 0.0) if masked else None,
        mask_bytes_per_transmission=headers.mean if masked else None,
        mask_bytes_per_message=headers.bytes / each if masked else None,
        missed=sum(part.delivery.missed for part in parts),
        extra=sum(part.extra for part in parts),
    )


def _spt(topology: Topology, demand: Demand, source: int) -> Tree:
    found = shortest_path_tree(topology.graph, source, demand.gateways.tolist())
    return found.tree


def _extra(plan: Plan, topology: Topology, routed: Routed, demand: Demand) -> int:
    """Messages that arrive at a gateway of a channel and that nobody there wants, over all channels."""
    if plan.kind.filtered:
        return 0
    place = {node: number for number, node in enumerate(demand.gateways.tolist())}
    extra = 0
    for channel, carried in zip(plan.channels, routed.carried, strict=True):
        for gateway in channel.gateways:
            wanted = demand.wanted[place[topology.node(gateway)]]
            extra += int(np.bitwise_count(carried & ~wanted).sum())
    return extra
