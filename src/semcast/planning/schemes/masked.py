"""Masked channels: few trees over all gateways, of which each message takes its cheapest."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from semcast.planning.schemes.scheme import Say, Scheme

if TYPE_CHECKING:
    import numpy as np

    from semcast.planning.build import Builder, Request
    from semcast.planning.live import Covers, Held, LiveChannels
    from semcast.planning.plan import Plan
    from semcast.planning.reorganise import Reorganised
    from semcast.trees.joins import Closest
    from semcast.trees.topology import Topology


class Masked(Scheme):
    masked: ClassVar[bool] = True
    least_gain: ClassVar[float] = 0.002
    """Of each new tree: one by one they may be replaced or added."""

    def plan(self, builder: Builder) -> Plan:
        from semcast.planning import masked

        request = builder.request
        builder.say(f"at most {request.channels} trees")
        samples, weights = builder.sampled()
        found = masked.plan(builder.topology.graph, samples, request.channels, builder.rng, weights=weights)
        return builder.of_trees(found, [f"c{number}" for number in range(len(found.trees))])

    def reorganised(self, old: Plan, request: Request, covers: Covers, least_gain: float, say: Say) -> Reorganised:
        from semcast.planning.reorganise import tree_by_tree

        return tree_by_tree(old, request, least_gain, say)

    def live(
        self, plan: Plan, topology: Topology, held: Held, covers: Covers, rng: np.random.Generator, closest: Closest
    ) -> LiveChannels:
        from semcast.planning.live import MaskedTrees

        return MaskedTrees(plan, topology, held)
