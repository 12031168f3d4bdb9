"""The compiled inner loops of routing, and of the likeness of signatures."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit("void(int64[::1], int32[::1], uint64[:,::1], uint64[:,::1])", cache=True, nogil=True)
def union_masks(indptr, indices, of_profile, found):  # type: ignore[no-untyped-def]
    """``found[m]`` = the union of the masks of the profiles that match message m; comes as 0."""
    words = found.shape[1]
    if words == 1:
        for m in range(len(indptr) - 1):
            one = np.uint64(0)
            for at in range(indptr[m], indptr[m + 1]):
                one |= of_profile[indices[at], 0]
            found[m, 0] = one
    elif words == 2:
        for m in range(len(indptr) - 1):
            one = np.uint64(0)
            two = np.uint64(0)
            for at in range(indptr[m], indptr[m + 1]):
                one |= of_profile[indices[at], 0]
                two |= of_profile[indices[at], 1]
            found[m, 0] = one
            found[m, 1] = two
    else:
        for m in range(len(indptr) - 1):
            for at in range(indptr[m], indptr[m + 1]):
                for w in range(words):
                    found[m, w] |= of_profile[indices[at], w]


@njit("void(uint64[:,::1], uint64[:,::1])", cache=True, nogil=True)
def transposed(masks, found):  # type: ignore[no-untyped-def]
    """Turn bits by message into bits by gateway, 64 × 64 at a time (Hacker's Delight's recursive exchange)."""
    block = np.empty(64, np.uint64)
    messages = masks.shape[0]
    gateways = found.shape[0]
    for column in range(found.shape[1]):
        for word in range((gateways + 63) >> 6):
            for i in range(64):
                m = 64 * column + i
                block[i] = masks[m, word] if m < messages else np.uint64(0)
            width = 32
            low = np.uint64(0x00000000FFFFFFFF)
            while width:
                k = 0
                while k < 64:
                    swap = ((block[k] >> np.uint64(width)) ^ block[k + width]) & low
                    block[k] ^= swap << np.uint64(width)
                    block[k + width] ^= swap
                    k = (k + width + 1) & ~width
                width >>= 1
                low ^= low << np.uint64(width)
            for i in range(min(64, gateways - 64 * word)):
                found[64 * word + i, column] = block[i]


@njit("void(int64[::1], int32[::1], int64[::1], int32[::1], uint64[:,::1])", cache=True, nogil=True)
def set_leaves(indptr, indices, leaf_ptr, leaves, rows):  # type: ignore[no-untyped-def]
    """Set bit m of row l for every leaf l that names a profile which matches message m."""
    for m in range(len(indptr) - 1):
        word = m >> 6
        bit = np.uint64(1) << np.uint64(m & 63)
        for at in range(indptr[m], indptr[m + 1]):
            profile = indices[at]
            for place in range(leaf_ptr[profile], leaf_ptr[profile + 1]):
                rows[leaves[place], word] |= bit


@njit("void(int8[::1], int32[::1], int64[::1], int32[::1], uint64[::1], uint64[:,::1])", cache=True, nogil=True)
def run(operators, targets, source_ptr, sources, everything, rows):  # type: ignore[no-untyped-def]
    """Compute the inner rows of a program one after the other: 0 = or, 1 = and, 2 = not."""
    words = rows.shape[1]
    for step in range(len(operators)):
        target = targets[step]
        operator = operators[step]
        for w in range(words):
            value = np.uint64(0) if operator == 0 else everything[w]
            for place in range(source_ptr[step], source_ptr[step + 1]):
                if operator == 0:
                    value |= rows[sources[place], w]
                elif operator == 1:
                    value &= rows[sources[place], w]
                else:
                    value &= ~rows[sources[place], w]
            rows[target, w] = value


@njit("void(float32[:,::1], int64, float32[::1])", cache=True, nogil=True)
def products(columns, number, found):  # type: ignore[no-untyped-def]
    """Add to ``found`` every column's scalar product with one of them, from the first row to the last."""
    for row in range(columns.shape[0]):
        factor = columns[row, number]
        if factor != 0:
            for column in range(columns.shape[1]):
                found[column] += columns[row, column] * factor
