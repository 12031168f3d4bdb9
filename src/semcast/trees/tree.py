"""Dissemination trees: what a channel's messages travel on.

A Tree is a finished one, as data. A DisseminationTree is one that gateways join and leave, held as the
brokers hold it: each broker on it knows its parent and its children, and a change touches only the brokers
on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from semcast.trees.graph import FloatArray, Graph, IntArray, Weight


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree as its links (parent, child), parent before child; a root alone has none."""

    root: int
    links: IntArray

    @staticmethod
    def of(root: int, parent: Mapping[int, int]) -> Tree:
        """The tree in which every node but the root has a parent, in breadth-first order, smaller nodes first."""
        children: dict[int, list[int]] = {}
        for child, above in sorted(parent.items()):
            children.setdefault(above, []).append(child)
        links: list[tuple[int, int]] = []
        level = [root]
        while level:
            below = [(node, child) for node in level for child in children.get(node, ())]
            links += below
            level = [child for _, child in below]
        if len(links) != len(parent):
            raise ValueError(f"{len(parent) - len(links)} nodes do not hang at the root {root}")
        return Tree(root, np.array(links, np.int32).reshape(-1, 2))

    @staticmethod
    def joining(graph: Graph, root: int, links: Iterable[int]) -> Tree:
        """The tree that some links of a graph (by number) make, hung up at ``root``."""
        near: dict[int, list[int]] = {}
        count = 0
        for link in links:
            a, b = graph.ends[link].tolist()
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
            count += 1
        parent: dict[int, int] = {}
        level = [root]
        while level:
            found = [(node, other) for node in level for other in near.get(node, ()) if parent.get(node) != other]
            parent.update((other, node) for node, other in found)
            level = [other for _, other in found]
            if len(found) > count:
                raise ValueError("the links make a loop")
            count -= len(found)
        if count:
            raise ValueError(f"{count} links do not hang together with node {root}")
        return Tree.of(root, parent)

    def __len__(self) -> int:
        """The number of links: what one message costs."""
        return len(self.links)

    @cached_property
    def nodes(self) -> frozenset[int]:
        return frozenset([self.root, *self.links[:, 1].tolist()])

    @cached_property
    def parent(self) -> dict[int, int]:
        """Every node but the root, with the node above it."""
        return {child: parent for parent, child in self.links.tolist()}

    def rooted_at(self, node: int) -> Tree:
        """The same links, hung up elsewhere on the tree."""
        if node == self.root:
            return self
        parent = dict(self.parent)
        below = node
        above: int | None = parent.pop(node)
        while above is not None:
            further = parent.pop(above, None)
            parent[above] = below
            below, above = above, further
        return Tree.of(node, parent)

    def numbers(self, graph: Graph) -> IntArray:
        """The links' numbers in the overlay, in the tree's order."""
        return graph.links[graph.arcs(self.links)]

    def cost(self, graph: Graph) -> float:
        """The sum of the links' costs; the number of links where these are 1."""
        return float(graph.costs[graph.arcs(self.links)].sum())

    def distances(self, graph: Graph, weight: Weight = "delay") -> FloatArray:
        """How far each node is from the root along the tree; infinity for what is not on it."""
        found = np.full(graph.num_nodes, np.inf)
        found[self.root] = 0.0
        weights = graph.weights(weight)[graph.arcs(self.links)].tolist()
        for (parent, child), further in zip(self.links.tolist(), weights, strict=True):
            found[child] = found[parent] + further
        return found

    def hops(self, num_nodes: int) -> IntArray:
        """How many links each node is below the root; -1 for what is not on the tree."""
        found = np.full(num_nodes, -1, np.int32)
        found[self.root] = 0
        for parent, child in self.links.tolist():
            found[child] = found[parent] + 1
        return found


class Change(NamedTuple):
    """What a join or leave did to the tree's links, each as (parent, child)."""

    added: tuple[tuple[int, int], ...] = ()
    removed: tuple[tuple[int, int], ...] = ()


