"""Reorganisation as a Spark job: overlap, hierarchies, channels, trees, plan (DESIGN §9), ordered by a coordinator.

A driver offers a coordinator to make its plans. What can be spread over executors is: matching sampled messages, and
the overlap matrix. What searches is one task, so that neither the coordinator's machine nor the driver is kept from
what they do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from semcast.client.blocking import LoopThread
from semcast.client.planner import PlanMaker
from semcast.pipeline.match import shared
from semcast.pipeline.overlaps import overlap
from semcast.pipeline.statistics import sampled
from semcast.planning.plan import Plan
from semcast.protocol.coordinator.commissions import Commission, Found
from semcast.protocol.coordinator.planner import Statistics

GROUP = "semcast reorganisation"
"""Spark's name for the jobs."""


class Reorganised(NamedTuple):
    """A plan, and what it took."""

    packed: bytes
    epoch: int
    samples: int
    profiles: int
    statistics_s: float
    overlap_s: float
    plan_s: float

    @property
    def plan(self) -> Plan:
        return Found.unpacked(self.packed).plan


def reorganised(spark: SparkSession, commission: Commission, folder: Path | None = None) -> Reorganised:
    """Make a plan on Spark: from what sources sampled, the same that ``commission.found()`` makes here.

    ``folder`` holds what a pipeline has sampled (``Places.statistics``), which says more.
    """
    spark.sparkContext.setJobGroup(GROUP, f"{GROUP} for epoch {commission.epoch}")
    times = [time.perf_counter()]
    statistics = Statistics(commission.rows) if folder is None else sampled(spark, folder, commission)
    times.append(time.perf_counter())
    selectivity = commission.selectivity(statistics)
    if selectivity is not None:
        statistics = replace(statistics, matrix=overlap(spark, selectivity, least=1.0))
    times.append(time.perf_counter())
    found = _found(spark, commission, statistics)
    times.append(time.perf_counter())
    counts = commission.epoch, sum(map(len, statistics.rows.values())), len(commission.subscriptions)
    took = [after - before for before, after in pairwise(times)]
    return Reorganised(found, *counts, *took)


def _found(spark: SparkSession, commission: Commission, statistics: Statistics) -> bytes:
    load = shared(spark, (commission.packed(), statistics))

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        order, given = load()
        for _ in batches:
            found = Commission.unpacked(order).found(given).packed()
            yield pa.RecordBatch.from_arrays([pa.array([found], pa.binary())], ["plan"])

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(run, "plan binary").collect()
    return bytes(row.plan)


class SparkPlanner:
    """Makes an overlay's reorganisations on a Spark session, from when it is made until it is closed."""

    def __init__(
        self,
        spark: SparkSession,
        url: str,
        *,
        statistics: str | None = None,
        done: Callable[[Reorganised], None] | None = None,
    ) -> None:
        self._spark = spark
        self._folder = None if statistics is None else Path(statistics)
        self._done = done
        self._thread = LoopThread()
        try:
            self._maker = self._thread.run(self._opened(url))
        except BaseException:
            self._thread.end()
            raise

    async def _opened(self, url: str) -> PlanMaker:
        maker = PlanMaker(url, self._make, f"Spark, {self._spark.sparkContext.master}")
        await maker.open()
        return maker

    def close(self) -> None:
        """Offer no more plans; one that is being made is not waited for."""
        if not self._thread.over:
            self._thread.run(self._maker.close())
            self._thread.end()

    def __enter__(self) -> SparkPlanner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make(self, order: bytes) -> bytes:
        made = reorganised(self._spark, Commission.unpacked(order), self._folder)
        if self._done is not None:
            self._done(made)
        return made.packed
