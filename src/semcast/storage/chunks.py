"""Records as they lie on disk: in chunks, each with a checksum.

A chunk is what one row holds: up to 256 records or 64 KB of bodies that follow each other. With one row per record a
commit of thousands takes twice the CPU time; with rows of any length, reading one record would cost as much as reading
all that was once written together.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec

from semcast.protocol.stores import Record
from semcast.protocol.wire.frames import Key

CHUNK_RECORDS = 256
CHUNK_BYTES = 64 << 10

_PLAIN, _WIDE = 0, 1
"""Forms: masks as integers; masks as bytes, for more than 64 gateways, which msgpack's integers cannot hold."""

_Wide = tuple[int, str, int, int, tuple[tuple[Key, bytes], ...], bytes]

_encoder = msgspec.msgpack.Encoder()
_plain = msgspec.msgpack.Decoder(list[Record])
_wide = msgspec.msgpack.Decoder(list[_Wide])
_head = struct.Struct("<QQB")


class BrokenChunk(ValueError):
    """What was read is not what was written."""


class Chunk(NamedTuple):
    """A row: records ``first`` to ``last``."""

    first: int
    last: int
    form: int
    checksum: int
    data: bytes


def cut(records: list[Record]) -> Iterator[list[Record]]:
    """Records in pieces for a chunk each."""
    begin = size = 0
    for place, record in enumerate(records, 1):
        size += len(record.body)
        if size >= CHUNK_BYTES or place - begin == CHUNK_RECORDS:
            yield records[begin:place]
            begin, size = place, 0
    if begin < len(records):
        yield records[begin:]


def pack(records: list[Record]) -> Chunk:
    first, last = records[0].number, records[-1].number
    try:
        form, data = _PLAIN, _encoder.encode(records)
    except OverflowError:
        form, data = _WIDE, _encoder.encode([_widened(record) for record in records])
    return Chunk(first, last, form, _checksum(first, last, form, data), data)


def unpack(chunk: Chunk) -> list[Record]:
    """The records of a chunk, or BrokenChunk."""
    first, last, form, checksum, data = chunk
    if not 0 < first <= last or _checksum(first, last, form, data) != checksum:
        raise BrokenChunk("their checksum is wrong")
    try:
        records = _plain.decode(data) if form == _PLAIN else [_narrowed(row) for row in _wide.decode(data)]
    except msgspec.DecodeError as error:
        raise BrokenChunk(str(error)) from error
    if [record.number for record in records] != list(range(first, last + 1)):
        raise BrokenChunk("their numbers are wrong")
    return records


def _checksum(first: int, last: int, form: int, data: bytes) -> int:
    """Over the place too: a sound chunk at another's place is broken."""
    return crc32(data, crc32(_head.pack(first, last, form & 0xFF)))


def _widened(record: Record) -> _Wide:
    routes = tuple((key, mask.to_bytes((mask.bit_length() + 7) // 8, "little")) for key, mask in record.routes)
    return record.number, record.origin, record.sequence, record.epoch, routes, record.body


def _narrowed(row: _Wide) -> Record:
    number, origin, sequence, epoch, routes, body = row
    masks = tuple((key, int.from_bytes(mask, "little")) for key, mask in routes)
    return Record(number, origin, sequence, epoch, masks, body)
