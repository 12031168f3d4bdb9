"""What masks weigh on the way: header bytes, counted link by link.

A broker passes on only the bits of gateways behind a link, so a mask gets shorter towards the leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.model.bits import Bits, unpacked
from semcast.planning.masks import mask_bytes
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Routed
from semcast.trees.graph import Graph
from semcast.trees.tree import Tree

Few = NDArray[np.int16]
_CELLS = 1 << 24  # nodes of a tree × messages that are looked at together


class Headers(NamedTuple):
    """Masks as they were sent: over how many links, and their bytes together."""

    transmissions: int
    bytes: int

    @property
    def mean(self) -> float:
        """Bytes of a mask, mean over transmissions."""
        return self.bytes / self.transmissions if self.transmissions else 0.0


class Slice(NamedTuple):
    """Some messages on one tree, rooted where they enter it."""

    number: int
    """Which tree."""
    tree: Tree
    leg: int
    """Links from the source to the root."""
    wanted: NDArray[np.bool_]
    """Per gateway and message of the slice."""


def slices(graph: Graph, routed: Routed, demand: Demand, source: int) -> Iterator[Slice]:
    """What was routed over masked trees, tree by tree, so many messages at a time as memory bears."""
    paths = graph.paths(source)
    for number, (tree, carried) in enumerate(zip(routed.trees, routed.carried, strict=True)):
        on_tree = source in tree.nodes
        hung = tree.rooted_at(source) if on_tree else tree
        leg = 0 if on_tree else len(paths.to(tree.root)) - 1
        rows = np.flatnonzero(unpacked(carried, demand.messages))
        step = max(64, _CELLS // (len(hung) + 1))
        for first in range(0, len(rows), step):
            yield Slice(number, hung, leg, _wanted(demand.wanted, rows[first : first + step]))


def one_level(graph: Graph, routed: Routed, demand: Demand, source: int) -> Headers:
    """Masks with a bit for every gateway of the plan."""
    gateways = len(demand.gateways)
    links = sent = 0
    for _, tree, leg, wanted in slices(graph, routed, demand, source):
        behind = below(tree, demand, wanted)
        used = behind[behind > 0].astype(np.int64)
        whole = wanted.sum(axis=0)
        links += len(used) + leg * len(whole)
        sent += int(mask_bytes(gateways, used).sum()) + leg * int(mask_bytes(gateways, whole).sum())
    return Headers(links, sent)


def below(tree: Tree, demand: Demand, wanted: NDArray[np.bool_]) -> Few:
    """Per link of the tree, in its order, and message: how many gateways behind it want the message."""
    place = {node: number for number, node in enumerate([tree.root, *tree.links[:, 1].tolist()])}
    found = np.zeros((len(place), wanted.shape[1]), np.int16)
    for row, node in enumerate(demand.gateways.tolist()):
        if node in place:
            found[place[node]] = wanted[row]
    for parent, child in reversed(tree.links.tolist()):
        found[place[parent]] += found[place[child]]
    return found[1:]


def _wanted(held: Bits, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (held[:, rows >> 6] >> (rows & 63).astype(np.uint64) & np.uint64(1)).astype(np.bool_)
