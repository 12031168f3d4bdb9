"""Overlays for property tests: small, connected, with ties and without."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from semcast.planning.masks import branch_masks
from semcast.trees.graph import Graph
from semcast.trees.topology import Broker, Link, Topology
from semcast.trees.tree import Tree


def masks_of(tree: Tree, gateways: Sequence[int]) -> dict[int, dict[int, int]]:
    """Per node of a tree and link there the gateways behind it, as bits by their places."""
    bits = {node: 1 << number for number, node in enumerate(gateways)}
    return branch_masks(tree.root, [(parent, child) for parent, child in tree.links.tolist()], bits)


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 14, whole_costs: bool | None = None) -> Graph:
    """A connected graph: a random spanning tree and some more links, with unit, whole or any costs and delays."""
    nodes = draw(st.integers(1, max_nodes))
    links = {(draw(st.integers(0, node - 1)), node) for node in range(1, nodes)}
    if nodes > 1:
        pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda p: p[0] < p[1])
        links |= draw(st.sets(pair, max_size=2 * nodes))
    if draw(st.booleans()):
        return Graph.of(nodes, sorted(links))
    whole = draw(st.booleans()) if whole_costs is None else whole_costs
    number = st.integers(1, 5) if whole else st.floats(0.1, 10)
    values = st.lists(number, min_size=len(links), max_size=len(links))
    return Graph.of(nodes, sorted(links), draw(values), draw(values))


def nodes_of(graph: Graph) -> st.SearchStrategy[int]:
    return st.integers(0, graph.num_nodes - 1)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    graph = draw(graphs(max_nodes=8))
    names = [f"b{node}" for node in range(graph.num_nodes)]
    return Topology.of(
        [Broker(n, roles=("gateway",)) for n in names], [Link(names[a], names[b]) for a, b in graph.ends.tolist()]
    )
