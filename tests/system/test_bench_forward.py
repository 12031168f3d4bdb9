"""`semcast bench forward` with real servers, small."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.benches import bench, check_deliveries, check_figures


@pytest.mark.system
def test_all_servers_deliver_everything_that_they_are_sent(
    tmp_path: Path, require_program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/usr/sbin")
    for program in ("nats-server", "mosquitto"):
        require_program(program)
    report, told = bench("forward", tmp_path)
    (cell,) = report["cells"]
    assert sorted(cell["contenders"]) == ["mosquitto", "nats-server", "semcast, 1 per frame", "semcast, 16 per frame"]
    check_figures(cell["contenders"], "nats-server", rounds=2, count="delivered")
    check_deliveries(cell["contenders"], cell["fan"])
    assert [row["lost"] for found in report["content"] for row in found["rows"]] == [0]
    assert report["stopped_child"]["lost_by_siblings"] == 0
    records = [cell["contenders"][f"semcast, {each} per frame"] for each in (1, 16)]
    figures = [figure for record in records for figure in (record["ratio"], record["ratio_cpu"])]
    measured = [target["measured"] for target in report["targets"]]
    assert measured == [*figures, report["latency"][0]["ratio"], report["stopped_child"]["ratio"]]
    assert "!!!" not in told


@pytest.mark.system
def test_a_peer_that_is_missing_is_missed_aloud(tmp_path: Path) -> None:
    report, told = bench("forward", tmp_path, PATH="/nowhere", SEMCAST_PEERS="/nowhere")
    assert "!!! nats-server is not installed" in told
    assert "!!! mosquitto is not installed" in told
    (cell,) = report["cells"]
    assert all("ratio" not in record for record in cell["contenders"].values())
