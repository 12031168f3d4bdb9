"""`semcast bench forward` with real servers, small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def bench(folder: Path, **environment: str) -> tuple[dict[str, object], str]:
    out = folder / "forward.json"
    done = subprocess.run(
        [sys.executable, "-m", "semcast", "bench", "forward", "--quick", "--json", "--out", str(out)],
        capture_output=True, text=True, timeout=280, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report == json.loads(out.read_text())
    return report, done.stderr


@pytest.mark.system
def test_all_servers_deliver_everything_that_they_are_sent(
    tmp_path: Path, require_program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":/usr/sbin")
    for program in ("nats-server", "mosquitto"):
        require_program(program)
    report, told = bench(tmp_path)
    (cell,) = report["cells"]  # type: ignore[misc]
    assert sorted(cell["contenders"]) == ["mosquitto", "nats-server", "semcast, 1 per frame", "semcast, 16 per frame"]
    for record in cell["contenders"].values():
        assert record["lost"] == 0
        assert record["per_second"] > 0
        assert record["ratio"] > 0
    assert all(row["lost"] == 0 for found in report["content"] for row in found["rows"])  # type: ignore[attr-defined]
    assert report["stopped_child"]["lost_by_siblings"] == 0  # type: ignore[index]
    assert "!!!" not in told


@pytest.mark.system
def test_a_peer_that_is_missing_is_missed_aloud(tmp_path: Path) -> None:
    report, told = bench(tmp_path, PATH="/nowhere", SEMCAST_PEERS="/nowhere")
    assert "!!! nats-server is not installed" in told
    assert "!!! mosquitto is not installed" in told
    (cell,) = report["cells"]  # type: ignore[misc]
    assert all("ratio" not in record for record in cell["contenders"].values())
