"""The benchmark of the pipeline runs, small, and says what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from semcast_experiments.bench import pipeline
from semcast_experiments.cli.bench import bench
from semcast_experiments.workloads.relational import Workload

pytestmark = [pytest.mark.spark, pytest.mark.system]


def test_the_pipeline_is_measured_beside_its_ceiling(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = {name: Workload(name, 2_000, 50, 2, 0.7) for name in ("W1", "W2")}
    monkeypatch.setattr(pipeline, "WORKLOADS", tiny)
    bench(["pipeline"], quick=True, out=tmp_path / "pipeline.json")
    report = json.loads((tmp_path / "pipeline.json").read_text())
    assert [lap["plan"] for lap in report["found"]["W1"]["laps"]] == [
        "pass-through mapInArrow", "match and route", "broadcast hash join"
    ]  # fmt: skip
    assert all(ms > 0 for lap in report["found"]["W2"]["laps"] for ms in lap["batch_ms"].values())
    assert set(report["latency_ms"]) == {"inline stream", "through Spark", "empty micro-batch"}
    assert all(one["p50"] > 0 for one in report["latency_ms"].values())
    assert report["swaps"]["W2"]["profiles"] == 100
    assert {(one["scheme"], one["profiles"], one["samples"]) for one in report["reorganisations"]} == {
        (scheme, profiles, samples)
        for scheme in ("masked", "semcast")
        for profiles, samples in [(50, 50), (350, 50), (350, 500)]
    }
    assert all(one["same"] and one["plan_s"] > 0 for one in report["reorganisations"])
    assert len(capsys.readouterr().out.splitlines()) >= 7


def test_a_part_is_measured_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = {name: Workload(name, 2_000, 50, 2, 0.7) for name in ("W1", "W2")}
    monkeypatch.setattr(pipeline, "WORKLOADS", tiny)
    bench(["pipeline"], only=["swap"], quick=True, out=tmp_path / "pipeline.json")
    report = json.loads((tmp_path / "pipeline.json").read_text())
    assert set(report["swaps"]) == {"W1", "W2"}
    assert [report[part] for part in ("found", "reorganisations", "latency_ms", "targets")] == [{}, [], {}, []]
