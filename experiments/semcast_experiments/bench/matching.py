"""The benchmark of matching: four workloads, ours against DuckDB, plain Spark and brute force.

Ours is timed with everything that a batch costs it, from Arrow columns to CSR; peers by slope, so that
reading their query and building their hash table do not count.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import semcast
from semcast.model import SemcastError
from semcast_experiments.bench.brute import brute_force
from semcast_experiments.bench.conjunctions import Conjunctions, read_conjunctions
from semcast_experiments.bench.duck import check_duckdb, duck_plans
from semcast_experiments.bench.ours import Ours, index_seconds, singles_per_second
from semcast_experiments.bench.parsing import parse_rates
from semcast_experiments.bench.race import Contender, Lap, Say, compare, in_process, race, sized, with_children
from semcast_experiments.bench.report import contest, judged, machine, versions
from semcast_experiments.workloads.relational import WORKLOADS, Workload

_METHOD = (
    "Times are the best of the rounds; contenders take turns within a round. In one process: CPU time, one thread, "
    "ours for a whole batch, peers by slope. Inside Spark: wall clock by slope on local[2] for all, CPU time of all "
    "processes beside it. A ratio is the peer's time per message over ours."
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    shrink: int  # W2 to W4 are this many times smaller
    messages: int
    checked: int  # messages whose match sets are compared, pair by pair
    seconds: float  # what one run of a peer may take
    rounds: int
    # Not W4: its start, a million profiles loaded in each worker, hides what messages cost.
    spark_workloads: tuple[str, ...]
    spark_thorough: tuple[str, ...]  # the workloads on which all plans of plain Spark run
    spark_messages: int
    spark_checked: int
    spark_seconds: float
    spark_rounds: int
    parsed: int
    singles: int


FULL = Size(1, 65_536, 4_096, 1.0, 5, ("W1", "W2", "W3"), ("W1",), 4_000_000, 2_048, 3.0, 5, 7_000, 2_000)
QUICK = Size(20, 16_384, 512, 0.1, 2, ("W1",), (), 1_000_000, 512, 0.5, 2, 2_000, 200)


@dataclass(frozen=True)
class Options:
    """``only`` names the workloads to run; empty means all. ``profiles``: how many, where a benchmark asks.

    ``populations``: how many subscriptions, for the benchmark of that name.
    """

    only: tuple[str, ...] = ()
    quick: bool = False
    seed: int = 1
    profiles: tuple[int, ...] = ()
    populations: tuple[int, ...] = ()


def run_matching(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data; Mismatch where a peer finds other pairs than ours."""
    unknown = [name for name in options.only if name not in WORKLOADS]
    if unknown:
        raise SemcastError(f"there is no workload {unknown[0]!r}; there is {', '.join(WORKLOADS)}")
    check_duckdb()
    bench = _Bench(options, QUICK if options.quick else FULL, say)
    report: dict[str, Any] = {
        "benchmark": "matching",
        "quick": options.quick,
        "seed": options.seed,
        "method": _METHOD,
        "machine": machine(),
        "versions": versions(),
    }
    begin = time.perf_counter()
    report |= bench.run()
    report["targets"] = judged(report)
    report["seconds"] = round(time.perf_counter() - begin, 1)
    return report


