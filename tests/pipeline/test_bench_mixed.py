from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from semcast_experiments.bench import mixed
from semcast_experiments.cli.bench import bench
from semcast_experiments.workloads.relational import MixedWorkload

pytestmark = pytest.mark.spark


def test_mixed_profiles_match_as_duckdb_and_spark_say(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = {name: MixedWorkload(name, 4_000, 50, 2, 0.7) for name in ("W1", "W2")}
    monkeypatch.setattr(mixed, "MIXED", tiny)
    bench(["mixed"], quick=True, out=tmp_path / "mixed.json")
    assert "all match sets equal" in capsys.readouterr().err
    found = json.loads((tmp_path / "mixed.json").read_text())["found"]
    assert set(found) == {"W1", "W2", "W1 inside Spark"}
    for contested in found.values():
        assert all(peer["compared"]["pairs"] > 0 for peer in contested["peers"])
