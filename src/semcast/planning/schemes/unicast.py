"""Unicast: a channel for each gateway, along a shortest path."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from semcast.planning.schemes.scheme import Scheme

if TYPE_CHECKING:
    import numpy as np

    from semcast.planning.build import Builder
    from semcast.planning.live import Covers, Held, LiveChannels
    from semcast.planning.plan import Plan
    from semcast.trees.joins import Closest
    from semcast.trees.topology import Topology


class Unicast(Scheme):
    per_source: ClassVar[bool] = True

    def plan(self, builder: Builder) -> Plan:
        """A channel per gateway, along a shortest path from the source; of several sources, each has its leg there."""
        from semcast.planning.plan import PlannedChannel
        from semcast.trees.tree import Tree

        paths = builder.topology.graph.paths(builder.source)
        channels: list[PlannedChannel] = []
        for bit in builder.wanted_bits():
            nodes = paths.to(builder.nodes[bit]) if len(builder.sources) == 1 else [builder.nodes[bit]]
            tree = Tree.of(nodes[0], {child: parent for parent, child in pairwise(nodes)})
            held = builder.request.subscriptions.gateway_sets
            profiles = [number for number, gateways in enumerate(held) if gateways >> bit & 1]
            channels.append(builder.planned(len(channels), builder.expression(profiles), profiles, 1 << bit, tree))
        return builder.plan(self.name, builder.rated(self.name, channels), {})

    def live(
        self, plan: Plan, topology: Topology, held: Held, covers: Covers, rng: np.random.Generator, closest: Closest
    ) -> LiveChannels:
        from semcast.planning.live import UnicastPaths

        return UnicastPaths(plan, topology, held)
