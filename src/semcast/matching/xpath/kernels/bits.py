"""Sets of small numbers as words of 64 bits: what is known of a document stays in the fastest cache."""

from __future__ import annotations

import numpy as np

from semcast.matching.xpath.kernels.compiled import inlined

ONE = np.uint64(1)


@inlined
def put(number, words):  # type: ignore[no-untyped-def]
    words[number >> 6] |= ONE << np.uint64(number & 63)


@inlined
def drop(number, words):  # type: ignore[no-untyped-def]
    words[number >> 6] &= ~(ONE << np.uint64(number & 63))


@inlined
def is_in(number, words):  # type: ignore[no-untyped-def]
    return (words[number >> 6] >> np.uint64(number & 63)) & ONE != np.uint64(0)
