"""`semcast simulate` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]


@contextmanager
def simulating() -> Iterator[subprocess.Popen[str]]:
    """Many runs, in a session of their own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    program = "from semcast.cli import main; import sys; sys.argv = ['semcast', 'simulate', '--runs', '100000']; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("simulating 100,000 runs")
        yield process
    finally:
        for pid in session(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


def session(leader: int) -> list[int]:
    """The processes that run in a session: all that its leader has started, whether it still lives or not."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, *numbers = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(numbers[2]) == leader and state != "Z":
            found.append(int(folder.name))
    return found


def soon(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_ctrl_c_ends_it_with_one_line() -> None:
    with simulating() as process:
        assert process.stderr is not None
        assert "100000 tasks" in process.stderr.readline()  # workers are at work
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in err


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_process_that_started_them(how: signal.Signals) -> None:
    """It alone is told; Ctrl-C in a terminal would tell all of them."""
    with simulating() as process:
        assert soon(lambda: len(session(process.pid)) == 1 + (os.cpu_count() or 1))
        process.send_signal(how)
        assert process.wait(30) == -how
        assert soon(lambda: session(process.pid) == [])
