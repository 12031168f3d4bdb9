"""An overlay of one broker, as real processes: `semcast coordinator` and `semcast broker`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from semcast.model import SemcastError
from semcast.net.addresses import split_address
from semcast_experiments.bench.forward.servers import Server, end

STREAM = "topics"
_CONFIG = """
data = "data"
[topology]
file = "topology.json"
[streams.topics]
language = "topic"
[settings]
dead_s = 30
lease_s = 20
leader_s = 20
"""
_TOPOLOGY = {"brokers": [{"id": "b0", "x": 0.5, "y": 0.5, "roles": ["gateway", "source"]}], "links": []}


class Single:
    """Its broker's process is what is measured; the coordinator has nothing to do meanwhile.

    However busy the machine is, nobody is taken for dead, and the source has its lease.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "topology.json").write_text(json.dumps(_TOPOLOGY))
        (folder / "up.toml").write_text(_CONFIG)
        self._coordinator, address = _started("coordinator", str(folder / "up.toml"), "--name", "c0")
        try:
            self.process, broker = _started(
                "broker", "b0", "--coordinator", address, "--listen", "127.0.0.1:0", "--data", str(folder / "b0")
            )
        except SemcastError:
            end(self._coordinator)
            raise
        self.port = split_address(broker)[1]
        self.server = Server("semcast", self.process, self.stop)

    def stop(self) -> None:
        end(self.process)
        end(self._coordinator)


def _started(*words: str) -> tuple[subprocess.Popen[bytes], str]:
    """A process of ours, and the address that it says it has."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "semcast", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        after = time.monotonic() - begin
        raise SemcastError(f"semcast {words[0]} ended with exit code {process.wait()} after {after:.0f} s")
    return process, json.loads(line)["address"]
