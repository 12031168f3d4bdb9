"""The subscription tree (§3.1 of the *topics* paper): quick, and the hungriest for memory."""

from __future__ import annotations

from semcast.matching.topic.engine import Bucket, TopicEngine, collect, nameable, with_one_more, without
from semcast.profiles.topic import END, WILDCARD, TopicProfile


class Edge:
    """An attribute's constraint, from the node above to the node below.

    ``references`` counts the subscriptions reached through it, so it is at least that of each edge below;
    ``subscriptions`` are those that end here (a *destination edge*); a node is the dict of its edges, and
    an edge with none below it leads to no node.
    """

    __slots__ = ("below", "references", "subscriptions")

    def __init__(self) -> None:
        self.references = 0
        self.subscriptions: Bucket | None = None
        self.below: dict[str, Edge] | None = None


class TreeEngine(TopicEngine):
    """Follows at most two edges from a node, the attribute's and the wildcard's.

    ``$`` is an edge like any other; it is followed where the topic ends.
    """

    def __init__(self) -> None:
        super().__init__()
        self._root: dict[str, Edge] = {}

    def match(self, topic: str) -> list[int]:
        found: list[int] = []
        parts = nameable(topic)
        edge = self._root.get(parts[0])
        reached = [] if edge is None else [edge]
        for part in parts[1:]:
            if not reached:
                return found
            reached = _one_further(reached, part, found)
        for edge in reached:
            if edge.subscriptions is not None:
                collect(found, edge.subscriptions)
            if edge.below is not None and (ending := edge.below.get(END)) is not None:
                assert ending.subscriptions is not None
                collect(found, ending.subscriptions)
        return found

    def size(self) -> tuple[int, int]:
        """The numbers of nodes and edges, as the paper counts them in Figure 8."""
        nodes, edges, open_nodes = 0, 0, [self._root] if self._root else []
        while open_nodes:
            node = open_nodes.pop()
            nodes += 1
            edges += len(node)
            open_nodes += [edge.below for edge in node.values() if edge.below is not None]
        return nodes, edges

    def _insert(self, index: int, profile: TopicProfile) -> None:
        node = self._root
        *upper, last = profile.text.split("/")
        for part in upper:
            edge = _edge(node, part)
            if edge.below is None:
                edge.below = {}
            node = edge.below
        edge = _edge(node, last)
        edge.subscriptions = with_one_more(edge.subscriptions, index)

    def _delete(self, index: int, profile: TopicProfile) -> None:
        """Prune bottom-up; where an edge stays, so do all above it, which only count one less."""
        path: list[tuple[dict[str, Edge], str, Edge]] = []
        node: dict[str, Edge] | None = self._root
        for part in profile.text.split("/"):
            assert node is not None
            path.append((node, part, node[part]))
            node = node[part].below
        last = path[-1][2]
        assert last.subscriptions is not None
        last.subscriptions = without(last.subscriptions, index)
        for node, part, edge in reversed(path):
            edge.references -= 1
            if edge.below is not None and not edge.below:
                edge.below = None  # its last edge has just been removed: so is the node
            if not edge.references:
                del node[part]


def _edge(node: dict[str, Edge], part: str) -> Edge:
    edge = node.get(part)
    if edge is None:
        edge = node[part] = Edge()
    edge.references += 1
    return edge


def _one_further(reached: list[Edge], part: str, found: list[int]) -> list[Edge]:
    """The edges below those ``reached``; what ends at those is found, since their topics go on."""
    further: list[Edge] = []
    for edge in reached:
        if edge.subscriptions is not None:
            collect(found, edge.subscriptions)
        below = edge.below
        if below is not None:
            if (named := below.get(part)) is not None:
                further.append(named)
            if (wildcard := below.get(WILDCARD)) is not None:
                further.append(wildcard)
    return further
