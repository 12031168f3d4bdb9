"""The benchmark itself: which populations, and what is reported of them."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from semcast.model import SemcastError
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say
from semcast_experiments.bench.report import machine, versions
from semcast_experiments.bench.subscriptions.figures import figures, targets
from semcast_experiments.bench.subscriptions.overlay import GATEWAYS
from semcast_experiments.bench.subscriptions.peers import peers
from semcast_experiments.bench.subscriptions.population import Population
from semcast_experiments.bench.subscriptions.trial import PARTS, Size, measured

POPULATIONS = (1_000, 10_000, 100_000, 1_000_000)
DISTINCT = 100_000
"""A larger population has so many profiles, and several clients for each."""
QUICK = Size(20, 4, 20, 0.5, 200, 1.0, 1.0, 50.0, 50)
QUICK_POPULATIONS = (200,)


def run_subscriptions(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data."""
    begin, size = time.perf_counter(), QUICK if options.quick else Size()
    asked = options.populations or (QUICK_POPULATIONS if options.quick else POPULATIONS)
    parts = options.only or PARTS
    populations = [population_of(count, options.seed) for count in asked]
    with tempfile.TemporaryDirectory(prefix="semcast-bench-") as folder:
        trials = [
            trial | {"figures": figures(trial)} for trial in measured(populations, size, parts, Path(folder), say)
        ]
    compared = [{"population": one.subscriptions, "servers": peers(one, say)} for one in populations]
    return {
        "benchmark": "subscriptions",
        "quick": options.quick,
        "seed": options.seed,
        "machine": machine(),
        "versions": versions(),
        "churn_hz": size.churn_hz,
        "populations": trials,
        "peers": compared,
        "targets": targets(trials, options.quick),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def population_of(count: int, seed: int) -> Population:
    """So many subscriptions; beyond ``DISTINCT``, several clients want the same."""
    clients = -(-count // DISTINCT)
    if count < 2 * len(GATEWAYS) or count % clients:
        raise SemcastError(
            f"a population of {count:,}: at least {2 * len(GATEWAYS)} are needed, and above {DISTINCT:,} "
            f"a multiple of the number of clients ({clients:,})"
        )
    return Population(count // clients, clients, seed)