class _Bench:
    """One run of the benchmark; keeps our matchers of W3 and W4 until both can be compared."""

    def __init__(self, options: Options, size: Size, say: Say) -> None:
        self.options = options
        self.size = size
        self.say = say
        self.kept: dict[str, Ours] = {}
        self.found: dict[str, Any] = {"workloads": {}, "spark": {}}

    def run(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="semcast-bench-") as folder:
            for name in self.options.only or WORKLOADS:
                self._workload(self._shrunk(WORKLOADS[name]), Path(folder, name))
                gc.collect()
        if {"W3", "W4"} <= self.kept.keys():
            self.found["scaling"] = self._scaling()
        return self.found

    def _shrunk(self, workload: Workload) -> Workload:
        return workload if workload.name == "W1" else replace(workload, profiles=workload.profiles // self.size.shrink)

    def _workload(self, workload: Workload, folder: Path) -> None:
        name, size = workload.name, self.size
        self.say(f"{name}: {workload.profiles:,} profiles")
        texts = workload.texts(self.options.seed)
        parse = semcast.language("relational").parse
        profiles = [parse(text) for text in texts]
        messages = workload.messages(size.messages, self.options.seed + 1)
        ours = Ours(semcast.language("relational").matcher(profiles), messages)
        conjunctions = read_conjunctions(texts)
        peers: list[Contender] = [
            *duck_plans(conjunctions, messages),
            *brute_force(conjunctions, messages),
        ]
        self.found["workloads"][name] = {**_described(workload), **self._contest(name, ours, peers)}
        self._asides(workload, ours, profiles)
        if name in ("W3", "W4"):
            self.kept[name] = ours
        del peers  # and DuckDB's tables with them
        if name in size.spark_workloads:
            self._in_spark(workload, conjunctions, profiles, ours, folder)

    def _contest(self, name: str, ours: Ours, peers: Sequence[Contender]) -> dict[str, Any]:
        size, clocks = self.size, in_process()
        ours.run(size.messages)  # what is allocated once is not timed
        laps = [Lap(ours, 0, size.messages)]
        for peer in peers:
            self.say(f"{name}: comparing matches with {peer.peer}, {peer.plan}")
            pairs = compare(ours, peer, size.checked, ours.profiles)
            lap = sized(peer, clocks["cpu"], size.checked, size.seconds, size.messages)
            lap.compared, lap.pairs = size.checked, pairs
            laps.append(lap)
        race(laps, clocks, size.rounds, lambda text: self.say(f"{name}: {text}"))
        return contest(laps[0], laps[1:], clocks)

    def _asides(self, workload: Workload, ours: Ours, profiles: Sequence[Any]) -> None:
        """What is measured on one workload only."""
        size = self.size
        if workload.name == "W1":
            self.say("W1: single messages")
            rate = singles_per_second(ours, size.singles, size.rounds)
            self.found["singles"] = {"messages_per_second": round(rate)}
            self.say("W1: parsing, in processes of its own")
            rates = parse_rates(workload, self.options.seed, size.parsed, size.rounds)
            self.found["parsing"] = {key: round(rate) for key, rate in rates.items()}
        if workload.name == "W4":
            self.say(f"W4: building the index of {len(profiles):,} profiles")
            taken = index_seconds(profiles, min(3, size.rounds))
            self.found["index"] = {"profiles": len(profiles), **{f"seconds_{k}": round(v, 3) for k, v in taken.items()}}

    def _scaling(self) -> dict[str, Any]:
        """Our cost on W4 over that on W3, both measured anew in the same rounds."""
        clocks = in_process()
        laps = {name: Lap(ours, 0, self.size.messages) for name, ours in sorted(self.kept.items())}
        for lap in laps.values():
            lap.contender.run(lap.large)
        for _ in range(self.size.rounds):
            for lap in laps.values():  # not one race: these two find different pairs
                race([lap], clocks, 1, lambda _: None)
        small, large = (laps[name].cost("cpu") for name in ("W3", "W4"))
        return {
            "w4_over_w3": None if small is None or large is None else round(large / small, 2),
            "profiles": [laps[name].contender.profiles for name in ("W3", "W4")],  # type: ignore[attr-defined]
        }

    def _in_spark(
        self, workload: Workload, conjunctions: Conjunctions, profiles: Sequence[Any], known: Ours, folder: Path
    ) -> None:
        from semcast.cli.spark import session
        from semcast_experiments.bench.spark import quiet, spark_contenders

        name, size = workload.name, self.size
        self.say(f"{name}: inside Spark")
        folder.mkdir()
        messages: pa.RecordBatch = workload.messages(size.spark_messages, self.options.seed + 1)
        # It ends with this process; a caller's own goes on, and keeps its settings.
        spark = session("semcast bench", "local[2]").newSession()
        with quiet(spark):
            thorough = name in size.spark_thorough
            contenders = spark_contenders(spark, folder, conjunctions, profiles, messages, thorough)
            self.found["spark"][name] = self._spark_contest(name, Ours(known.matcher, messages), contenders)

    def _spark_contest(self, name: str, known: Ours, contenders: Sequence[Contender]) -> dict[str, Any]:
        size, clocks = self.size, with_children()
        probe = 8 * size.spark_checked
        laps = []
        for contender in contenders:
            self.say(f"{name} in Spark: comparing matches with {contender.peer}, {contender.plan}")
            pairs = compare(known, contender, size.spark_checked, known.profiles)
            lap = sized(contender, clocks["wall"], probe, size.spark_seconds, size.spark_messages)
            lap.compared, lap.pairs = size.spark_checked, pairs
            laps.append(lap)
        race(laps, clocks, size.spark_rounds, lambda text: self.say(f"{name} in Spark: {text}"))
        return contest(laps[0], laps[1:], clocks)


def _described(workload: Workload) -> dict[str, Any]:
    return {
        "profiles": workload.profiles,
        "symbols": workload.symbols,
        "ranges": workload.ranges,
        "selectivity": workload.selectivity,
        "matches_per_message": round(workload.selectivity * workload.profiles, 1),
    }
