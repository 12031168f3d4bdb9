"""A standalone Spark cluster: its daemons, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pyspark

from semcast.pipeline.java import find_java


class Processes:
    """Spark daemons that end with the block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait(30)

    def start(self, name: str, *words: str) -> Path:
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        log = self.folder / f"{name}.log"
        with log.open("wb") as target:
            command = ["bash", str(home / "bin" / "spark-class"), *words]
            self.running.append(subprocess.Popen(command, env=environment, stdout=target, stderr=subprocess.STDOUT))
        return log


def awaited(log: Path, pattern: str, seconds: float = 120) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[found.lastindex or 0]
        time.sleep(0.2)
    raise AssertionError(f"{pattern!r} did not appear in:\n{log.read_text(errors='replace')[-3000:]}")
