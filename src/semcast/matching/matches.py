"""Which profiles match which rows of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]


def pointers(counts: ArrayLike) -> IntArray:
    """Where each of several rows begins in an array of all, from how many each has; and where the last one ends."""
    sizes = np.asarray(counts, np.int64)
    found = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=found[1:])
    return found


class Matches:
    """Sparse matches of a batch: ``indices[indptr[r]:indptr[r + 1]]`` are row r's profiles, ascending.

    Dense bitsets lost: at 7,000 profiles and 1 % matches they take 12 times the memory, and every
    reader has to scan them.
    """

    __slots__ = ("indices", "indptr")

    def __init__(self, indptr: IntArray, indices: NDArray[np.integer]) -> None:
        self.indptr = indptr
        self.indices = indices

    def __len__(self) -> int:
        """The number of (row, profile) pairs."""
        return len(self.indices)

    def __repr__(self) -> str:
        return f"Matches({self.rows} rows, {len(self)} pairs)"

    @property
    def rows(self) -> int:
        """How many messages the batch had."""
        return len(self.indptr) - 1

    def of(self, row: int) -> IntArray:
        """The profile indices of one row, ascending."""
        if not 0 <= row < self.rows:
            raise IndexError(f"row {row} of a batch of {self.rows} rows")
        return self.indices[self.indptr[row] : self.indptr[row + 1]].astype(np.int64)

    def counts(self) -> IntArray:
        """How many profiles match each row."""
        return np.diff(self.indptr)

    def pairs(self) -> IntArray:
        """All pairs as an (n, 2) array of (row, profile index), sorted."""
        pairs = np.empty((len(self.indices), 2), np.int64)
        pairs[:, 0] = np.repeat(np.arange(self.rows), self.counts())
        pairs[:, 1] = self.indices
        return pairs

    @staticmethod
    def none(rows: int) -> Matches:
        return Matches(np.zeros(rows + 1, np.int64), np.empty(0, np.int32))

    @staticmethod
    def of_rows(rows: Sequence[Sequence[int]]) -> Matches:
        """From each row's profiles, ascending."""
        flat = [number for row in rows for number in row]
        return Matches(pointers([len(row) for row in rows]), np.array(flat, np.int32))

    @staticmethod
    def stacked(parts: Sequence[Matches]) -> Matches:
        """The matches of consecutive batches as those of one."""
        if len(parts) == 1:
            return parts[0]
        counts = np.concatenate([part.counts() for part in parts]) if parts else np.empty(0, np.int64)
        indices = np.concatenate([part.indices for part in parts]) if parts else np.empty(0, np.int32)
        return Matches(pointers(counts), indices)

    @staticmethod
    def side_by_side(parts: Sequence[Matches]) -> Matches:
        """Unite matches of one batch; all indices of a part must be below those of the next."""
        if len(parts) == 1:
            return parts[0]
        counts = [part.counts() for part in parts]
        indptr = pointers(np.sum(counts, axis=0))
        indices = np.empty(indptr[-1], np.result_type(*(part.indices.dtype for part in parts)))
        begin = indptr[:-1].copy()
        for part, count in zip(parts, counts, strict=True):
            indices[np.repeat(begin - part.indptr[:-1], count) + np.arange(len(part))] = part.indices
            begin += count
        return Matches(indptr, indices)

    def renumbered(self, numbers: NDArray[np.integer]) -> Matches:
        """The same matches with profile i called ``numbers[i]`` (ascending)."""
        return Matches(self.indptr, numbers[self.indices])

    def only(self, alive: NDArray[np.bool_]) -> Matches:
        """Without the profiles that are not ``alive``."""
        keep = alive[self.indices]
        kept_before = pointers(keep)
        return Matches(kept_before[self.indptr], self.indices[keep])

    def taken(self, rows: IntArray) -> Matches:
        """Those of some rows, renumbered in the order given."""
        counts = self.counts()[rows]
        indptr = pointers(counts)
        places = np.repeat(self.indptr[:-1][rows] - indptr[:-1], counts) + np.arange(indptr[-1])
        return Matches(indptr, self.indices[places])

    def without(self, rows: Sequence[int]) -> Matches:
        """The same, with nothing matched in some rows."""
        counts = self.counts()
        keep = np.ones(self.rows, np.bool_)
        keep[list(rows)] = False
        return Matches(pointers(counts * keep), self.indices[np.repeat(keep, counts)])
