"""The benchmark of topics: the paper's evaluation, with its plots beside the report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say
from semcast_experiments.figures.topics import topics

FOLDER = Path("build", "bench", "topics")


def run_topics(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data; tables and plots are left in FOLDER."""
    begin = time.perf_counter()
    result = topics(options.quick, options.seed, FOLDER, say)
    rates = dict(zip(("naive", "engine", "stream"), result["topics_per_second"].values(), strict=True))
    targets = [
        _target("topics per second over split-and-compare", 500, rates["engine"] / rates["naive"], options.quick),
        _target("the same again for repeated topics, in batches", 5, rates["stream"] / rates["engine"], options.quick),
    ]
    seconds = round(time.perf_counter() - begin, 1)
    return {"benchmark": "topics", **result, "targets": targets, "seconds": seconds}


def _target(name: str, at_least: float, measured: float, quick: bool) -> dict[str, Any]:
    met = None if quick else measured >= at_least
    return {"target": name, "at_least": at_least, "at_most": None, "measured": round(measured, 1), "met": met}
