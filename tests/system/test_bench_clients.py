"""`semcast bench mqtt` and `semcast bench publish` with real servers, small."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from semcast_experiments.bench.clients.mqtt import CASES
from tests.system.benches import bench, check_deliveries, check_figures


@pytest.mark.system
@pytest.mark.parametrize(
    ("name", "program", "peer"), [("mqtt", "mosquitto", "mosquitto"), ("publish", "nats-server", "JetStream")]
)
def test_both_servers_do_all_that_they_are_asked(
    name: str,
    program: str,
    peer: str,
    tmp_path: Path,
    require_program: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/usr/sbin")
    require_program(program)
    report, told = bench(name, tmp_path)
    cells = {cell.get("case", ""): cell["contenders"] for cell in report["cells"]}
    receivers = {case.name: len(case.filters) for case in CASES} if name == "mqtt" else {"": 0}
    assert list(cells) == list(receivers)
    for case, contenders in cells.items():
        assert sorted(contenders) == sorted((peer, "semcast"))
        check_figures(contenders, peer, rounds=1, count="delivered" if name == "mqtt" else "messages")
        if name == "mqtt":
            check_deliveries(contenders, receivers[case])
    ours = cells["1→10" if name == "mqtt" else ""]["semcast"]
    assert [target["measured"] for target in report["targets"]] == [ours["ratio"], ours["ratio_cpu"]]
    assert [target["met"] for target in report["targets"]] == [None, None]
    assert "!!!" not in told


@pytest.mark.system
@pytest.mark.parametrize(("name", "program"), [("mqtt", "mosquitto"), ("publish", "nats-server")])
def test_a_peer_that_is_missing_is_missed_aloud(name: str, program: str, tmp_path: Path) -> None:
    report, told = bench(name, tmp_path, PATH="/nowhere", SEMCAST_PEERS="/nowhere")
    assert f"!!! {program} is not installed" in told
    assert all("ratio" not in record for cell in report["cells"] for record in cell["contenders"].values())
