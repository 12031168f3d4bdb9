"""Lines in pieces: each once, whatever the cuts; a line that is too long keeps its place and takes no room."""

from __future__ import annotations

import bz2
import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semcast.model import SemcastError
from semcast.pipeline import lines as module
from semcast.pipeline.files import data_files
from semcast.pipeline.lines import Piece, count_lines, lines, pieces


def read(found: list[Piece]) -> list[bytes | None]:
    return [line for piece in found for batch in lines(piece) for line in batch]


@given(st.lists(st.sampled_from([b"", b"a", b"bc", b"x" * 9]), max_size=9), st.booleans(), st.integers(1, 12))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_is_read_once_whatever_the_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[bytes], ended: bool, size: int
) -> None:
    monkeypatch.setattr(module, "_CHUNK", 4)
    file = tmp_path / "m.jsonl"
    whole = b"\n".join(texts) + (b"\n" if ended and texts else b"")
    file.write_bytes(whole)
    wanted = whole.removesuffix(b"\n").split(b"\n") if whole else []
    cut = pieces([file], size)
    assert read(cut) == wanted
    counts = [count_lines(piece) for piece in cut]
    assert counts == [len(read([piece])) for piece in cut]


@pytest.mark.parametrize("ending", ["gz", "bz2"])
@pytest.mark.parametrize("whole", [b"", b"a", b"a\nb", b"a\n\n", b"\n"])
def test_compressed_files_are_read_as_one_piece(tmp_path: Path, ending: str, whole: bytes) -> None:
    file = tmp_path / f"m.jsonl.{ending}"
    file.write_bytes((gzip if ending == "gz" else bz2).compress(whole))
    (piece,) = pieces([file], 1)
    wanted = whole.removesuffix(b"\n").split(b"\n") if whole else []
    assert read([piece]) == wanted
    assert count_lines(piece) == len(wanted)


def test_a_line_that_is_too_long_is_passed_over_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LINE", 1 << 20)
    file = tmp_path / "m.jsonl"
    with file.open("wb") as out:
        out.write(b"first\n")
        for _ in range(64):
            out.write(b"x" * (1 << 20))
        out.write(b"\n" + b"y" * (1 << 20) + b"\nlast")
    tracemalloc.start()
    try:
        for size in (1 << 30, 5_000_000):
            found = read(pieces([file], size))
            assert found == [b"first", None, b"y" * (1 << 20), b"last"]
            assert sum(map(count_lines, pieces([file], size))) == 4
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["m.jsonl.deflate", "a.xml.deflate"])
def test_what_cannot_be_unpacked_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(SemcastError, match=r"pack it as \.gz"):
        data_files(tmp_path / name)
