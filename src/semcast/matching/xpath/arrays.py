"""The arrays that kernels work on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


def ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int32)


def packed(parts: Iterable[bytes]) -> tuple[Bytes, Ints, Ints]:
    """Texts behind each other, with where each begins and ends."""
    known = list(parts)
    ends = np.cumsum([len(part) for part in known], dtype=np.int64)
    begins = np.concatenate(([0], ends))[:-1]
    return np.frombuffer(b"".join(known), np.uint8).copy(), begins.astype(np.int32), ends.astype(np.int32)
