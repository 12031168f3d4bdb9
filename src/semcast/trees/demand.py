"""What messages ask of the overlay: for each message, the gateways that want it.

Kept as one bit per gateway and message, a row per gateway, so that a whole set of messages passes a link of a
tree in a few machine words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semcast.model.bits import Bits, bits, count, words
from semcast.trees.graph import IntArray

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Demand:
    """Bit m of row g: gateway g, at node ``gateways[g]``, wants message m."""

    gateways: IntArray
    wanted: Bits
    messages: int
    copies: Counts
    """Per gateway how many (message, client) pairs it serves: what copies per client would be sent to it."""

    @staticmethod
    def of(
        gateways: Sequence[int],
        messages: int,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        copies: Counts | None = None,
    ) -> Demand:
        """From pairs (message, place in ``gateways``), in any order; without ``copies``, one client each."""
        if len(set(gateways)) != len(gateways):
            raise ValueError("a gateway is named twice")
        wanted = bits(len(gateways), messages, columns, rows)
        if copies is None:
            copies = np.array([count(row) for row in wanted], np.int64)
        return Demand(np.asarray(gateways, np.int32), wanted, messages, copies)

    @staticmethod
    def from_sets(gateways: Sequence[int], sets: Iterable[Iterable[int]]) -> Demand:
        """From each message's nodes of interested gateways."""
        place = {node: number for number, node in enumerate(gateways)}
        wanted = [list(nodes) for nodes in sets]
        pairs = [(row, place[node]) for row, nodes in enumerate(wanted) for node in nodes]
        array = np.array(pairs, np.int64).reshape(-1, 2)
        return Demand.of(gateways, len(wanted), array[:, 0], array[:, 1])

    @cached_property
    def any_wanted(self) -> Bits:
        """The messages that anyone wants."""
        return (
            np.bitwise_or.reduce(self.wanted, axis=0) if len(self.wanted) else np.zeros(words(self.messages), np.uint64)
        )

    def sets(self) -> Iterator[tuple[int, ...]]:
        """Each message's interested gateways as nodes, ascending."""
        for start in range(0, self.messages, 64):
            word = self.wanted[:, start >> 6]
            for bit in range(min(64, self.messages - start)):
                held = (word >> np.uint64(bit)) & np.uint64(1)
                yield tuple(sorted(self.gateways[held.astype(bool)].tolist()))

    def only(self, messages: Sequence[int] | NDArray[np.int64]) -> Demand:
        """Some of the messages, renumbered in the order given; copies per client are not known for them."""
        chosen = np.asarray(messages, np.int64)
        held = (self.wanted[:, chosen >> 6] >> (chosen & 63).astype(np.uint64)) & np.uint64(1)
        columns, rows = np.nonzero(held)
        return Demand.of(self.gateways.tolist(), len(chosen), rows, columns)
