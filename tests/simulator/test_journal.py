"""Journals: the same run gives the same bytes, also under another hash seed; comparisons find the first difference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from semcast.model import SemcastError
from semcast.sim.faults import Crash, Jitter, Loss, Twice
from semcast.sim.journal import Comparison, Difference, Journal, read_header
from tests.simulator.worlds import Flooder, driver, join, line

ROOT = Path(__file__).parents[2]


def flooded(seed: int) -> list[bytes]:
    """Four brokers that flood each other, and all that can be drawn is drawn."""
    lines: list[bytes] = []
    world = driver(line(3, 4, 5), seed, journal=Journal(lines.append, seed, {"name": "flood"}))
    for at in range(4):
        join(world, f"b{at}", Flooder([f"b{to}" for to in range(4) if to != at]))
    world.plan(Loss(from_s=0.1, to_s=1.0, probability=0.2))
    world.plan(Twice(from_s=0.1, to_s=1.0, probability=0.2))
    world.plan(Jitter(from_s=0.1, to_s=1.0, most_ms=30))
    world.plan(Crash(from_s=0.5, to_s=0.7, party="b2"))
    world.agenda.run(2.0)
    return lines


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not() -> None:
    assert flooded(5) == flooded(5)
    assert flooded(5)[1:] != flooded(6)[1:]
    assert len(flooded(5)) > 300


def test_hash_order_has_no_say() -> None:
    program = (
        "import sys; from tests.simulator.test_journal import flooded; sys.stdout.buffer.write(b''.join(flooded(5)))"
    )
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    for hash_seed in ("0", "4321"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment, check=True)
        assert done.stdout == b"".join(flooded(5))


def test_a_line_says_when_who_and_what() -> None:
    lines: list[bytes] = []
    journal = Journal(lines.append, 7, {"name": "n"})
    journal.write(1.23456789, "b1", "live", {"positions": {"b0": 3}, "keys": {"y", "x"}})
    assert lines == [
        b'{"journal":1,"scenario":{"name":"n"},"seed":7}\n',
        b'{"at":1.234568,"keys":["x","y"],"kind":"live","party":"b1","positions":{"b0":3}}\n',
    ]


def test_a_comparison_finds_the_first_line_that_differs_or_is_missing() -> None:
    was = [b"a\n", b"b\n", b"c\n"]

    def compared(now: list[bytes]) -> Difference | None:
        comparison = Comparison(iter(was))
        for line_ in now:
            comparison(line_)
        return comparison.end()

    assert compared(was) is None
    assert compared([b"a\n", b"x\n", b"y\n"]) == Difference(2, "b", "x")
    assert compared([b"a\n", b"b\n"]) == Difference(3, "c", None)
    assert compared([*was, b"d\n"]) == Difference(4, None, "d")


def test_a_header_says_what_was_run(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with file.open("wb") as sink:
        Journal(sink.write, 7, {"name": "n"})
    assert (read_header(file).seed, read_header(file).scenario) == (7, {"name": "n"})


def test_what_is_no_journal_is_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with pytest.raises(SemcastError, match="cannot be read"):
        read_header(file)
    file.write_text("nonsense\n")
    with pytest.raises(SemcastError, match="no journal of a simulation"):
        read_header(file)
    file.write_text('{"journal": 99, "seed": 1, "scenario": {}}\n')
    with pytest.raises(SemcastError, match="version 99"):
        read_header(file)
