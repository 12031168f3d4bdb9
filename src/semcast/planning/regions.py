"""Masks of two levels, for more gateways than a mask can name one by one (past some 2,000).

Gateways are put together in regions: connected parts of a tree, of about as many gateways as there are regions. A
message carries a bit per region, and per region that wants it a mask of the gateways there. A broker knows the
gateways of its own region behind each of its links, and of other regions only which are there at all: what stands in
their masks it passes on unread. Where a region is one part of the channel's tree, no transmission is added to those
of masks of one level; where a tree enters a region in several places, a message may be sent to all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from semcast.planning.headers import Headers, Slice, slices
from semcast.planning.masks import mask_bytes
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Routed
from semcast.trees.graph import Graph
from semcast.trees.tree import Tree

Counts = NDArray[np.int64]
Columns = NDArray[np.int64]
OUTSIDE = -1


@dataclass(frozen=True)
class Regions:
    """Which region each broker is in, and the gateways of each region, in the order of their bits there."""

    region: dict[int, int]
    """By node; a broker that is on no tree the regions were cut from is in none."""
    members: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(tree: Tree, gateways: Iterable[int], size: int | None = None) -> Regions:
        """Cut a tree into connected parts of about ``size`` gateways; by default the square root of all.

        From the leaves up: a broker with so many gateways at and below it is cut off with all of them. If they are
        more than twice as many, the largest parts below it are cut off before, down to a quarter of the size.
        """
        wanted = set(gateways)
        size = size or max(1, isqrt(max(0, len(wanted) - 1)) + 1)
        open_: dict[int, list[tuple[int, int]]] = {node: [] for node in tree.nodes}
        tops: list[int] = []
        for node in [*tree.links[::-1, 1].tolist(), tree.root]:
            parts = sorted(open_[node])
            held = int(node in wanted) + sum(count for count, _ in parts)
            while held > 2 * size and 4 * parts[-1][0] >= size:
                count, child = parts.pop()
                tops.append(child)
                held -= count
            if held >= size and node != tree.root:
                tops.append(node)
            elif node != tree.root:
                open_[tree.parent[node]].append((held, node))
        number = {top: place for place, top in enumerate([tree.root, *sorted(tops)])}
        region = {tree.root: 0}
        for parent, child in tree.links.tolist():
            region[child] = number.get(child, region[parent])
        members: list[list[int]] = [[] for _ in number]
        for node in sorted(wanted & tree.nodes):
            members[region[node]].append(node)
        return Regions(region, tuple(map(tuple, members)))

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def home(self) -> dict[int, tuple[int, int]]:
        """Per gateway its region, and its bit there."""
        return {node: (number, bit) for number, held in enumerate(self.members) for bit, node in enumerate(held)}

    def table_bytes(self, tree: Tree) -> float:
        """What a broker keeps for a link of a tree, mean: a bit per gateway of its region and one per region."""
        outer = (len(self) + 7) // 8
        own = [self.region.get(node, OUTSIDE) for node in tree.links.ravel().tolist()]
        inner = [(len(self.members[number]) + 7) // 8 if number != OUTSIDE else 0 for number in own]
        return outer + (sum(inner) / len(inner) if inner else 0.0)


def two_level(graph: Graph, routed: Routed, demand: Demand, source: int, regions: Sequence[Regions]) -> Headers:
    """What is sent under masks of two levels, a partition per tree; every message reaches all who want it.

    O(links · regions · messages) steps.
    """
    parts = [_Walk(part, demand, regions[part.number]).sent() for part in slices(graph, routed, demand, source)]
    return Headers(sum(part.transmissions for part in parts), sum(part.bytes for part in parts))


class _Walk:
    """Some messages on their way down a tree, all at once."""

    def __init__(self, part: Slice, demand: Demand, regions: Regions) -> None:
        self._part = part
        self._regions = regions
        self._row = {node: row for row, node in enumerate(demand.gateways.tolist())}
        self._children: dict[int, list[int]] = {}
        below = {node: frozenset([node] if node in regions.home else ()) for node in part.tree.nodes}
        for parent, child in reversed(part.tree.links.tolist()):
            self._children.setdefault(parent, []).append(child)
            below[parent] |= below[child]
        self._below = below
        sizes = np.array([len(held) for held in regions.members])
        self._bits, self._width = (sizes[:, None] + 7) // 8, np.where(sizes > 256, 2, 1)[:, None]

    def sent(self) -> Headers:
        """From the source to the root of the tree, and down."""
        wanted = [self._wanted(held, slice(None)) for held in self._regions.members]
        counts = np.array(wanted).reshape(len(self._regions), -1)
        messages = counts.shape[1]
        links, total = self._part.leg * messages, self._part.leg * self._bytes(counts)
        left = [(self._part.tree.root, np.arange(messages), counts)]
        while left:
            node, columns, held = left.pop()
            for child in self._children.get(node, ()):
                passed = self._passed(node, child, columns, held)
                used = passed.any(axis=0)
                if used.any():
                    passed = passed[:, used]
                    links += passed.shape[1]
                    total += self._bytes(passed)
                    left.append((child, columns[used], passed))
        return Headers(links, total)

    def _passed(self, node: int, child: int, columns: Columns, held: Counts) -> Counts:
        """Per region and message how many gateways are named over a link; 0 where the region is not."""
        own = self._regions.region.get(node, OUTSIDE)
        there = np.zeros(len(held), np.bool_)
        there[[self._regions.home[gateway][0] for gateway in self._below[child]]] = True
        passed = held * there[:, None]
        if own != OUTSIDE:
            passed[own] = self._wanted(self._below[child].intersection(self._regions.members[own]), columns)
        return passed

    def _wanted(self, gateways: Iterable[int], columns: Columns | slice) -> Counts:
        rows = [self._row[gateway] for gateway in gateways]
        found: Counts = self._part.wanted[rows][:, columns].sum(axis=0)
        return found

    def _bytes(self, counts: Counts) -> int:
        outer = mask_bytes(len(self._regions), (counts > 0).sum(axis=0))
        inner = np.where(counts > 0, 1 + np.minimum(self._bits, self._width * counts), 0)
        return int(outer.sum() + inner.sum())
