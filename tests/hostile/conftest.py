"""One overlay for all attacks of a run, in a process of its own, with all members on one event loop."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.hostile.canary import written

LONGEST_TURN_S = 0.5


class Target:
    """The overlay under attack."""

    def __init__(self, addresses: dict[str, str], log: Path) -> None:
        self.addresses = addresses
        self._log = log

    def where(self, name: str) -> tuple[str, int]:
        host, _, port = self.addresses[name].rpartition(":")
        return host, int(port)

    def log(self) -> str:
        return self._log.read_text()

    def metric(self, name: str, member: str = "b2") -> float:
        """The sum over all samples of a metric; 0 where there is none."""
        with urlopen(f"http://{self.addresses[member]}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        found = re.findall(rf"^semcast_{re.escape(name)}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)
        return sum(map(float, found))


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("hostile")
    log = folder / "up.log"
    process = subprocess.Popen(
        [sys.executable, "-m", "semcast", "up", str(written(folder)), "--embedded"],
        stdout=subprocess.PIPE, stderr=log.open("wb"), start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, log.read_text()[-3000:]
        yield Target(json.loads(line)["addresses"], log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert "Traceback" not in log.read_text()


@pytest.fixture
def unharmed(target: Target) -> Iterator[Target]:
    """The overlay, and after the test a look at its event loop: no turn may have been long, whatever came."""
    yield target
    assert target.metric("turn_longest_seconds") < LONGEST_TURN_S
