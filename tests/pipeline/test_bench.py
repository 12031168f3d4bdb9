from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from semcast.model import SemcastError
from semcast_experiments.bench import matching
from semcast_experiments.bench.race import Keys, Lap, Mismatch, compare, race
from semcast_experiments.cli.bench import bench

pytestmark = pytest.mark.spark

TINY = matching.Size(100, 1_024, 128, 0.01, 1, ("W1",), ("W1",), 512, 64, 0.05, 1, 200, 20)
IN_PROCESS = {
    ("DuckDB", "hash join"),
    ("DuckDB", "hash join with shape"),
    ("DuckDB", "union of shapes"),
    ("DuckDB", "hash join, NULL for unbounded"),
    ("DuckDB", "nested loop, profiles of any form"),
    ("numba brute force", "dense"),
    ("numba brute force", "by message"),
    ("numba brute force", "strips"),
}
IN_SPARK = {
    ("plain Spark", "broadcast hash join"),
    ("plain Spark", "broadcast nested loop"),
    ("plain Spark", "hash join, messages with arrays"),
    ("plain Spark", "hash join, NULL for unbounded"),
}


class Fixed:
    """A contender that finds the given pairs."""

    peer = "fixed"
    plan = "none"

    def __init__(self, *keys: int) -> None:
        self._keys = np.array(keys, np.int64)

    def run(self, count: int) -> int:
        return len(self._keys)

    def keys(self, count: int) -> Keys:
        return self._keys


def test_every_peer_finds_our_matches_and_the_report_holds_what_it_promises(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(matching, "QUICK", TINY)
    out = tmp_path / "folder" / "matching.json"
    bench(["matching"], quick=True, out=out, json=True)
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert report == json.loads(out.read_text())
    assert f"written to {out}" in printed.err
    for key in (
        "machine",
        "versions",
        "method",
        "workloads",
        "spark",
        "parsing",
        "singles",
        "index",
        "scaling",
        "targets",
    ):
        assert report[key], key
    assert set(report["workloads"]) == {"W1", "W2", "W3", "W4"}
    for found in report["workloads"].values():
        assert compared(found["peers"]) == IN_PROCESS
        assert set(found["ratios"]) == {"DuckDB", "numba brute force"}
    assert compared([report["spark"]["W1"]["ours"]]) == {("semcast", "mapInArrow")}
    assert compared(report["spark"]["W1"]["peers"]) == IN_SPARK
    assert {target["met"] for target in report["targets"]} == {None}
    assert spark.range(3).count() == 3  # the caller's Spark lives on


def compared(records: list[dict[str, object]]) -> set[tuple[object, object]]:
    """The contenders whose matches were compared with ours, pair by pair, and found equal."""
    found = set()
    for record in records:
        sets = record["compared"]
        assert isinstance(sets, dict)
        assert sets["equal"]
        assert sets["messages"] >= 64
        assert sets["pairs"] > 0
        found.add((record["peer"], record["plan"]))
    return found


def test_difference_in_a_pair_is_an_error_that_names_it() -> None:
    with pytest.raises(Mismatch, match="first message 3 with profile 4"):
        compare(Fixed(12, 34), Fixed(12, 35), 5, 10)


def test_difference_in_the_number_of_pairs_is_an_error_while_timing() -> None:
    laps = [Lap(Fixed(1, 2), 0, 5), Lap(Fixed(1), 0, 5)]
    with pytest.raises(Mismatch, match="in 5 messages"):
        race(laps, {"cpu": lambda: 0.0}, 1, print)


def test_difference_between_runs_that_drowns_in_noise_is_no_cost() -> None:
    lap = Lap(Fixed(), 10, 80, best={("cpu", 10): 0.99, ("cpu", 80): 1.0})
    assert lap.cost("cpu") is None
    assert Lap(Fixed(), 10, 80, best={("cpu", 10): 0.3, ("cpu", 80): 1.0}).cost("cpu") == pytest.approx(0.01)


def test_missing_duckdb_is_said_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SemcastError, match=r"pip install 'semcast\[bench\]'"):
        bench(["matching"], out=tmp_path / "matching.json")


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SemcastError, match=r"there is .*matching"):
        bench(["routing"], out=tmp_path / "x.json")
    with pytest.raises(SemcastError, match="there is W1, W2, W3, W4"):
        bench(["matching"], only=["W9"], out=tmp_path / "x.json")
