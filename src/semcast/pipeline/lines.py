"""Lines of text files, read by tasks, each split on its own, in bounded memory.

Spark's text source takes a line as a whole, three times over, whatever its length: one line of a gigabyte
ended the JVM and all other messages with it. Here a line that is too long is told and passed over, and keeps
its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from semcast.pipeline.files import COMPRESSIONS, opened

MAX_LINE = 1 << 26
"""A longer line is no message; a payload of 16 MB, each character escaped, may be as long."""
_CHUNK = 1 << 22
_BATCH_ROWS, _BATCH_BYTES = 1 << 15, 1 << 26


class Piece(NamedTuple):
    """The lines of a file that begin at a byte from ``start`` to ``end`` (exclusive); no end: all."""

    path: str
    start: int = 0
    end: int | None = None


def pieces(files: Sequence[Path], size: int) -> list[Piece]:
    """The files in order, large ones in pieces; a compressed one cannot be cut."""
    found: list[Piece] = []
    for file in files:
        path, total = str(file.absolute()), file.stat().st_size
        if total <= size or file.suffix in COMPRESSIONS:
            found.append(Piece(path))
        else:
            found += [Piece(path, start, min(start + size, total)) for start in range(0, total, size)]
    return found


def count_lines(piece: Piece) -> int:
    """How many lines the piece has."""
    with _opened(piece) as stream:
        # A line begins at the file's first byte and behind each line feed but one at its very end.
        count, position, last = 0, max(0, piece.start - 1), b"\n"
        end = None if piece.end is None else piece.end - 1
        while chunk := stream.read(_CHUNK if end is None else min(_CHUNK, end - position)):
            count += chunk.count(b"\n")
            position += len(chunk)
            last = chunk[-1:]
        if position == 0 and piece.end is None:
            return 0
        if piece.start == 0:
            count += 1
        at_end = last == b"\n" and (piece.end is None or not stream.read(1))
        return count - at_end


def lines(piece: Piece) -> Iterator[list[bytes | None]]:
    """The lines of the piece, some thousands at a time; None for one that is too long."""
    found: list[bytes | None] = []
    size = 0
    for line in _lines(piece):
        found.append(line)
        size += len(line or b"")
        if len(found) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield found
            found, size = [], 0
    if found:
        yield found


def _lines(piece: Piece) -> Iterator[bytes | None]:
    """Line by line; what stands before the piece's first line is the end of another piece's last one."""
    end = float("inf") if piece.end is None else piece.end
    begin = max(0, piece.start - 1)
    held: list[bytes] = []
    length = 0
    with _opened(piece) as stream:
        while chunk := stream.read(_CHUNK):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                length += len(part)
                if begin >= piece.start:
                    yield b"".join([*held, part]) if length <= MAX_LINE else None
                begin += length + 1
                held, length = [], 0
                if begin >= end:
                    return
            length += len(rest)
            held = [*held, rest] if length <= MAX_LINE else []
            if begin < piece.start and begin + length >= end:
                return  # all of the piece is inside one line of another
        if length and begin >= piece.start:
            yield b"".join(held) if length <= MAX_LINE else None


def _opened(piece: Piece) -> Any:
    """The stream from the byte before the piece on: a line feed there says that a line begins with the piece."""
    if Path(piece.path).suffix in COMPRESSIONS:
        return opened(piece.path)
    stream = open(piece.path, "rb")  # noqa: SIM115
    stream.seek(max(0, piece.start - 1))
    return stream
