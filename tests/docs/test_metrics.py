"""The table of metrics in docs/operations.md has what ``/metrics`` says, and nothing else."""

from __future__ import annotations

import re
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from semcast.server.http.metrics import _PORT_COUNTERS
from tests.docs.blocks import ROOT
from tests.docs.stage import PATIENCE_S, Stage
from tests.pipeline.overlays import running

pytestmark = pytest.mark.system
OF_ROUTERS = {"filters", "filter_nodes", *(f"port_{name}_total" for name in _PORT_COUNTERS)}
ONLY_WHEN_SOMETHING_HAPPENED = {"notes_total", "refused_total"}


def documented() -> set[str]:
    text = (ROOT / "docs" / "operations.md").read_text()
    part = text.partition("\n## Metrics\n")[2].partition("What to be woken up for")[0]
    return {name for row in re.findall(r"^\| (`.+?) \|", part, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}


def families(address: str) -> set[str]:
    with urlopen(f"http://{address}/metrics", timeout=60) as answer:
        return set(re.findall(r"^# TYPE semcast_(\w+) ", answer.read().decode(), re.MULTILINE))


def test_every_metric_is_documented_and_every_documented_one_exists(tmp_path: Path) -> None:
    Stage(tmp_path)
    end = time.monotonic() + PATIENCE_S
    with running(tmp_path / "examples" / "up.toml") as addresses:
        found: set[str] = set()
        while not documented() - found <= OF_ROUTERS | ONLY_WHEN_SOMETHING_HAPPENED:  # some need a heartbeat first
            found = set().union(*(families(addresses[name]) for name in ("c0", "b0", "b1", "b2")))
            assert found - documented() == set()
            assert time.monotonic() < end, documented() - found
            time.sleep(0.2)
    assert documented() >= OF_ROUTERS
