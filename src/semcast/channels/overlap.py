"""How much two profiles ask for in common: the overlap matrix (2005 §3.2.1).

It is all that channelization knows of a workload: no profile's text, so profiles of different languages may
share a channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.channels import kernels
from semcast.channels.selectivity import Floats, Ints, Selectivity
from semcast.matching.matches import Matches


class Block(NamedTuple):
    """Some rows of the matrix, sparse: whom each profile of ``first:first + len(ends)`` overlaps with."""

    first: int
    ends: Ints
    others: NDArray[np.int32]
    counts: Ints
    shares: Floats

    @staticmethod
    def nothing(first: int, last: int) -> Block:
        """Rows of profiles that matched nothing."""
        empty = np.zeros(last - first, np.int64)
        return Block(first, empty, np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, eq=False)
class Overlap:
    """The overlap matrix, sparse by row: ``others[indptr[i]:indptr[i + 1]]`` are those that i overlaps with.

    Held are sums and not quotients, so that matrices of disjoint sets of messages can be added.
    """

    indptr: Ints
    others: NDArray[np.int32]
    counts: Ints
    """Messages that both matched."""
    shares: Floats
    """What these messages count together."""

    @staticmethod
    def of(blocks: Sequence[Block]) -> Overlap:
        """Put blocks together that cover all profiles."""
        ordered = sorted(blocks, key=lambda block: block.first)
        ends = [block.ends for block in ordered]
        starts = np.cumsum([0, *(len(block.others) for block in ordered)])[:-1]
        indptr = np.concatenate([[0], *(end + start for end, start in zip(ends, starts, strict=True))])
        return Overlap(
            indptr.astype(np.int64),
            np.concatenate([block.others for block in ordered]) if ordered else np.empty(0, np.int32),
            np.concatenate([block.counts for block in ordered]) if ordered else np.empty(0, np.int64),
            np.concatenate([block.shares for block in ordered]) if ordered else np.empty(0),
        )

    @property
    def profiles(self) -> int:
        return len(self.indptr) - 1

    def row(self, i: int) -> tuple[NDArray[np.int32], Ints, Floats]:
        """Profile i's others, counts and shares; i itself is among them unless it matched nothing."""
        span = slice(self.indptr[i], self.indptr[i + 1])
        return self.others[span], self.counts[span], self.shares[span]

    def later(self, new: Overlap, fading: float = 1.0) -> Overlap:
        """The totals after more messages: what was known counts ``fading`` times as much, and ``new`` is added.

        Exact where both hold all pairs; with a threshold, pairs that either left out are missing in part. Counts do
        not fade: a containment that was once contradicted stays so until the totals are begun anew.
        """
        rows = [np.repeat(np.arange(part.profiles), np.diff(part.indptr)) for part in (self, new)]
        profiles = max(self.profiles, new.profiles)
        keys = np.concatenate([row * profiles + part.others for row, part in zip(rows, (self, new), strict=True)])
        found, place = np.unique(keys, return_inverse=True)
        counts = np.bincount(place, np.concatenate((self.counts, new.counts)), len(found)).astype(np.int64)
        shares = np.bincount(place, np.concatenate((fading * self.shares, new.shares)), len(found))
        indptr = np.searchsorted(found, np.arange(profiles + 1) * profiles).astype(np.int64)
        return Overlap(indptr, (found % profiles).astype(np.int32), counts, shares.astype(np.float64))

    def matrix(self) -> Floats:
        """``O[i, j]``: the share of i's messages that j matches too; row i is 0 where i matched nothing."""
        found = np.zeros((self.profiles, self.profiles))
        rows = np.repeat(np.arange(self.profiles), np.diff(self.indptr))
        found[rows, self.others] = self.shares
        own = found.diagonal().copy()
        return np.divide(found, own[:, None], out=np.zeros_like(found), where=own[:, None] > 0)


def overlap_block(selectivity: Selectivity, first: int, last: int, least: float = 0.0) -> Block:
    """Rows ``first:last`` of the matrix, without pairs below ``least`` in which neither contains the other.

    O(pairs of matches in the messages of these profiles); room for what is kept only.
    """
    by_profile, messages = selectivity.by_profile
    matches = selectivity.matches
    room = 1 << 16
    while True:
        ends = np.empty(last - first, np.int64)
        block = Block(first, ends, np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room))
        indices = matches.indices.astype(np.int32, copy=False)
        size = kernels.overlap_rows(
            matches.indptr.astype(np.int64, copy=False), indices, by_profile, messages, selectivity.weights,
            first, last, least, ends, block.others, block.counts, block.shares,
        )  # fmt: skip
        if size <= room:
            return Block(first, ends, block.others[:size], block.counts[:size], block.shares[:size])
        room = size


@dataclass(frozen=True, eq=False)
class Sums:
    """Some rows of the matrix while messages come in: 12 bytes for each pair of profiles there can be."""

    first: int
    counts: NDArray[np.int32]
    shares: Floats

    @staticmethod
    def of(first: int, last: int, profiles: int) -> Sums:
        shape = (last - first, profiles)
        return Sums(first, np.zeros(shape, np.int32), np.zeros(shape))

    def add(self, matches: Matches, weights: Floats) -> None:
        """Count more messages; those that match none of these profiles make no difference."""
        kernels.add_overlaps(
            matches.indptr.astype(np.int64, copy=False), matches.indices.astype(np.int32, copy=False), weights,
            self.first, self.counts, self.shares,
        )  # fmt: skip

    def block(self, totals: Ints, least: float) -> Block:
        """What ``overlap_block`` would say of all messages; ``totals`` says how many every profile matched."""
        ends, others, counts, shares = np.zeros(len(self.counts), np.int64), [], [], []
        for row, (held, share) in enumerate(zip(self.counts, self.shares, strict=True)):
            own = self.first + row
            kept = (share >= least * share[own]) | (held == held[own]) | (held == totals)
            chosen = np.flatnonzero(kept & (held > 0))
            ends[row] = len(chosen)
            others.append(chosen.astype(np.int32))
            counts.append(held[chosen].astype(np.int64))
            shares.append(share[chosen])
        return Block(
            self.first, np.cumsum(ends), np.concatenate(others), np.concatenate(counts), np.concatenate(shares)
        )


def overlap(selectivity: Selectivity, least: float = 0.0) -> Overlap:
    """The whole matrix in this process."""
    return Overlap.of([overlap_block(selectivity, 0, selectivity.profiles, least)])


def blocks(selectivity: Selectivity, count: int) -> list[tuple[int, int]]:
    """Ranges of profiles, about ``count``, that take about the same work."""
    by_profile, messages = selectivity.by_profile
    steps = np.concatenate(([0], np.cumsum(selectivity.matches.counts()[messages])))
    return ranges_of(np.diff(steps[by_profile]), count)


def ranges_of(work: Ints, count: int, most: int | None = None) -> list[tuple[int, int]]:
    """Ranges of profiles, about ``count`` and of at most ``most``, that take about the same of each profile's work."""
    if not len(work):
        return []
    done = np.cumsum(work + 1)
    edges = np.searchsorted(done, np.linspace(0, done[-1], count + 1)[1:-1])
    ends = np.unique(np.concatenate(([0], edges, [len(work)]))).tolist()
    step = most or len(work)
    return [(low, min(low + step, last)) for first, last in pairwise(ends) for low in range(first, last, step)]
