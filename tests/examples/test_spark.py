"""The example of Spark and an overlay runs as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.overlays import running

pytestmark = [pytest.mark.spark, pytest.mark.system]
ROOT = Path(__file__).parents[2]


def test_the_notebook_publishes_and_gets_back_what_it_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "up.toml"
    calm = "dead_s = 30\nlease_s = 20\nleader_s = 20"
    text = (ROOT / "examples" / "up.toml").read_text().replace("../semcast-data", "data")
    file.write_text(text.replace("dead_s = 2.5", calm))
    with running(file) as addresses:
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "spark_quotes.py"), str(tmp_path / "out")],
            env={**os.environ, "SEMCAST_URL": "semcast://" + addresses["c0"]},
            capture_output=True,
            text=True,
            timeout=280,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    table = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("|")]
    counts = {cells[0].strip(): cells[1].strip() for cells in table[1:]}
    assert {symbol: int(count) for symbol, count in counts.items() if symbol != "TICK"} == {
        "S0": 1, "S1": 1, "S2": 1, "S3": 1, "S4": 2, "S5": 2, "S6": 1
    }  # fmt: skip
    assert int(counts["TICK"]) > 0
