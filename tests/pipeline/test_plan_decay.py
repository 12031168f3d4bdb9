"""`semcast plan --half-life`: what is older counts less, wherever the messages' times come from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from semcast.planning.plan import Plan
from semcast.trees.generators import generate
from semcast.trees.topology import Topology
from tests.pipeline.cases import Case, written

pytestmark = pytest.mark.spark

HALF_LIFE_S = 3600
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OLD = NOW - timedelta(seconds=HALF_LIFE_S)
DECAYED = ("--half-life", str(HALF_LIFE_S), "--time-column", "at")


class Ageing(Case):
    """Messages of two kinds: old ones, a half-life ago, and new ones, of other values."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, self.overlay())
        rng = np.random.default_rng(6)
        self.xs = [*rng.integers(0, 12, 150).tolist(), *rng.integers(8, 25, 150).tolist()]
        self.times = [OLD] * 150 + [NOW] * 150

    @staticmethod
    def overlay() -> Topology:
        return generate("waxman", 40, np.random.default_rng(1), degree=4)

    def lines(self, name: str) -> str:
        rows = [{"x": x, "at": time.timestamp()} for x, time in zip(self.xs, self.times, strict=True)]
        written(self.folder / name, list(rows))
        return str(self.folder / name)

    def plan(self, messages: str, *words: str) -> Plan:
        words = ("--messages", messages, "--scheme", "semcast", "--oracle", "0", *words)
        self.run("plan", "--out", "plan.json", *words)
        return Plan.from_json((self.folder / "plan.json").read_text())


def rates(plan: Plan) -> dict[str, float]:
    return {str(channel.expression): round(channel.rate, 9) for channel in plan.channels}


def test_a_message_that_is_a_half_life_old_counts_as_half_of_a_new_one(spark: SparkSession, tmp_path: Path) -> None:
    case = Ageing(tmp_path)
    decayed = case.plan(case.lines("m.jsonl"), *DECAYED)
    twice = [{"x": x} for x, time in zip(case.xs, case.times, strict=True) for _ in range(2 if time == NOW else 1)]
    by_hand = case.plan(str(written(tmp_path / "twice.jsonl", list(twice))))
    plain = case.plan(case.lines("m.jsonl"))
    assert rates(decayed) == rates(by_hand)
    assert rates(decayed) != rates(plain)


def test_times_are_seconds_or_timestamps_in_lines_and_tables(spark: SparkSession, tmp_path: Path) -> None:
    case = Ageing(tmp_path)
    expected = rates(case.plan(case.lines("m.jsonl"), *DECAYED))
    cells = list(zip(case.xs, case.times, strict=True))
    written(tmp_path / "text.jsonl", [{"x": x, "at": time.isoformat()} for x, time in cells])
    (tmp_path / "m.csv").write_text("x,at\n" + "".join(f"{x},{time.isoformat()}\n" for x, time in cells))
    (tmp_path / "s.csv").write_text("x,at\n" + "".join(f"{x},{time.timestamp()}\n" for x, time in cells))
    pa.parquet.write_table(pa.table({"x": case.xs, "at": case.times}), tmp_path / "m.parquet")
    naive = [time.replace(tzinfo=None) for time in case.times]
    pa.parquet.write_table(pa.table({"x": case.xs, "at": naive}), tmp_path / "naive.parquet")
    texts = [time.isoformat() for time in case.times]
    pa.parquet.write_table(pa.table({"x": case.xs, "at": texts}), tmp_path / "text.parquet")
    for name in ("text.jsonl", "m.csv", "s.csv", "m.parquet", "naive.parquet", "text.parquet"):
        assert rates(case.plan(str(tmp_path / name), *DECAYED)) == expected, name


def test_what_tells_no_time_counts_as_the_oldest_and_mistakes_are_named(spark: SparkSession, tmp_path: Path) -> None:
    case = Ageing(tmp_path)
    expected = rates(case.plan(case.lines("m.jsonl"), *DECAYED))
    known = [time if row % 5 or time == NOW else None for row, time in enumerate(case.times)]
    rows = [{"x": x} | ({"at": time.timestamp()} if time else {}) for x, time in zip(case.xs, known, strict=True)]
    words = ("plan", "--scheme", "semcast", "--oracle", "0", "--out", "plan.json")
    some = str(written(tmp_path / "some.jsonl", list(rows)))
    told = case.run(*words, "--messages", some, *DECAYED)[1]
    assert "30 of 300 messages tell no time and count as the oldest does" in told
    assert rates(Plan.from_json((tmp_path / "plan.json").read_text())) == expected
    wrong = [
        (("--half-life", "60"), "--half-life and --time-column go together"),
        (("--time-column", "at"), "--half-life and --time-column go together"),
        (("--half-life", "60", "--time-column", "when"), "no message tells its time in 'when'"),
    ]
    for more, text in wrong:
        assert text in case.run(*words, "--messages", some, *more, code=1)[1]
