"""Which of several trees is cheapest for each message, for many messages at once.

The count is that of ``evaluate``: the links on which anyone behind wants the message, and the leg to a tree that the
source is not on. The choice is exact, and of equals it is the first tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.matching.matches import pointers
from semcast.model.bits import Bits, bits, unpacked
from semcast.trees import sliced
from semcast.trees.demand import Demand
from semcast.trees.graph import Graph, IntArray
from semcast.trees.tree import Tree

Channels = NDArray[np.uint16]
Uses = NDArray[np.uint16]


class Chosen(NamedTuple):
    """Per message the place of its tree, and the transmissions there, leg included."""

    channels: Channels
    transmissions: Uses

    def carried(self, trees: int, demand: Demand) -> Bits:
        """What ``evaluate.Routed`` asks for: bit m of row c says that message m goes over tree c, where wanted."""
        wanted = np.flatnonzero(unpacked(demand.any_wanted, demand.messages))
        return bits(trees, demand.messages, self.channels[wanted].astype(np.int64), wanted)


@dataclass(frozen=True, eq=False)
class Choice:
    """Trees made ready to choose among, for messages of one source and one list of gateways.

    Choosing takes O(trees · gateways · messages / 64) word operations: with 64 trees and 120 gateways some 0.2 µs
    a message.
    """

    gateways: IntArray
    unions: IntArray
    union_starts: NDArray[np.int64]
    terms: IntArray
    term_starts: NDArray[np.int64]
    legs: NDArray[np.int64]
    lacks: IntArray
    lack_starts: NDArray[np.int64]
    rows: int
    planes: int

    @staticmethod
    def of(graph: Graph, trees: Sequence[Tree], gateways: IntArray, source: int) -> Choice:
        """ValueError where no tree holds all gateways: some message would have no channel."""
        places = {node: row for row, node in enumerate(gateways.tolist())}
        programs = [_compiled(tree, places, source) for tree in trees]
        if all(program.lacks for program in programs):
            raise ValueError("no tree holds all gateways")
        ways = None if all(program.rooted for program in programs) else graph.paths(source)
        legs = [
            0 if program.rooted or ways is None else len(ways.to(tree.root)) - 1
            for tree, program in zip(trees, programs, strict=True)
        ]
        most = max(leg + len(tree) for leg, tree in zip(legs, trees, strict=True))
        unions = np.array([union for program in programs for union in program.unions], np.int32).reshape(-1, 3)
        counts = [[len(terms) for terms in program.terms] for program in programs]
        terms = [row for program in programs for rows in program.terms for row in rows]
        flat = pointers(np.array(counts).ravel())
        starts = np.arange(len(trees))[:, None] * sliced.PLANES + np.arange(sliced.PLANES + 1)
        return Choice(
            gateways,
            unions,
            pointers([len(program.unions) for program in programs]),
            np.array(terms, np.int32),
            np.ascontiguousarray(flat[starts]),
            np.array(legs, np.int64),
            np.array([row for program in programs for row in program.lacks], np.int32),
            pointers([len(program.lacks) for program in programs]),
            max(program.rows for program in programs) + 1,
            (most + 1).bit_length(),
        )

    def choose(self, demand: Demand) -> Chosen:
        """Per message the cheapest tree that holds all who want it; 0 for a message that nobody wants."""
        channels, used = np.zeros((2, demand.messages), np.uint16)
        sliced.choose(
            self.unions, self.union_starts, self.terms, self.term_starts, self.legs, self.rows,
            self.lacks, self.lack_starts, demand.wanted, self.planes, channels, used,
        )  # fmt: skip
        if self.legs.any():
            wanted = unpacked(demand.any_wanted, demand.messages)
            channels *= wanted
            used *= wanted
        return Chosen(channels, used)

    def counts(self, wanted: Bits, messages: int) -> NDArray[np.uint16]:
        """Per tree and message the transmissions, as if every tree held all gateways."""
        found = np.empty((len(self.legs), messages), np.uint16)
        sliced.count_all(
            self.unions, self.union_starts, self.terms, self.term_starts, self.legs, self.rows, wanted, self.planes,
            found,
        )  # fmt: skip
        return found


class _Program(NamedTuple):
    """A tree as unions of rows and rows to be counted; see ``sliced``."""

    unions: list[tuple[int, int, int]]
    terms: list[list[int]]
    """Per power of two, the rows that count so much."""
    lacks: list[int]
    rows: int
    rooted: bool
    """Is the source on the tree?"""


def _compiled(tree: Tree, places: dict[int, int], source: int) -> _Program:
    rooted = source in tree.nodes
    if rooted:
        tree = tree.rooted_at(source)
    below: dict[int, list[int]] = {node: [places[node]] for node in tree.nodes if node in places}
    hops: dict[int, int] = {}  # per row the links it passes: those of a chain are counted together
    unions: list[tuple[int, int, int]] = []
    rows = len(places)
    for parent, child in reversed(tree.links.tolist()):
        held = below.get(child)
        if held is None:
            continue
        if len(held) > 1:
            unions += [(rows, held[0], held[1])] + [(rows, rows, row) for row in held[2:]]
            held = [rows]
            rows += 1
        hops[held[0]] = hops.get(held[0], 0) + 1
        below.setdefault(parent, []).append(held[0])
    terms: list[list[int]] = [[] for _ in range(sliced.PLANES)]
    for row, count in hops.items():
        for plane in range(count.bit_length()):
            if count >> plane & 1:
                terms[plane].append(row)
    lacks = [row for node, row in places.items() if node not in tree.nodes]
    return _Program(unions, terms, lacks, rows, rooted)
