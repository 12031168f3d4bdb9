"""How far a Spark job is, for whoever waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

Report = Callable[[int, int], None]
"""Told (tasks done, tasks in all) of what runs now."""

_SECONDS = 0.25


@contextmanager
def watched(spark: SparkSession, report: Report) -> Iterator[None]:
    """Call ``report`` a few times per second, from a thread, while jobs run in this block."""
    ended = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        while not ended.wait(_SECONDS):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
            if tasks:
                report(sum(done for done, _ in tasks), sum(total for _, total in tasks))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