class DisseminationTree:
    """A tree over an overlay that gateways join and leave.

    Invariants: it hangs at its root, is acyclic, spans its destinations, and every leaf below the root is a
    destination. ``delay_ms`` is what 2005 §4 has brokers track: how far they are from the root.
    """

    def __init__(self, graph: Graph, root: int) -> None:
        self.graph = graph
        self.root = root
        self.destinations: set[int] = set()
        self.parent: dict[int, int] = {}
        self.children: dict[int, set[int]] = {root: set()}
        self.delay_ms: dict[int, float] = {root: 0.0}

    @staticmethod
    def of(graph: Graph, tree: Tree, destinations: Iterable[int]) -> DisseminationTree:
        """A finished tree, to be joined and left from now on; what leads to no destination is pruned."""
        found = DisseminationTree(graph, tree.root)
        found.destinations = set(destinations)
        for above, node in tree.links.tolist():
            found.parent[node] = above
            found.children[node] = set()
            found.children[above].add(node)
            found._track(node)
        for _, node in tree.links.tolist()[::-1]:
            found._pruned(node)
        return found

    def __contains__(self, node: int) -> bool:
        """Is the broker on the tree, as a destination or on the way to one?"""
        return node in self.children

    def __iter__(self) -> Iterator[int]:
        return iter(self.children)

    def tree(self) -> Tree:
        """What it is now, as data."""
        return Tree.of(self.root, self.parent)

    def attach(self, path: list[int]) -> Change:
        """Make the end of ``path`` a destination that hangs at its first node, which is on the tree.

        A broker on the way that hangs elsewhere is re-hung, with all below it, and what only led to it is
        pruned. The caller sees to it that this closes no loop: no node of the path may be below a later one.
        """
        added: list[tuple[int, int]] = []
        removed: list[tuple[int, int]] = []
        for above, node in pairwise(path):
            before = self.parent.get(node)
            if before == above:
                continue
            if before is not None:
                self.children[before].discard(node)
                removed.append((before, node))
            self.children.setdefault(node, set())
            self.parent[node] = above
            self.children[above].add(node)
            added.append((above, node))
            self._track(node)
        self.destinations.add(path[-1])
        for before, _ in tuple(removed):
            removed += self._pruned(before)
        return Change(tuple(added), tuple(removed))

    def leave(self, gateway: int) -> Change:
        """Take a destination off the tree, and every broker above it that then leads nowhere (2005 §3.2.4)."""
        if gateway not in self.destinations:
            raise KeyError(gateway)
        self.destinations.remove(gateway)
        return Change(removed=tuple(self._pruned(gateway)))

    def validate(self) -> None:
        """Raise AssertionError where an invariant is broken."""
        assert len(self.tree().links) == len(self.parent), "hangs at its root"
        assert self.destinations <= self.children.keys(), "spans its destinations"
        for node, below in self.children.items():
            assert all(self.parent[child] == node for child in below), "parents and children agree"
            assert below or node in self.destinations or node == self.root, "every leaf is a destination"
        assert sum(map(len, self.children.values())) == len(self.parent), "parents and children agree"
        distances = self.tree().distances(self.graph)
        assert np.allclose([distances[node] for node in self.delay_ms], list(self.delay_ms.values())), "delays"
        assert self.delay_ms.keys() == self.children.keys(), "delays"

    def _pruned(self, node: int) -> list[tuple[int, int]]:
        removed: list[tuple[int, int]] = []
        while node != self.root and node in self.children and not self.children[node] and node not in self.destinations:
            above = self.parent.pop(node)
            del self.children[node], self.delay_ms[node]
            self.children[above].discard(node)
            removed.append((above, node))
            node = above
        return removed

    def _track(self, node: int) -> None:
        """Tell a broker and all below it how far they are from the root now."""
        below = [node]
        while below:
            node = below.pop()
            above = self.parent[node]
            self.delay_ms[node] = self.delay_ms[above] + float(self.graph.delays[self.graph.arc(above, node)])
            below += self.children[node]
