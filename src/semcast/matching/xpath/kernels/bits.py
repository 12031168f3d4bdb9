"""Sets of small numbers as words of 64 bits: what is known of a document stays in the fastest cache."""

from __future__ import annotations

import numpy as np

from semcast.matching.xpath.kernels.compiled import inlined, inner

ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def put(number, words):  # type: ignore[no-untyped-def]
    words[number >> 6] |= ONE << np.uint64(number & 63)


@inlined
def drop(number, words):  # type: ignore[no-untyped-def]
    words[number >> 6] &= ~(ONE << np.uint64(number & 63))


@inlined
def is_in(number, words):  # type: ignore[no-untyped-def]
    return (words[number >> 6] >> np.uint64(number & 63)) & ONE != np.uint64(0)


@inner
def put_all(begin, end, words):  # type: ignore[no-untyped-def]
    """All numbers from ``begin`` to ``end``, a word at a time."""
    if begin >= end:
        return
    first, last = begin >> 6, (end - 1) >> 6
    head, tail = ALL << np.uint64(begin & 63), ALL >> np.uint64(63 - ((end - 1) & 63))
    if first == last:
        words[first] |= head & tail
        return
    words[first] |= head
    words[first + 1 : last] = ALL
    words[last] |= tail
