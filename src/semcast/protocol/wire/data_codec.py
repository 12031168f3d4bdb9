"""How Data is laid out on the wire: a header, the tree's key, the source, and four columns.

The columns are the gaps between message numbers, the masks, the lengths and the bodies. Masks are either rows of
bits or lists of gateways, per frame whichever is shorter; the header says where everything begins.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import ge, sub

import numpy as np

from semcast.protocol.wire.frames import Data, Key
from semcast.protocol.wire.framing import DATA, LENGTH_BYTES, MAX_FRAME, VERSION, FrameError, checked_length

HEADER = struct.Struct("<IBBBBHHIQQI")
"""Length, version, kind; form of masks, bytes of a gap, key, source; count, epoch, first number, bytes of masks."""

ALL, ROWS, LISTS, WIDE_LISTS = range(4)
"""Forms of masks: none; rows of bits; lists of gateways in one byte each, or in two."""

MAX_GATEWAYS = 8192
"""A hostile list of a few bytes makes a mask of so many bits: a kilobyte, and no more."""

_NARROW = 1 << 32
_VERSION_BYTES = 8
_FEW = 48  # gateways; more are found faster with numpy


def key_bytes(key: Key) -> bytes:
    """A tree's key as frames carry it, for tables that are looked up by ``DataView.key``."""
    channel, version = key
    return version.to_bytes(_VERSION_BYTES, "little") + channel.encode()


def read_key(data: bytes) -> Key:
    """The key of such bytes; ValueError where they are none."""
    if len(data) < _VERSION_BYTES:
        raise ValueError(f"a tree's key of {len(data)} bytes")
    return data[_VERSION_BYTES:].decode(), int.from_bytes(data[:_VERSION_BYTES], "little")


def encode_data(frame: Data) -> bytes:
    """The whole frame. Numbers must ascend; every message has a number, a body and, where there are any, a mask."""
    check_columns(frame.numbers, len(frame.bodies))
    if frame.masks is not None and len(frame.masks) != len(frame.bodies):
        raise FrameError(f"{len(frame.bodies)} messages with {len(frame.masks)} masks")
    try:
        return _joined(frame)
    except (struct.error, OverflowError, UnicodeEncodeError) as error:
        raise FrameError(f"a data frame cannot hold this: {error}") from error


def check_columns(numbers: Sequence[int], bodies: int) -> None:
    """Every body has a number, and numbers ascend."""
    if len(numbers) != bodies:
        raise FrameError(f"{bodies} bodies with {len(numbers)} numbers")
    if any(map(ge, numbers, numbers[1:])):
        raise FrameError("message numbers do not ascend")


def _joined(frame: Data) -> bytes:
    numbers, bodies = frame.numbers, frame.bodies
    count = len(bodies)
    key, source = key_bytes(frame.key), frame.source.encode()
    gaps = tuple(map(sub, numbers[1:], numbers))
    width = 4 if max(gaps, default=0) < _NARROW else 8
    form, masks = encode_masks(frame.masks)
    sizes = tuple(map(len, bodies))
    rest = len(key) + len(source) + width * len(gaps) + len(masks) + 4 * count
    length = checked_length(HEADER.size + rest + sum(sizes)) - LENGTH_BYTES
    first = numbers[0] if count else 0
    header = HEADER.pack(
        length, VERSION, DATA, form, width, len(key), len(source), count, frame.epoch, first, len(masks)
    )
    columns = (
        struct.pack(f"<{len(gaps)}{'I' if width == 4 else 'Q'}", *gaps),
        masks,
        struct.pack(f"<{count}I", *sizes),
    )
    return b"".join((header, key, source, *columns, *bodies))


def encode_masks(masks: Sequence[int] | None) -> tuple[int, bytes]:
    """The form and the column; rows where both would be as long."""
    if masks is None:
        return ALL, b""
    if min(masks, default=0) < 0:
        raise FrameError("a mask below 0")
    gateways = max(masks, default=0).bit_length()
    if gateways > MAX_GATEWAYS:
        raise FrameError(f"a mask with gateway {gateways - 1}; {MAX_GATEWAYS} gateways are the most")
    row = (gateways + 7) >> 3
    if row * len(masks) > MAX_FRAME:  # a receiver spreads lists out
        raise FrameError(f"{len(masks)} masks of {gateways} gateways in one frame: send fewer at once")
    counts = tuple(map(int.bit_count, masks))
    width = 1 if gateways <= 256 and max(counts, default=0) < 256 else 2
    if row * len(masks) <= width * (len(masks) + sum(counts)):
        return ROWS, b"".join([mask.to_bytes(row, "little") for mask in masks])
    return (LISTS if width == 1 else WIDE_LISTS), _lists(masks, counts, width, row)


def _lists(masks: Sequence[int], counts: tuple[int, ...], width: int, row: int) -> bytes:
    """How many gateways each message is for, then all of them, ascending within a message."""
    if sum(counts) <= _FEW:
        listed = [*counts, *(gateway for mask in masks for gateway in _gateways_in(mask))]
        return struct.pack(f"<{len(listed)}{'B' if width == 1 else 'H'}", *listed)
    rows = np.frombuffer(b"".join([mask.to_bytes(row, "little") for mask in masks]), np.uint8)
    gateways = np.flatnonzero(np.unpackbits(rows, bitorder="little").view(np.bool_)) % (8 * row)
    return np.array(counts, f"<u{width}").tobytes() + gateways.astype(f"<u{width}").tobytes()


def _gateways_in(mask: int) -> list[int]:
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
