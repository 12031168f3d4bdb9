"""Brute force in compiled code as a peer: every conjunction against every message, no index.

Three loops, since which one the processor likes best depends on the workload: *dense* evaluates all
tests for all pairs as vectors, *by message* first gathers the conjunctions with a message's symbol,
*strips* compares 32 symbols at once and looks closer where one is equal. Columns are numpy arrays, symbols
are codes already: none of what ours does to get from Arrow to codes is counted here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from semcast_experiments.bench.conjunctions import NUMBERS, Conjunctions
from semcast_experiments.bench.race import Keys

_BLOCK = 4096  # messages whose columns stay in the cache while all conjunctions pass
_SIGNATURE = (
    "int64(uint16[::1], int32[:, ::1], float64[:, ::1], float64[:, ::1], uint16[::1], float64[:, ::1], "
    "int64, int32[::1], int32[::1])"
)


class BruteForce:
    """One of the loops; ``room`` for its pairs is found out once and reused."""

    peer = "numba brute force"

    def __init__(self, plan: str, kernel: Callable[..., int], conjunctions: Conjunctions, messages: pa.Table) -> None:
        self.plan = plan
        self.kernel = kernel
        self.wanted = (
            conjunctions.codes.astype(np.uint16),
            conjunctions.attributes,
            conjunctions.lows,
            conjunctions.highs,
        )
        self.symbols = messages.column("symbol").to_numpy().astype(np.uint16)  # -1, nobody's, becomes 65,535
        self.values = np.array([messages.column(f"a{i}").to_numpy() for i in range(NUMBERS)])
        self.profiles = len(conjunctions)
        self.found = np.empty((2, _BLOCK), np.int32)

    def run(self, count: int) -> int:
        symbols, values = self.symbols[:count], np.ascontiguousarray(self.values[:, :count])
        while True:
            pairs = self.kernel(*self.wanted, symbols, values, _BLOCK, *self.found)
            if pairs >= 0:
                return int(pairs)
            self.found = np.empty((2, 4 * self.found.shape[1]), np.int32)

    def keys(self, count: int) -> Keys:
        pairs = self.run(count)
        rows, profiles = self.found[:, :pairs].astype(np.int64)
        keys: Keys = rows * self.profiles + profiles
        keys.sort()
        return keys


def brute_force(conjunctions: Conjunctions, messages: pa.RecordBatch) -> list[BruteForce]:
    coded = conjunctions.coded(messages)
    return [BruteForce(plan, kernel, conjunctions, coded) for plan, kernel in _kernels().items()]


@lru_cache
def _kernels() -> dict[str, Callable[..., int]]:
    """Compiled when first asked for; a benchmark's kernels are not worth a cache on disk."""
    from numba import njit

    compiled: dict[str, Any] = {"dense": _dense, "by message": _by_message, "strips": _strips}
    return {plan: njit(_SIGNATURE)(function) for plan, function in compiled.items()}


def _dense(wanted, attributes, lows, highs, symbols, values, block, rows, profiles):  # type: ignore[no-untyped-def]
    count = 0
    flags = np.empty(block, np.uint8)
    for begin in range(0, len(symbols), block):
        size = min(block, len(symbols) - begin)
        mine, kept = symbols[begin : begin + size], flags[:size]
        for c in range(len(wanted)):
            if count + size > len(rows):
                return -1
            symbol = wanted[c]
            for i in range(size):
                kept[i] = mine[i] == symbol
            for t in range(attributes.shape[1]):
                column = values[attributes[c, t], begin : begin + size]
                low, high = lows[c, t], highs[c, t]
                for i in range(size):
                    kept[i] &= np.uint8((column[i] >= low) & (column[i] < high))
            room = rows[count : count + size]
            found = 0
            for i in range(size):
                room[found] = begin + i
                found += kept[i]
            profiles[count : count + found] = c
            count += found
    return count


def _by_message(wanted, attributes, lows, highs, symbols, values, block, rows, profiles):  # type: ignore[no-untyped-def]
    count = 0
    same = np.empty(len(wanted) + 1, np.int32)
    for row in range(len(symbols)):
        symbol = symbols[row]
        found = 0
        for c in range(len(wanted)):
            same[found] = c
            found += wanted[c] == symbol
        if count + found > len(rows):
            return -1
        for i in range(found):
            c = same[i]
            good = True
            for t in range(attributes.shape[1]):
                value = values[attributes[c, t], row]
                good &= (value >= lows[c, t]) & (value < highs[c, t])
            rows[count] = row
            profiles[count] = c
            count += good
    return count


def _strips(wanted, attributes, lows, highs, symbols, values, block, rows, profiles):  # type: ignore[no-untyped-def]
    count = 0
    for begin in range(0, len(symbols), block):
        end = min(begin + block, len(symbols))
        for c in range(len(wanted)):
            if count + end - begin > len(rows):
                return -1
            symbol = wanted[c]
            for first in range(begin, end, 32):
                last = min(first + 32, end)
                strip = symbols[first:last]
                some = np.uint16(0)
                for i in range(len(strip)):
                    some |= np.uint16(strip[i] == symbol)
                if not some:
                    continue
                for row in range(first, last):
                    if symbols[row] == symbol:
                        good = True
                        for t in range(attributes.shape[1]):
                            value = values[attributes[c, t], row]
                            good &= (value >= lows[c, t]) & (value < highs[c, t])
                        if good:
                            rows[count] = row
                            profiles[count] = c
                            count += 1
    return count
