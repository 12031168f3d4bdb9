"""What was sampled of the messages, as far as trees care: where each came from and which gateways wanted it.

Equal messages are one signature with a weight. Messages that nobody wanted are left out: they travel nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.model.bits import Bits, bits, unpacked
from semcast.trees import Demand, Graph, Tree
from semcast.trees.choice import Choice
from semcast.trees.demand import Counts
from semcast.trees.graph import IntArray
from semcast.trees.masked_tree import Bools, Ends

Uses = NDArray[np.uint16]


class _Group(NamedTuple):
    """The signatures of one source."""

    source: int
    numbers: NDArray[np.int64]
    wanted: Bits


@dataclass(frozen=True, eq=False)
class Signatures:
    """Distinct (source, wanted gateways) with their weights, in one order whatever the order of the messages."""

    gateways: IntArray
    sources: tuple[int, ...]
    """All that were declared, ascending; some may have sent nothing."""
    wanted: Bools
    source: IntArray
    """Per signature the node it enters at."""
    weight: Counts

    @staticmethod
    def of(samples: Mapping[int, Demand]) -> Signatures:
        """From each source's sample; all list the same gateways."""
        if not samples:
            raise ValueError("a plan needs a source")
        first = next(iter(samples.values()))
        if any(not np.array_equal(sample.gateways, first.gateways) for sample in samples.values()):
            raise ValueError("all samples must list the same gateways")
        found = [_distinct(sample) for _, sample in sorted(samples.items())]
        source = [
            np.full(len(weights), node, np.int32) for node, (_, weights) in zip(sorted(samples), found, strict=True)
        ]
        return Signatures(
            first.gateways,
            tuple(sorted(samples)),
            np.concatenate([wanted for wanted, _ in found]),
            np.concatenate(source),
            np.concatenate([weights for _, weights in found]),
        )

    def __len__(self) -> int:
        return len(self.weight)

    @cached_property
    def messages(self) -> int:
        return int(self.weight.sum())

    def divided(self, share: float, rng: np.random.Generator) -> tuple[Signatures, Signatures]:
        """Two parts by message, the second with about ``share`` of them; neither is empty if there are two messages."""
        apart = rng.binomial(self.weight, share)
        if len(self) and apart.sum() in (0, self.messages):
            apart = np.zeros_like(self.weight)
            apart[int(rng.integers(len(self)))] = 1 if self.messages > 1 else 0
        return self._weighing(self.weight - apart), self._weighing(apart)

    def ends(self, num_nodes: int, numbers: NDArray[np.int64] | None = None, times: Counts | int = 1) -> Ends:
        """Some of the signatures, or all, as what a tree is improved for; ``times`` multiplies their weights."""
        if numbers is None:
            numbers = np.arange(len(self))
        weights = self.weight[numbers] * times
        return Ends.of(num_nodes, self.gateways, self.wanted[numbers], self.source[numbers], weights, self.sources)

    def counts(self, graph: Graph, trees: Sequence[Tree]) -> Uses:
        """Per tree and signature the links it uses; every tree must span all gateways and sources."""
        found = np.zeros((len(trees), len(self)), np.uint16)
        for source, numbers, wanted in self._groups:
            found[:, numbers] = Choice.of(graph, trees, self.gateways, source).counts(wanted, len(numbers))
        return found

    def mean(self, lowest: Uses) -> float:
        """The mean over messages of what their signatures cost."""
        return float(self.weight @ lowest.astype(np.int64)) / self.messages if self.messages else 0.0

    @cached_property
    def directions(self) -> NDArray[np.float32]:
        """Per signature a unit vector: how it differs from the mean one, in gateways and source.

        The nearer two of them, the better a tree made for one suits the other.
        """
        came = (self.source[:, None] == np.array(self.sources)).astype(np.float32) * np.sqrt(len(self.gateways) / 4)
        every = np.concatenate((self.wanted.astype(np.float32), came), axis=1)
        every -= (self.weight[:, None] * every).sum(axis=0) / max(self.messages, 1)
        lengths = np.linalg.norm(every, axis=1, keepdims=True)
        return np.asarray(every / np.where(lengths > 0, lengths, 1), np.float32)

    @cached_property
    def _groups(self) -> list[_Group]:
        found = []
        for source in np.unique(self.source).tolist():
            numbers = np.flatnonzero(self.source == source)
            message, gateway = np.nonzero(self.wanted[numbers])
            found.append(_Group(source, numbers, bits(len(self.gateways), len(numbers), gateway, message)))
        return found

    def _weighing(self, weight: Counts) -> Signatures:
        held = np.flatnonzero(weight)
        return Signatures(self.gateways, self.sources, self.wanted[held], self.source[held], weight[held])


def _distinct(sample: Demand) -> tuple[Bools, Counts]:
    """The distinct sets of a sample but the empty one, in lexicographic order, each with its number of messages."""
    dense = unpacked(sample.wanted, sample.messages)
    packed = np.packbits(dense.T, axis=1)
    sets, counts = np.unique(packed, axis=0, return_counts=True)
    wanted = np.unpackbits(sets, axis=1)[:, : len(sample.gateways)].astype(bool)
    held = wanted.any(axis=1)
    return wanted[held], counts[held].astype(np.int64)
