"""`semcast bench subscriptions` with a real overlay, tiny: what it says follows from what it measured."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semcast_experiments.bench.subscriptions.overlay import GATEWAYS
from semcast_experiments.bench.subscriptions.peers import peers
from semcast_experiments.bench.subscriptions.population import Population
from tests.system.benches import bench

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]
POPULATION = 60


def test_all_go_live_get_everything_and_the_figures_follow_from_the_readings(tmp_path: Path) -> None:
    report, told = bench(
        "subscriptions", tmp_path, "--populations", str(POPULATION), PATH="/nowhere", SEMCAST_PEERS="/nowhere"
    )
    (trial,) = report["populations"]
    stages, found = trial["stages"], trial["figures"]
    assert [stages[0]["first"], stages[-1]["through"]] == [0, POPULATION]
    assert sum(stage["live"] for stage in stages) == POPULATION
    assert all(stage["refused"] == 0 for stage in stages)
    assert found["seconds"] == pytest.approx(sum(stage["seconds"] for stage in stages), abs=0.001)
    assert found["per_second"] == pytest.approx(POPULATION / found["seconds"], rel=0.01)
    late, early = (stages[place]["live"] / stages[place]["seconds"] for place in (-1, 1))
    assert found["late_over_early"] == pytest.approx(late / early, abs=0.001)
    assert len(stages[-1]["single_ms"]) == found["single_ms"]["count"] >= 20
    assert found["single_ms"]["p99"] == pytest.approx(np.percentile(stages[-1]["single_ms"], 99), abs=0.01)
    _check_costs(trial)
    _check_messages(trial)
    for took in trial["restarts"].values():
        assert took["gave_up"] is None
        assert 0 < took["serves_s"] <= took["works_s"]
    assert [target["met"] for target in report["targets"]] == [None] * len(report["targets"])
    for peer in ("nats-server", "mosquitto"):
        assert f"!!! {peer} is not installed" in told
    assert report["peers"] == [{"population": POPULATION, "servers": []}]
    page = (tmp_path / "subscriptions.md").read_text()
    assert "| live per second |" in page
    assert "coordinator killed: seconds until one more is live" in page


def test_peers_take_all_subscriptions(require_program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/usr/sbin")
    for program in ("nats-server", "mosquitto"):
        require_program(program)
    said: list[str] = []
    found = peers(Population(3000, 2, 1), said.append)
    assert [one["peer"] for one in found] == ["nats-server", "mosquitto"]
    for one in found:
        assert (one["subscriptions"], one["connections"]) == (6000, 2 * len(GATEWAYS))
        assert one["per_second"] == pytest.approx(6000 / one["seconds"], rel=0.01)
        before, after = one["rss_bytes"]
        assert after > before
        assert one["bytes_per_subscription"] == pytest.approx((after - before) / 6000, abs=0.1)
        assert one["version"][0].isdigit()
    assert not any("!!!" in line for line in said)


def _check_costs(trial: dict[str, Any]) -> None:
    first, last, found = trial["stages"][0], trial["stages"][-1], trial["figures"]
    more = last["through"] - first["through"]
    for role, names in {"gateway": GATEWAYS, "source": ["b0"], "coordinator": ["c0"]}.items():
        grown = sum(last["readings"][name]["rss_bytes"] - first["readings"][name]["rss_bytes"] for name in names)
        assert found["bytes_per_subscription"][role] == pytest.approx(grown / more, abs=0.1), role
        used_s = sum(last["readings"][name]["cpu_s"] - trial["before"][name]["cpu_s"] for name in names)
        assert found["cpu_us_per_subscription"][role] == pytest.approx(1e6 * used_s / POPULATION, abs=0.1), role
    assert len(trial["before"]) == 9
    assert all(reading["rss_bytes"] > 10 << 20 and reading["turns"] > 0 for reading in trial["before"].values())


def _check_messages(trial: dict[str, Any]) -> None:
    """Two profiles match each message: so many deliveries there were, while profiles came and went and after kills."""
    publishing, found = trial["publishing"], trial["figures"]
    assert publishing["flood"]["delivered"] == 2 * publishing["flood"]["sent"] > 0
    for key in ("calm", "churn"):
        assert publishing[key]["delivered"] == publishing[key]["expected"] == 2 * publishing[key]["sent"] > 0, key
        assert publishing[key]["durable_ms"]["count"] == publishing[key]["sent"], key
    churn, calm = (publishing[key]["durable_ms"]["p99"] for key in ("churn", "calm"))
    assert found["churn_over_calm"] == pytest.approx(churn / calm, abs=0.001)
    assert publishing["churn"]["begun_hz"] > 0
    assert publishing["churn"]["ended_hz"] > 0
    _, middle, end = (sum(one["rss_bytes"] for one in all.values()) for all in publishing["churn"]["readings"])
    assert found["memory_in_churn"] == pytest.approx(end / middle, abs=0.0001)
    assert trial["delivered_at_the_end"]["delivered"] == trial["delivered_at_the_end"]["expected"] > 0
