"""What all frames on the wire begin with: their length, the protocol's version and their kind."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from semcast.model import SemcastError

VERSION = 2
"""Of the protocol. Two members of an overlay, and a client and its overlay, need the same one."""
MAX_FRAME = 16 * 1024 * 1024
"""Bytes of a frame behind its length, at most; room for 256 messages of 64 KB."""

MAX_MESSAGE = 4 * 1024 * 1024
"""Bytes of a message's payload, at most: so that one always fits into a frame, with all that goes with it."""
MAX_CLIENT_FRAME = 6 * 1024 * 1024
"""Bytes of a frame that a client sends: room for the largest message, and for a megabyte of others before it."""
MAX_HELLO = 64 * 1024
"""Bytes of a frame on a connection before its hello."""
FRAME_BYTES = 1024 * 1024
"""Bytes of messages from which on a frame is full, however few they are."""

CONTROL, DATA, LEG = 0, 1, 2
"""Kinds of content."""

PREFIX = struct.Struct("<IBB")
LENGTH_BYTES = 4


class FrameError(SemcastError):
    """Bytes that are no frame, or a frame that the format has no bytes for."""

    def __init__(self, message: str, frames: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.frames = frames
        """What a decoder had read of the same piece, before the place where this happened."""


class VersionError(FrameError):
    """The other end speaks another version of the protocol."""

    def __init__(self, theirs: int) -> None:
        super().__init__(f"the other end speaks version {theirs} of the protocol, this one version {VERSION}")
        self.theirs = theirs


def fitting(sizes: Iterable[int]) -> int:
    """How many messages of these sizes fill one frame: one at least, if there is any."""
    count = total = 0
    for size in sizes:
        total += size
        if count and total > FRAME_BYTES:
            break
        count += 1
    return count


def prefix(content_bytes: int, kind: int) -> bytes:
    """The beginning of a frame with so much content."""
    length = content_bytes + PREFIX.size - LENGTH_BYTES
    if length > MAX_FRAME:
        checked_length(length + LENGTH_BYTES)
    return PREFIX.pack(length, VERSION, kind)


def checked_length(frame_bytes: int) -> int:
    """The size of a whole frame, as it is, if it may be that long."""
    if frame_bytes > MAX_FRAME + LENGTH_BYTES:
        raise FrameError(f"a frame of {frame_bytes - LENGTH_BYTES} bytes; {MAX_FRAME} are the most: send fewer at once")
    return frame_bytes


def whole(data: bytes, at: int, most: int = MAX_FRAME) -> int:
    """The size of the whole frame that begins at a place; the prefix must be there and is checked."""
    length, version, kind = PREFIX.unpack_from(data, at)
    if not PREFIX.size - LENGTH_BYTES <= length <= most:
        raise FrameError(f"a frame cannot be {length} bytes long; from 2 to {most} are possible")
    if version != VERSION:
        raise VersionError(version)
    if kind > LEG:
        raise FrameError(f"a frame of the unknown kind {kind}")
    return int(length) + LENGTH_BYTES


class Held:
    """What a connection has brought of a frame that is not whole yet, and whether it brought nonsense.

    After that nothing is read any more: where the next frame would begin is not known.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._needed = PREFIX.size
        """So many bytes have to be held before it is worth looking at them."""
        self._broken: str | None = None
        self.most = MAX_FRAME
        """Bytes that a frame may have here."""

    @property
    def size(self) -> int:
        """Bytes that are held."""
        return len(self._bytes)

    def together(self, data: bytes | bytearray | memoryview) -> bytes:
        """What is held with what has come, to be read; nothing where that cannot end a frame."""
        if self._broken is not None:
            raise FrameError(self._broken)
        if not self._bytes:
            return bytes(data)
        self._bytes += data
        if len(self._bytes) < self._needed:
            return b""
        whole_data = bytes(self._bytes)
        self._bytes.clear()
        return whole_data

    def keep(self, data: bytes, at: int) -> None:
        """Hold what is behind the last whole frame; its prefix is checked where it is there."""
        left = len(data) - at
        self._needed = whole(data, at, self.most) if left >= PREFIX.size else PREFIX.size
        self._bytes += data[at:]

    def broke(self, error: FrameError) -> None:
        self._broken = str(error)

    def end(self) -> None:
        """Nothing more comes: FrameError if a frame had begun."""
        if self._broken is None and self._bytes:
            self._broken = f"the connection ended within a frame, after {len(self._bytes)} bytes of it"
        if self._broken is not None:
            raise FrameError(self._broken)
