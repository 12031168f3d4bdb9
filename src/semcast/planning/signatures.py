"""What was sampled of the messages, as far as trees care: where each came from and which gateways wanted it.

Equal messages are one signature with a weight. Messages that nobody wanted are left out: they travel nowhere.

Weights are whole numbers of units. Messages that all count the same, or whole numbers, count exactly so. Decayed
weights are held in millionths of the mean, and trees are searched with them in steps of a quarter of it: a link is
counted by powers of two, so finer steps cost time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.model.bits import Bits, bits, unpacked
from semcast.planning import kernels
from semcast.trees.choice import Choice
from semcast.trees.demand import Counts, Demand
from semcast.trees.graph import Graph, IntArray
from semcast.trees.masked_tree import Bools, Ends
from semcast.trees.tree import Tree

Uses = NDArray[np.uint16]
Floats = NDArray[np.float64]
_UNITS, _GRAINS = 20, 2  # in powers of two: units, and steps of the search, that the mean weight has at least


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
    """In units."""
    count: Counts
    """How many sampled messages each stands for, whatever they weigh."""
    grain: int = 1
    """The units that a tree's search can tell apart."""

    @staticmethod
    def of(samples: Mapping[int, Demand], weights: Mapping[int, Floats] | None = None) -> Signatures:
        """From each source's sample; all list the same gateways. ``weights`` say what each message counts, by source.

        A message of weight 2 is the same as two, and one of weight 0 is none.
        """
        if not samples:
            raise ValueError("a plan needs a source")
        first = next(iter(samples.values()))
        if any(not np.array_equal(sample.gateways, first.gateways) for sample in samples.values()):
            raise ValueError("all samples must list the same gateways")
        nodes = sorted(samples)
        found = [_distinct(samples[node], None if weights is None else weights[node]) for node in nodes]
        wanted, counts, sums = (np.concatenate(parts) for parts in zip(*found, strict=True))
        source = np.repeat(np.array(nodes, np.int32), [len(part.counts) for part in found])
        weight, grain = (counts, 1) if weights is None else _units(sums, np.concatenate([weights[n] for n in nodes]))
        return Signatures(first.gateways, tuple(nodes), wanted, source, weight, counts, grain)._weighing(weight, counts)

    def __len__(self) -> int:
        return len(self.weight)

    @cached_property
    def messages(self) -> int:
        """What all messages count together, in units: their number, where each counts 1."""
        return int(self.weight.sum())

    def divided(self, share: float, rng: np.random.Generator) -> tuple[Signatures, Signatures]:
        """Two parts by message, the second with about ``share`` of them; neither is empty if there are two messages.

        Of a signature that is on both sides, each has as much of the weight as of the messages.
        """
        apart = rng.binomial(self.count, share)
        total = int(self.count.sum())
        if len(self) and apart.sum() in (0, total):
            apart = np.zeros_like(self.count)
            apart[int(rng.integers(len(self)))] = 1 if total > 1 else 0
        weight = np.rint(self.weight * (apart / self.count)).astype(np.int64)
        return self._weighing(self.weight - weight, self.count - apart), self._weighing(weight, apart)

    def ends(self, num_nodes: int, numbers: NDArray[np.int64] | None = None, times: Counts | int = 1) -> Ends:
        """Some of the signatures, or all, as what a tree is improved for; ``times`` multiplies their weights."""
        if numbers is None:
            numbers = np.arange(len(self))
        weights = _coarse(self.weight[numbers] * times, self.grain)
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
    def sizes(self) -> NDArray[np.int64]:
        """How many gateways each wants."""
        return np.asarray(self.wanted.sum(axis=1), np.int64)

    def likeness(self, number: int) -> NDArray[np.float32]:
        """Per signature the cosine of the angle between its direction and that of one of them.

        Added up in one order by a kernel of our own: BLAS adds in an order that differs by processor, and so did plans;
        and its threads, which wait busily for the next product, took as much CPU as all the rest of a plan.
        """
        found = np.zeros(len(self), np.float32)
        kernels.products(self._directions, number, found)
        return found

    @cached_property
    def _directions(self) -> NDArray[np.float32]:
        """Per signature a unit vector, as a column: how it differs from the mean one, in gateways and source.

        The nearer two of them, the better a tree made for one suits the other.
        """
        came = (self.source[:, None] == np.array(self.sources)).astype(np.float32) * np.sqrt(len(self.gateways) / 4)
        every = np.concatenate((self.wanted.astype(np.float32), came), axis=1)
        every -= (self.weight[:, None] * every).sum(axis=0) / max(self.messages, 1)
        lengths = np.linalg.norm(every, axis=1, keepdims=True)
        return np.ascontiguousarray((every / np.where(lengths > 0, lengths, 1)).T, np.float32)

    @cached_property
    def _groups(self) -> list[_Group]:
        found = []
        for source in np.unique(self.source).tolist():
            numbers = np.flatnonzero(self.source == source)
            message, gateway = np.nonzero(self.wanted[numbers])
            found.append(_Group(source, numbers, bits(len(self.gateways), len(numbers), gateway, message)))
        return found

    def _weighing(self, weight: Counts, count: Counts) -> Signatures:
        held = np.flatnonzero(weight)
        return Signatures(
            self.gateways, self.sources, self.wanted[held], self.source[held], weight[held], count[held], self.grain
        )


class _Distinct(NamedTuple):
    """The sets of a sample in lexicographic order, how many messages have each, and what these count together."""

    wanted: Bools
    counts: Counts
    sums: Floats


def _distinct(sample: Demand, weights: Floats | None) -> _Distinct:
    """The distinct sets of a sample but the empty one."""
    if weights is None:
        weights = np.ones(sample.messages)
    if len(weights) != sample.messages or (weights < 0).any():
        raise ValueError("every message needs a weight of 0 or more")
    dense = unpacked(sample.wanted, sample.messages)
    packed = np.packbits(dense.T[weights > 0], axis=1)
    sets, place, counts = np.unique(packed, axis=0, return_inverse=True, return_counts=True)
    sums = np.bincount(place.ravel(), weights[weights > 0], len(sets)).astype(np.float64)
    wanted = np.unpackbits(sets, axis=1)[:, : len(sample.gateways)].astype(bool)
    held = wanted.any(axis=1)
    return _Distinct(wanted[held], counts[held].astype(np.int64), sums[held])


def _units(sums: Floats, weights: Floats) -> tuple[Counts, int]:
    """Sums of messages' weights as whole numbers, and the grain of these.

    A message counts a unit at least: if signatures' sums were made as small as they can be, where all have as many
    messages a signature would be one unit, of which no part can be set apart.
    """
    held = weights[weights > 0]
    if not sums.any():  # nobody wants what was sampled, or it counts nothing
        return np.zeros(len(sums), np.int64), 1
    unit = float(held[0]) if (held == held[0]).all() else 1.0
    if (held == unit * np.rint(held / unit)).all():
        whole = np.rint(held / unit).astype(np.int64)
        return np.rint(sums / unit).astype(np.int64) // np.gcd.reduce(whole), 1
    scale = 2.0 ** (_UNITS - np.floor(np.log2(sums.mean())))
    return np.rint(sums * scale).astype(np.int64), 1 << (_UNITS - _GRAINS)


def _coarse(weights: Counts, grain: int) -> Counts:
    """The same in grains, so that sums over consecutive ones are right to half a grain; finer for light ones."""
    if grain == 1 or not len(weights):
        return weights
    grain = max(1, min(grain, int(weights.sum()) // (len(weights) << _GRAINS)))
    return np.diff((np.cumsum(weights) + grain // 2) // grain, prepend=0)
