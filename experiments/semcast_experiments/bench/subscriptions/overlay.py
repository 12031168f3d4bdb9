"""The overlay that is measured: `semcast up` with a process for each member, read from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semcast.model import SemcastError

SOURCE, COORDINATOR = "b0", "c0"
GATEWAYS = ("b2", "b4", "b6", "b7")
LONG_TURN_S = "0.02"
"""An edge of the members' histogram of turns."""
# As examples/up.toml, with free ports.
_CONFIG = """
name = "quotes"
scheme = "masked"
channels = 16
data = "data"
[topology]
kind = "random"
brokers = 8
degree = 3
seed = 7
sources = ["b0"]
gateways = ["b2", "b4", "b6", "b7"]
[streams.quotes]
language = "relational"
schema = { symbol = "string", price = "double", volume = "long" }
[streams.news]
language = "xpath"
[streams.sensors]
language = "topic"
[streams.charts]
language = "semantic"
"""
_START_S, _STOP_S, _BACK_S = 300.0, 60.0, 120.0


@dataclass(frozen=True)
class Reading:
    """A member at a moment."""

    rss_bytes: int
    cpu_s: float
    waited_s: float
    """Seconds that its threads were ready and did not run, since the machine had others to serve."""
    turns: int
    long_turns: int
    """Turns of its event loop that took more than 20 ms of CPU."""
    longest_turn_ms: float
    """Since it was started."""


class Overlay:
    """A running deployment."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder / "data"
        (folder / "up.toml").write_text(_CONFIG)
        self._log = folder / "up.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "semcast", "up", str(folder / "up.toml")],
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            )  # fmt: skip
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            words = self._log.read_text(errors="replace").strip().splitlines()
            raise SemcastError(f"semcast up has ended: {words[-1] if words else 'it said nothing'}")
        self.addresses: dict[str, str] = json.loads(line)["addresses"]

    @property
    def members(self) -> list[str]:
        return list(self.addresses)

    def url(self, name: str) -> str:
        return f"semcast://{self.addresses[name]}"

    def pid(self, name: str) -> int:
        return int((self._folder / name / "pid").read_text())

    def reading(self, name: str) -> Reading:
        pid = self.pid(name)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        counted = self.metrics(name)
        turns = round(counted["semcast_turn_seconds_count"])
        short = round(counted[f'semcast_turn_seconds_bucket{{le="{LONG_TURN_S}"}}'])
        return Reading(
            pages * os.sysconf("SC_PAGE_SIZE"),
            (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
            sum(int(task.read_text().split()[1]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9,
            turns,
            turns - short,
            1000 * counted["semcast_turn_longest_seconds"],
        )

    def readings(self) -> dict[str, Reading]:
        return {name: self.reading(name) for name in self.members}

    def metrics(self, name: str) -> dict[str, float]:
        lines = self._get(name, "/metrics").decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {what: float(value) for what, _, value in pairs}

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._get(name, "/statusz"))
        return found

    def _get(self, name: str, path: str) -> bytes:
        with urllib.request.urlopen(f"http://{self.addresses[name]}{path}", timeout=10) as answer:
            found: bytes = answer.read()
        return found

    def kill(self, name: str) -> int:
        """Kill a member as kill -9 does; `semcast up` starts it again. Returns the process that has gone."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    def serves_again(self, name: str, before: int) -> None:
        """Wait until a member that was killed answers as another process."""
        until = time.monotonic() + _BACK_S
        while time.monotonic() < until:
            if self.pid(name) != before:
                try:
                    self._get(name, "/statusz")
                    return
                except OSError:
                    pass
            time.sleep(0.02)
        raise SemcastError(f"{name} does not come back within {_BACK_S:g} s")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
