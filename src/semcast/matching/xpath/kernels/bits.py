"""Sets of small numbers as words of 64 bits: what is known of a document stays in the fastest cache."""

from __future__ import annotations

import numpy as np

from semcast.matching.xpath.kernels.compiled import inlined

ONE = np.uint64(1)
HALF = np.uint64(0xFFFFFFFF)


@inlined
def put(number, words):  # type: ignore[no-untyped-def]
    words[number >> 6] |= ONE << np.uint64(number & 63)


@inlined
def drop(number, words):  # type: ignore[no-untyped-def]
    words[number >> 6] &= ~(ONE << np.uint64(number & 63))


@inlined
def put_half(half, mask, words):  # type: ignore[no-untyped-def]
    """Put the numbers from ``32 · half`` on whose bits are set in ``mask``."""
    words[half >> 1] |= (np.uint64(mask) & HALF) << np.uint64((half & 1) << 5)


@inlined
def within(half, begin, end):  # type: ignore[no-untyped-def]
    """The mask of the numbers from ``begin`` up to ``end`` that stand in a half."""
    low, high = max(begin - (half << 5), 0), min(end - (half << 5), 32)
    return (1 << high) - (1 << low) if low < high else 0


@inlined
def is_in(number, words):  # type: ignore[no-untyped-def]
    return (words[number >> 6] >> np.uint64(number & 63)) & ONE != np.uint64(0)
