"""Matching on a real standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


def test_two_workers_match_what_one_process_matches(master: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(program), master], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    words = done.stdout.split()
    assert words[:2] == ["executors", "2"]
    assert int(words[3]) > 20_000
