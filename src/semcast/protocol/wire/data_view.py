"""Data frames as they came: read in place, and cut down to what goes on over each link.

A broker looks a frame's key up and tests its masks; bodies are copied where only part of a frame goes on, and
never otherwise.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from semcast.protocol.wire.data_codec import ALL, HEADER, read_key
from semcast.protocol.wire.frames import Data
from semcast.protocol.wire.framing import FrameError

_KEPT_ROOM = 1 << 20  # bytes; links that once split a huge frame must not keep its room for ever


@cache
def _kernels() -> ModuleType:
    # Clients use the codec and never see Data; numba takes a second to import.
    from semcast.protocol.wire import kernels

    return kernels


class Links:
    """The links of one tree at one broker, by the gateways behind each, made ready for ``DataView.split``.

    It keeps room to write in: not to be shared between threads.
    """

    __slots__ = ("ends", "room", "rows")

    def __init__(self, masks: Sequence[int]) -> None:
        words = (max(masks, default=0).bit_length() + 63) >> 6
        joined = bytearray().join([mask.to_bytes(8 * words, "little") for mask in masks])
        self._have(np.frombuffer(joined, "<u8").reshape(len(masks), words))

    @classmethod
    def of(cls, rows: NDArray[np.uint64]) -> Links:
        """Of masks in words."""
        links = cls.__new__(cls)
        links._have(rows)
        return links

    def _have(self, rows: NDArray[np.uint64]) -> None:
        self.rows = rows
        self.ends = np.zeros(len(rows), np.int64)
        self.room = np.empty(1 << 12, np.uint8)


class DataView:
    """An encoded Data frame, checked in full, with nothing copied but its names.

    ``data`` is the whole frame, to be sent on as it is.
    """

    __slots__ = ("_bytes", "_first", "_form", "_gap_bytes", "_masks_size", "_names",
                 "count", "data", "epoch", "key", "source")  # fmt: skip
    count: int
    epoch: int
    key: bytes
    """The tree, as ``key_bytes`` gives it."""
    source: str
    _form: int
    _gap_bytes: int
    _masks_size: int
    _first: int

    def __init__(self, data: bytes) -> None:
        """``data`` is one whole frame of this kind, by its prefix; FrameError where the rest makes no sense."""
        if len(data) < HEADER.size:
            raise FrameError(f"a data frame of {len(data)} bytes")
        self._bytes = np.frombuffer(data, np.uint8)
        kernels = _kernels()
        fault = kernels.check(self._bytes)
        if fault:
            raise FrameError(kernels.FAULTS[fault])
        self.data = data
        _, _, _, self._form, self._gap_bytes, key, source, self.count, self.epoch, self._first, self._masks_size = (
            HEADER.unpack_from(data)
        )
        end = HEADER.size + key
        self.key = data[HEADER.size : end]
        self._names: int = end + source
        try:
            self.source = data[end : self._names].decode()
            read_key(self.key)
        except ValueError as error:
            raise FrameError(f"a data frame with a name that is none: {error}") from error

    @property
    def masked(self) -> bool:
        """False where everything goes to all gateways of the channel."""
        return self._form != ALL

    @property
    def numbers(self) -> NDArray[np.uint64]:
        """The messages' numbers, ascending."""
        found = np.empty(self.count, np.uint64)
        found[:1] = self._first
        found[1:] = np.frombuffer(self.data, f"<u{self._gap_bytes}", max(0, self.count - 1), self._names)
        return np.add.accumulate(found, out=found)

    @property
    def masks(self) -> NDArray[np.uint64] | None:
        """Per message a row of bits, 64 gateways a word, the first in the lowest bit; None where there are none."""
        if self._form == ALL:
            return None
        rows: NDArray[np.uint64] = _kernels().masks_of(
            self._bytes, self._form, self.count, self._masks_at, self._masks_size
        )
        return rows

    @property
    def bodies(self) -> list[memoryview]:
        """The messages' bodies, in place."""
        held = memoryview(self.data)
        return [held[first:last] for first, last in self._places()]

    def frame(self) -> Data:
        """The frame as the role machines know it."""
        data = self.data
        bodies = tuple([data[first:last] for first, last in self._places()])
        return Data(read_key(self.key), self.epoch, self.source, self._all_numbers(), self._all_masks(), bodies)

    def narrowed(self, link_mask: int) -> bytes | None:
        """What goes on over a link with these gateways behind it, as ``split`` says."""
        return self.split(Links((link_mask,)))[0]

    def split(self, links: Links) -> list[bytes | None]:
        """Per link the frame with the messages for gateways behind it, their masks cut to those; None if none is left.

        It is ``data`` itself where every message goes on with its mask unchanged, and over every link where there are
        no masks. All links are decided in one compiled pass, O(links · masks + bytes that go on).
        """
        if self._form == ALL or not self.count:
            return [self.data if self.count else None] * len(links.ends)
        split = _kernels().split
        room = links.room
        needed = split(self._bytes, links.rows, links.ends, room)
        if needed > len(room):
            room = np.empty(needed + needed // 4, np.uint8)
            split(self._bytes, links.rows, links.ends, room)
            if needed <= _KEPT_ROOM:
                links.room = room
        return self._cut(room.data, links.ends.tolist())

    def _cut(self, room: memoryview, ends: list[int]) -> list[bytes | None]:
        found: list[bytes | None] = []
        at = 0
        for end in ends:
            if end < 0:
                found.append(self.data)
            elif end == at:
                found.append(None)
            else:
                found.append(bytes(room[at:end]))
                at = end
        return found

    @property
    def _masks_at(self) -> int:
        return self._names + self._gap_bytes * max(0, self.count - 1)

    def _places(self) -> list[tuple[int, int]]:
        """Where each body begins and ends."""
        lengths_at = self._masks_at + self._masks_size
        lengths = struct.unpack_from(f"<{self.count}I", self.data, lengths_at)
        return list(pairwise(accumulate(lengths, initial=lengths_at + 4 * self.count)))

    def _all_numbers(self) -> tuple[int, ...]:
        if not self.count:
            return ()
        code = "I" if self._gap_bytes == 4 else "Q"
        gaps = struct.unpack_from(f"<{self.count - 1}{code}", self.data, self._names)
        return tuple(accumulate(gaps, initial=self._first))

    def _all_masks(self) -> tuple[int, ...] | None:
        rows = self.masks
        if rows is None:
            return None
        row = 8 * rows.shape[1]
        data = rows.tobytes()
        return tuple([int.from_bytes(data[row * m : row * (m + 1)], "little") for m in range(self.count)])
