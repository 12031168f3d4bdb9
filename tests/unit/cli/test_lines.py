"""Lines of a file or a pipe, as an event loop is given them."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.cli.lines import Lines
from semcast.model import SemcastError


async def everything(file: Path) -> list[bytes]:
    return [line for batch in [batch async for batch in Lines(file)] for line in batch]


def descriptor_path(descriptor: int) -> Path:
    return Path(f"/dev/fd/{descriptor}")


@given(st.lists(st.binary(max_size=200).filter(lambda line: b"\n" not in line and b"\r" not in line)), st.booleans())
def test_all_lines_of_a_file_come_in_order(lines: list[bytes], closed: bool) -> None:
    reading, writing = os.pipe()
    text = b"\n".join(lines) + (b"\n" if closed and lines else b"")
    os.write(writing, text)
    os.close(writing)
    try:
        found = asyncio.run(everything(descriptor_path(reading)))
    finally:
        os.close(reading)
    assert found == text.split(b"\n")[: None if text.rpartition(b"\n")[2] else -1]


def test_a_line_is_given_while_the_pipe_is_open_and_a_stop_ends_it() -> None:
    async def read() -> list[list[bytes]]:
        reading, writing = os.pipe()
        lines = Lines(descriptor_path(reading))
        given = aiter(lines)
        os.write(writing, b"one\r\ntwo\nhal")
        found = [await anext(given)]
        os.write(writing, b"f\nthr")
        found.append(await anext(given))
        lines.stop()
        found += [batch async for batch in given]
        os.close(writing)
        os.close(reading)
        return found

    assert asyncio.run(read()) == [[b"one", b"two"], [b"half"]]


def test_a_line_of_many_pieces_costs_time_in_proportion_to_its_length(tmp_path: Path) -> None:
    def seconds(size: int) -> float:
        file = tmp_path / "long"
        file.write_bytes(b"x" * size + b"\nend")
        begun = time.process_time()
        assert [len(line) for line in asyncio.run(everything(file))] == [size, 3]
        return time.process_time() - begun

    seconds(1 << 20)
    assert seconds(64 << 20) < 5 * (0.05 + 8 * seconds(8 << 20))


def test_reading_stands_still_while_nobody_takes_lines(tmp_path: Path) -> None:
    file = tmp_path / "many"
    file.write_bytes(b"line\n" * 500_000)

    async def ahead() -> int:
        lines = Lines(file)
        given = aiter(lines)
        await anext(given)
        await asyncio.sleep(0.2)
        return lines.ahead

    assert asyncio.run(ahead()) <= 4


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_an_error_with_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(SemcastError, match="cannot be read"):
        asyncio.run(everything(tmp_path / name))
