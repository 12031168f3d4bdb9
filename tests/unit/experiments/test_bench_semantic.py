"""The benchmark of semantic routers: its shape, and that a difference ends it."""

from __future__ import annotations

import pytest

from semcast_experiments.bench import Options
from semcast_experiments.bench import semantic as bench
from semcast_experiments.bench.race import Mismatch


def test_every_way_is_measured_and_names_the_same_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_QUICK", bench.Scale((30,), 10, 4, 1))
    report = bench.run_semantic(Options((), True, 1, (20, 60)), lambda _: None)
    assert [race["interests"] for race in report["races"]] == [20, 60]
    for race in report["races"]:
        assert set(race["us_per_packet"]) == {"reading", "tagged", "shared", "filters", "each"}
        assert race["nodes"]["of the ports' filters"] <= race["nodes"]["of the interests"]
    (target,) = report["targets"]
    assert target["met"] is None, "a quick run judges nothing"
    assert len(report["note"]) == 2


def test_a_way_that_names_other_ports_ends_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_QUICK", bench.Scale((40,), 10, 10, 1))
    monkeypatch.setattr(bench._Router, "tagged", lambda self, root: [])
    monkeypatch.setattr(bench, "CHARTS", bench.Charts(levels=(1.0, 0.0, 0.0)))
    with pytest.raises(Mismatch, match="by tagged"):
        bench.run_semantic(Options((), True, 1, ()), lambda _: None)
