"""What the sampled messages cost under the plan in force, and what they would cost otherwise.

Sources remember which profiles their latest messages matched. With the plan and the topology that says, link by link,
how often a message crosses it: under this plan, over shortest-path trees filtered at every hop, and as a copy for each
gateway. The oracle, a tree of its own for every message, is asked about a few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from semcast.channels.selectivity import Selectivity
from semcast.matching.matches import Matches
from semcast.planning.cost import cost_of
from semcast.planning.demands import demand_of
from semcast.planning.origins import Origins
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.planning.subscriptions import Subscriptions
from semcast.protocol.coordinator.planner import reduced
from semcast.trees import evaluate
from semcast.trees.evaluate import Routed
from semcast.trees.steiner import QUICK, shortest_path_tree
from semcast.trees.topology import Topology

_ORACLE = 24
"""Messages that the oracle is asked about: some 10 ms each on 600 brokers."""
SCHEMES = ("plan", "spt", "unicast")


class Comparison(NamedTuple):
    """Mean link transmissions per message, and how they spread over links."""

    epoch: int
    messages: int
    costs: dict[str, float | None]
    """plan, spt, unicast, oracle, oracle_bound, stretch, extra (deliveries nobody wanted, per message)."""
    loads: dict[str, dict[tuple[str, str], float]]
    """Scheme → link → transmissions per message."""
    carried: dict[str, float]
    """Channel → the share of messages that it carries."""


class Sampled(NamedTuple):
    """Matches of sampled messages over the profiles of a plan, and where each message came from."""

    subscriptions: Subscriptions
    matches: Matches
    origins: Origins

    @staticmethod
    def of(plan: Plan, present: Sequence[str], matched: Mapping[str, Sequence[Sequence[str]]]) -> Sampled | None:
        """None where nothing was sampled. Profiles that have gone since are left out."""
        there = set(present)
        held = {name: tuple(g for g in gateways if g in there) for name, gateways in plan.subscriptions.items()}
        wanted = {name: gateways for name, gateways in held.items() if gateways}
        subscriptions = Subscriptions.of(present, wanted, {name: name for name in wanted})
        sources = [source for source, rows in matched.items() if rows]
        if not sources or not wanted:
            return None
        rows = [row for source in sources for row in matched[source]]
        place = np.repeat(np.arange(len(sources)), [len(matched[source]) for source in sources])
        numbers = [sorted({subscriptions.numbers[name] for name in row if name in wanted}) for row in rows]
        return Sampled(subscriptions, Matches.of_rows(numbers), Origins.of(sources, place))

    @property
    def selectivity(self) -> Selectivity:
        return Selectivity.of(self.matches, len(self.subscriptions.distinct))


def compare(
    plan: Plan, topology: Topology, down: set[str], matched: Mapping[str, Sequence[Sequence[str]]]
) -> Comparison | None:
    """Count on what is left of the topology; None where no message or no gateway is there to count."""
    usable = reduced(topology, down, set())
    if usable is None or any(broker in down for broker in _used(plan)):
        return None  # the next plan goes around who is down; until then nothing can be said
    present = [gateway for gateway in plan.gateways if gateway in usable.numbers]
    sampled = Sampled.of(
        plan, present, {source: rows for source, rows in matched.items() if source in usable.numbers}
    )  # fmt: skip
    if sampled is None:
        return None
    wanted = dict(sampled.subscriptions.wanted_at)
    reached = msgspec.structs.replace(plan, gateways=tuple(present), subscriptions=wanted)
    cost = cost_of(
        reached, usable, sampled.subscriptions, sampled.matches, sampled.origins, oracle_messages=_ORACLE, effort=QUICK
    )
    costs: dict[str, float | None] = {
        "plan": cost.plan_with_leg,
        "spt": cost.spt,
        "unicast": cost.unicast,
        "oracle": cost.oracle,
        "oracle_bound": cost.oracle_bound,
        "stretch": cost.stretch,
        "extra": cost.extra / max(1, cost.messages),
    }
    loads, carried = _loads(reached, usable, sampled)
    return Comparison(plan.epoch, cost.messages, costs, loads, carried)


def _used(plan: Plan) -> set[str]:
    return {broker for channel in plan.channels for link in channel.tree for broker in link}


def _loads(
    plan: Plan, topology: Topology, sampled: Sampled
) -> tuple[dict[str, dict[tuple[str, str], float]], dict[str, float]]:
    graph, each = topology.graph, max(1, sampled.matches.rows)
    per_link = {scheme: np.zeros(graph.num_links) for scheme in SCHEMES}
    carried = np.zeros(len(plan.channels))
    trees = [plan.tree(channel, topology) for channel in plan.channels]
    for source, _, matches in sampled.origins.sent(sampled.matches):
        node = topology.node(source)
        demand = demand_of(matches, sampled.subscriptions, topology)
        bits = Router(plan, sampled.subscriptions.distinct, source, topology).carried(matches)
        routed = Routed(trees, bits, plan.kind.filtered)
        shortest = shortest_path_tree(graph, node, demand.gateways.tolist()).tree
        per_link["plan"] += evaluate.transmissions(graph, routed, demand, node).per_link
        per_link["spt"] += evaluate.pruned(graph, shortest, demand).per_link
        per_link["unicast"] += evaluate.unicast(graph, demand, node).per_link
        carried += np.bitwise_count(bits).sum(axis=1)
    names = [(link.a, link.b) for link in topology.links]
    loads = {
        scheme: {name: load / each for name, load in zip(names, found.tolist(), strict=True) if load}
        for scheme, found in per_link.items()
    }
    shares = (carried / each).tolist()
    return loads, {channel.id: share for channel, share in zip(plan.channels, shares, strict=True)}
