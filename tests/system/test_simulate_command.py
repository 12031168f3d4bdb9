"""`semcast simulate` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.system
def test_ctrl_c_ends_it_with_one_line() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    program = "from semcast.cli import main; import sys; sys.argv = ['semcast', 'simulate', '--runs', '100000']; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("simulating 100,000 runs")
    assert "100000 tasks" in process.stderr.readline()  # workers are at work
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in err
