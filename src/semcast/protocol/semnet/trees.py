"""Trees for semantic routers in an overlay with cycles: one per source, of shortest paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semcast.protocol.semnet.ports import TreePorts, acyclic
from semcast.trees.topology import Topology


def router_trees(
    topology: Topology, sources: Sequence[str], streams: Sequence[str] = ("",)
) -> dict[str, dict[str, TreePorts]]:
    """Each router's ports by tree: per stream the overlay itself where it has no cycles, else a tree per source."""
    if len(topology.links) == len(topology.brokers) - 1:
        near: dict[str, list[str]] = {broker.id: [] for broker in topology.brokers}
        for link in topology.links:
            near[link.a].append(link.b)
            near[link.b].append(link.a)
        return {name: dict(acyclic(others, streams)) for name, others in near.items()}
    return source_trees(topology, sources, streams)


def tree_of(trees: Mapping[str, TreePorts], stream: str, source: str) -> str | None:
    """The tree along which a source's packets of a stream travel; None where it has none."""
    return next((name for name in (tree_name(stream, source), stream) if name in trees), None)


def tree_name(stream: str, source: str) -> str:
    """The name of one source's tree of one stream."""
    return f"{stream}@{source}" if stream else source


def source_trees(
    topology: Topology, sources: Sequence[str], streams: Sequence[str] = ("",)
) -> dict[str, dict[str, TreePorts]]:
    """Each router's ports in the tree of each source: packets go down, interests go up."""
    found: dict[str, dict[str, TreePorts]] = {broker.id: {} for broker in topology.brokers}
    for source in sources:
        root = topology.node(source)
        parents = topology.graph.paths(root).parent.tolist()
        below: dict[int, list[int]] = {}
        for node, parent in enumerate(parents):
            if node != root:
                below.setdefault(parent, []).append(node)
        for node, broker in enumerate(topology.brokers):
            up = () if node == root else tuple(topology.ids([parents[node]]))
            down = tuple(topology.ids(below.get(node, [])))
            found[broker.id] |= {tree_name(stream, source): TreePorts(down, up, stream) for stream in streams}
    return found
