"""How many messages a stream of bytes has brought, wherever it is cut."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numba import njit, types

_HEAD = 16  # bytes of a frame until its count of messages is known
_BYTES = types.Array(types.uint8, 1, "C")


class Counter(Protocol):
    @property
    def messages(self) -> float: ...

    def add(self, size: int) -> None:
        """The first ``size`` bytes of the buffer have come."""


class ByBytes:
    """Where all messages are equally long."""

    def __init__(self, message_bytes: int) -> None:
        self._bytes = 0
        self._each = message_bytes

    @property
    def messages(self) -> float:
        return self._bytes / self._each

    def add(self, size: int) -> None:
        self._bytes += size


class ByFrames:
    """Reads the heads of our own frames; control frames between them hold no messages."""

    def __init__(self, buffer: bytearray) -> None:
        self._array = np.frombuffer(buffer, np.uint8)
        self._state = np.zeros(3, np.int64)
        self._head = np.zeros(_HEAD, np.uint8)

    @property
    def messages(self) -> float:
        return float(self._state[2])

    def add(self, size: int) -> None:
        walk(self._array, size, self._state, self._head)


@njit(types.void(_BYTES, types.int64, types.int64[::1], types.uint8[::1]), cache=True, nogil=True)
def walk(data, size, state, head):  # type: ignore[no-untyped-def]
    """``state``: bytes of the frame still to be skipped, bytes of the next head that are there, messages so far."""
    at = 0
    while at < size:
        if state[0]:
            step = min(state[0], size - at)
            state[0] -= step
            at += step
            continue
        head[state[1]] = data[at]
        state[1] += 1
        at += 1
        if state[1] < 6 or (head[5] == 1 and state[1] < 16):
            continue
        length = np.int64(head[0]) | np.int64(head[1]) << 8 | np.int64(head[2]) << 16 | np.int64(head[3]) << 24
        if head[5] == 1:
            for place in range(4):
                state[2] += np.int64(head[12 + place]) << (8 * place)
        state[0] = length + 4 - state[1]
        state[1] = 0
