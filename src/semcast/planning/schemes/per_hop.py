"""Filtering at every hop: one tree of shortest paths from each source, pruned broker by broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from semcast.planning.schemes.scheme import Scheme

if TYPE_CHECKING:
    import numpy as np

    from semcast.planning.build import Builder
    from semcast.planning.live import Covers, Held, LiveChannels
    from semcast.planning.plan import Plan, PlannedChannel
    from semcast.trees.joins import Closest
    from semcast.trees.topology import Topology


class ShortestPaths(Scheme):
    per_hop: ClassVar[bool] = True
    per_source: ClassVar[bool] = True

    def plan(self, builder: Builder) -> Plan:
        """One tree of shortest paths from each source."""
        import msgspec

        from semcast.trees.steiner import shortest_path_tree

        bits = builder.wanted_bits()
        everyone = range(len(builder.subscriptions.distinct))
        gateways = sum(1 << bit for bit in bits)
        channels: list[PlannedChannel] = []
        for name, source in zip(builder.origins.sources, builder.sources, strict=True):
            found = shortest_path_tree(builder.topology.graph, source, [builder.nodes[bit] for bit in bits])
            channel = builder.planned(len(channels), None, everyone, gateways, found.tree)
            only = name if len(builder.sources) > 1 else None
            channels.append(msgspec.structs.replace(channel, source=only))
        return builder.plan(self.name, builder.rated(self.name, channels), self._estimate(builder, channels))

    def _estimate(self, builder: Builder, channels: Sequence[PlannedChannel]) -> dict[str, float]:
        """What the plan says of itself."""
        return {}

    def live(
        self, plan: Plan, topology: Topology, held: Held, covers: Covers, rng: np.random.Generator, closest: Closest
    ) -> LiveChannels:
        from semcast.planning.live import SourceTrees

        return SourceTrees(plan, topology, held)


class SemanticNetwork(ShortestPaths):
    """Carries what ``spt`` carries, by semantic routers, which need no plan; theirs says what their filters hold."""

    coordinated: ClassVar[bool] = False

    def objection(self, language: str) -> str | None:
        if language == "semantic":
            return None
        return (
            f"semantic routers aggregate interests, which {language} profiles have no way of; "
            f'a stream of scheme "{self.name}" has language = "semantic"'
        )

    def _estimate(self, builder: Builder, channels: Sequence[PlannedChannel]) -> dict[str, float]:
        """Profiles in the filters of a router's ports, before any are absorbed: mean and most over all that forward."""
        gateways = {name: 1 << bit for bit, name in enumerate(builder.subscriptions.gateways)}
        kept: Counter[str] = Counter()
        for channel in channels:
            below = dict(gateways)
            for parent, child in reversed(channel.tree):
                behind = below.get(child, 0)
                below[parent] = below.get(parent, 0) | behind
                kept[parent] += sum(bool(held & behind) for held in builder.subscriptions.gateway_sets)
        return {
            "filters": sum(kept.values()) / max(1, len(kept)),
            "largest_filters": float(max(kept.values(), default=0)),
        }
