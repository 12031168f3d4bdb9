"""Overlays with gateways, sources and what each message is wanted by; and how masks forward a message."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from semcast.trees.demand import Demand
from semcast.trees.graph import Graph
from semcast.trees.masked_tree import Ends
from tests.laws.overlays import graphs, nodes_of


class World(NamedTuple):
    graph: Graph
    gateways: list[int]
    sources: list[int]
    sets: list[list[set[int]]]  # per source, the gateways that want each of its messages

    @property
    def samples(self) -> dict[int, Demand]:
        return {
            source: Demand.from_sets(self.gateways, sets) for source, sets in zip(self.sources, self.sets, strict=True)
        }

    @property
    def ends(self) -> Ends:
        pairs = [(source, wanted) for source, sets in zip(self.sources, self.sets, strict=True) for wanted in sets]
        wanted = np.array([[node in nodes for node in self.gateways] for _, nodes in pairs], bool)
        sources = np.array([source for source, _ in pairs], np.int32)
        weights = np.arange(1, len(pairs) + 1)
        shape = (len(pairs), len(self.gateways))
        return Ends.of(
            self.graph.num_nodes,
            np.array(self.gateways, np.int32),
            wanted.reshape(shape),
            sources,
            weights,
            self.sources,
        )


@st.composite
def worlds(draw: st.DrawFn, max_nodes: int = 12, max_sources: int = 3) -> World:
    graph = draw(graphs(max_nodes=max_nodes))
    gateways = sorted(draw(st.sets(nodes_of(graph), min_size=1, max_size=6)))
    sources = sorted(draw(st.sets(nodes_of(graph), min_size=1, max_size=max_sources)))
    some = st.lists(st.sets(st.sampled_from(gateways)), max_size=6)
    return World(graph, gateways, sources, [draw(some) for _ in sources])


def forwarded(masks: dict[int, dict[int, int]], at: int, mask: int, over: int | None = None) -> tuple[list[int], int]:
    """Follow a message by masks alone: the brokers it comes to, and the links it uses."""
    reached, used = [at], 0
    for other, behind in masks[at].items():
        if other != over and mask & behind:
            further, links = forwarded(masks, other, mask & behind, at)
            reached += further
            used += 1 + links
    return reached, used
