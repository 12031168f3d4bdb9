"""Matching on a real standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from semcast.pipeline.java import find_java

pytestmark = [pytest.mark.spark, pytest.mark.system]

PROGRAM = """
import sys
from pyspark import TaskContext
from semcast_experiments.workloads.relational import WORKLOADS
from semcast.pipeline import match, session
import pyarrow as pa

spark = session("cluster test", sys.argv[1], **{"spark.executor.memory": "512m", "spark.cores.max": "2"})
work = WORKLOADS["W1"]
batch, texts = work.messages(20_000), work.texts()[:500]
frame = spark.createDataFrame(pa.Table.from_batches([batch])).repartition(8)
matched = match(frame, texts).selectExpr("a0", "profiles").collect()
import semcast
language = semcast.language("relational")
here = language.matcher([language.parse(text) for text in texts]).match(batch)
expected = sorted((value, here.of(row).tolist()) for row, value in enumerate(batch.column("a0").to_pylist()))
assert sorted((row.a0, row.profiles) for row in matched) == expected
executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
print("executors", len(executors) - 1, "pairs", len(here))
spark.stop()
"""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master's address, once two workers have joined it."""
    folder = tmp_path_factory.mktemp("cluster")
    with Processes(folder) as processes:
        log = processes.start(
            "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        address = awaited(log, r"Starting Spark master at (spark://\S+)")
        for name in ("one", "two"):
            worker = (
                "org.apache.spark.deploy.worker.Worker",
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
                "-c",
                "1",
                "-m",
                "1g",
            )
            processes.start(name, *worker, "-d", str(folder / name), address)
        awaited(log, r"(?s)Registering worker.*Registering worker")
        yield address


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


def test_two_workers_match_what_one_process_matches(master: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(program), master], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    words = done.stdout.split()
    assert words[:2] == ["executors", "2"]
    assert int(words[3]) > 20_000
