"""`semcast bench mqtt` and `semcast bench publish` with real servers, small."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.system.benches import bench


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
    assert report["cells"]
    for cell in report["cells"]:
        assert sorted(cell["contenders"]) == sorted((peer, "semcast"))
        for record in cell["contenders"].values():
            assert record.get("lost", 0) == 0
            assert record["per_second"] > 0
            assert record["ratio"] > 0
    assert all(target["met"] is None and target["measured"] > 0 for target in report["targets"])
    assert "!!!" not in told


@pytest.mark.system
@pytest.mark.parametrize(("name", "program"), [("mqtt", "mosquitto"), ("publish", "nats-server")])
def test_a_peer_that_is_missing_is_missed_aloud(name: str, program: str, tmp_path: Path) -> None:
    report, told = bench(name, tmp_path, PATH="/nowhere", SEMCAST_PEERS="/nowhere")
    assert f"!!! {program} is not installed" in told
    assert all("ratio" not in record for cell in report["cells"] for record in cell["contenders"].values())
