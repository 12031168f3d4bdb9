"""A driver that publishes to an overlay and subscribes to it is killed at random moments: every row is there once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.pipeline.overlays import overlay

pytestmark = [pytest.mark.spark, pytest.mark.system]

PROGRAM = """
import sys
from pathlib import Path
from semcast.pipeline import session

how, url, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
spark = session("killed", "local[2]", **{"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"})
now = {"availableNow": True} if how != "run" else {"processingTime": "100 milliseconds"}
sent = spark.readStream.schema("symbol string, price double").option("maxFilesPerTrigger", 2).json(str(folder / "in"))
wanted = spark.readStream.format("semcast").options(
    url=url, stream="quotes", profile="price >= 100", maxMessagesPerTrigger=700
).load()

def put():
    options = {"url": url, "stream": "quotes", "checkpointLocation": str(folder / "put")}
    return sent.writeStream.format("semcast").options(**options).trigger(**now).start()

def take():
    stream = wanted.writeStream.format("parquet").option("checkpointLocation", str(folder / "taken"))
    return stream.trigger(**now).start(str(folder / "out"))

if how == "begin":
    take().awaitTermination()
elif how == "finish":
    put().awaitTermination()
    take().awaitTermination()
else:
    queries = [put(), take()]
    print("running", flush=True)
    spark.streams.awaitAnyTermination()
"""
FILES, ROWS = 12, 200


def run(how: str, url: str, folder: Path) -> subprocess.Popen[bytes]:
    log = (folder / "driver.log").open("ab")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), how, url, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)


def finished(how: str, url: str, folder: Path) -> None:
    process = run(how, url, folder)
    assert process.wait(1200) == 0, (folder / "driver.log").read_text()[-4000:]


def killed(url: str, folder: Path, after: int, later_s: float) -> None:
    """Kill the driver with everything it started, when it has taken that many more batches, and a little later."""
    commits = folder / "taken" / "commits"
    before = len(list(commits.glob("*")))
    process = run("run", url, folder)
    end = time.monotonic() + 1200
    while len(list(commits.glob("*"))) < before + after and time.monotonic() < end:
        assert process.poll() is None, (folder / "driver.log").read_text()[-4000:]
        if all_put(folder) and not after:
            break
        time.sleep(0.05)
    time.sleep(later_s)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def all_put(folder: Path) -> bool:
    return len(list((folder / "put" / "commits").glob("*"))) >= FILES // 2


def prices(out: Path) -> Counter[float]:
    """As Spark reads it: only files that a batch has committed count."""
    from pyspark.sql import SparkSession

    from semcast.pipeline import session

    spark: SparkSession = session("semcast tests", "local[2]", **{"spark.driver.memory": "1g"})
    return Counter(row.price for row in spark.read.parquet(str(out)).select("price").collect())


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_every_row_is_there_once_whenever_the_driver_is_killed(tmp_path: Path, kills: int) -> None:
    chance = random.Random(kills)
    (tmp_path / "in").mkdir()
    for at in range(FILES):
        lines = [f'{{"symbol": "S{at}", "price": {ROWS * at + row}.0}}' for row in range(ROWS)]
        (tmp_path / "in" / f"{at:03}.json").write_text("\n".join(lines))
    with overlay(tmp_path) as url:
        finished("begin", url, tmp_path)
        for _ in range(kills):
            killed(url, tmp_path, chance.randint(0, 2), 3 * chance.random())
        finished("finish", url, tmp_path)
    assert prices(tmp_path / "out") == Counter(float(price) for price in range(100, FILES * ROWS))
