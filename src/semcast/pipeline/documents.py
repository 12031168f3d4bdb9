"""Documents that are files, one message each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from semcast.matching.markup import MAX_BYTES
from semcast.matching.payloads import COLUMN
from semcast.pipeline.files import opened

_BATCH_BYTES = 1 << 26


def documents(paths: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[pa.RecordBatch, list[int]]]:
    """The files ``paths[row]`` as batches of payloads, and which of a batch could not be opened.

    At most 64 MB are held at a time. Of a larger file than a matcher takes, or one that unpacks to more, only so
    much is read that the matcher can tell.
    """
    payloads: list[bytes | None] = []
    size = 0
    for row in rows:
        payloads.append(_payload(paths[row]))
        size += len(payloads[-1] or b"")
        if size >= _BATCH_BYTES:
            yield _batch(payloads)
            payloads, size = [], 0
    if payloads:
        yield _batch(payloads)


def _payload(path: str) -> bytes | None:
    try:
        with opened(path) as stream:
            return bytes(stream.read(MAX_BYTES + 1))
    except (OSError, pa.ArrowException):
        return None


def _batch(payloads: list[bytes | None]) -> tuple[pa.RecordBatch, list[int]]:
    bad = [at for at, payload in enumerate(payloads) if payload is None]
    return pa.RecordBatch.from_arrays([pa.array(payloads, pa.binary())], names=[COLUMN]), bad
