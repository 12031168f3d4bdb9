"""Rows of bits in machine words, 64 messages or 64 gateways a word, the first in the lowest bit.

Not imported by the package itself: numba takes a second to import.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bits = NDArray[np.uint64]


def words(columns: int) -> int:
    """How many words a row of so many bits takes."""
    return (columns + 63) >> 6


def bits(rows: int, columns: int, row: NDArray[np.int64], column: NDArray[np.int64]) -> Bits:
    """Rows with the given places set."""
    found = np.zeros((rows, words(columns)), np.uint64)
    np.bitwise_or.at(found, (row, column >> 6), np.uint64(1) << (column & 63).astype(np.uint64))
    return found


def unpacked(held: Bits, columns: int) -> NDArray[np.bool_]:
    """The bits of a row, or of every row, one by one."""
    return np.unpackbits(held.view(np.uint8), axis=-1, count=columns, bitorder="little").astype(np.bool_)


def count(held: Bits) -> int:
    """How many bits are set in all."""
    return int(np.bitwise_count(held).sum())


@njit("int64(uint64)", cache=True, nogil=True, inline="always")
def ones(word):  # type: ignore[no-untyped-def]
    """How many bits are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit("int64(uint64)", cache=True, nogil=True, inline="always")
def lowest(word):  # type: ignore[no-untyped-def]
    """The number of the lowest bit that is set; 64 where none is."""
    return ones(~word & (word - np.uint64(1)))


@njit("int64(uint64)", cache=True, nogil=True, inline="always")
def length(word):  # type: ignore[no-untyped-def]
    """One more than the number of the highest bit that is set; 0 where none is."""
    word |= word >> np.uint64(1)
    word |= word >> np.uint64(2)
    word |= word >> np.uint64(4)
    word |= word >> np.uint64(8)
    word |= word >> np.uint64(16)
    word |= word >> np.uint64(32)
    return ones(word)


@njit("int64(uint64[::1], int64, int64[::1])", cache=True, nogil=True)
def bit_numbers(row, first, found):  # type: ignore[no-untyped-def]
    """Write the numbers of the set bits, from ``first`` on, and return how many there are."""
    count = 0
    for w in range(len(row)):
        word = row[w]
        while word:
            found[count] = first + 64 * w + lowest(word)
            count += 1
            word &= word - np.uint64(1)
    return count
