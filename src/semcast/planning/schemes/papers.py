"""The papers' schemes: channels from the overlap of profiles, merged, each with a tree of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from semcast.planning.schemes.scheme import Scheme

if TYPE_CHECKING:
    import numpy as np

    from semcast.channels.merging import Channel
    from semcast.planning.build import Builder
    from semcast.planning.live import Covers, Held, LiveChannels
    from semcast.planning.plan import Plan, PlannedChannel
    from semcast.trees.joins import Closest, Routes
    from semcast.trees.topology import Topology
    from semcast.trees.tree import Tree

PAPERS = ("semcast", "semcast-o", "semcast-merge", "semcast-noisemerge", "semcast-threshold")


class SemCast(Scheme):
    """Hierarchies, merged; a low-cost tree per channel (2005), or a central one (SemCast-O)."""

    by_overlap: ClassVar[bool] = True

    @property
    def central(self) -> bool:
        """Is each tree found by one who knows the whole overlay, instead of by joins?"""
        return self.name == "semcast-o"

    def plan(self, builder: Builder) -> Plan:
        import msgspec

        from semcast.channels.channelize import channelize
        from semcast.trees.estimate import JoinEstimate
        from semcast.trees.joins import Routes

        request = builder.request
        routes = Routes(builder.topology.graph)
        brokers, profiles = len(builder.topology.brokers), len(builder.subscriptions.distinct)
        rendezvous = builder.rng.integers(0, brokers, profiles).tolist()
        estimate = JoinEstimate(routes, builder.nodes, builder.rng)
        builder.say("channels")
        made = channelize(
            self.name,
            request.selectivity,
            builder.subscriptions.gateway_sets,
            lambda gateways, root: estimate.links(gateways, rendezvous[root]),
            matrix=request.matrix,
            covers=request.covers,
            settings=request.settings,
        )
        builder.say(f"trees of {len(made.channels):,} channels")
        channels: list[PlannedChannel] = []
        links = 0.0
        for channel, served in zip(made.channels, made.profiles, strict=True):
            tree = self._tree(builder, routes, channel, rendezvous[channel.root])
            links += channel.rate * len(tree)
            planned = builder.planned(len(channels), builder.text(channel), served, channel.gateways, tree)
            channels.append(msgspec.structs.replace(planned, rate=channel.rate))
        expected = {"plan": made.estimate, "realised": links, "merges": float(made.merges)}
        expected["error"] = made.estimate / links - 1 if links else 0.0
        expected["stopped"] = float(made.stopped)
        return builder.plan(self.name, channels, expected)

    def _tree(self, builder: Builder, routes: Routes, channel: Channel, rendezvous: int) -> Tree:
        from semcast.channels.spans import places_of
        from semcast.trees.joins import low_cost_tree
        from semcast.trees.steiner import takahashi_matsuyama

        nodes = [builder.nodes[bit] for bit in places_of(channel.gateways)]
        if self.central:
            return takahashi_matsuyama(builder.topology.graph, rendezvous, nodes).tree
        order = builder.rng.permutation(len(nodes)).tolist()
        return low_cost_tree(routes, rendezvous, [nodes[place] for place in order], builder.request.closest).tree()

    def live(
        self, plan: Plan, topology: Topology, held: Held, covers: Covers, rng: np.random.Generator, closest: Closest
    ) -> LiveChannels:
        from semcast.planning.live_expressions import Expressions

        return Expressions(plan, topology, held, covers, rng, closest)
