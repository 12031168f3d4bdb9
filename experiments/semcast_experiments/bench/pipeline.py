"""The benchmark of the pipeline: matching and routing inside Spark, beside its ceiling and a plain join.

The *ceiling* is the same job with a mapInArrow that hands its batches on untouched: what Spark needs to bring messages
to Python and back. Beside it the best plain Spark join, what it costs to take up another plan and to make one, and
how long messages take from a publisher to a client through Spark, through an inline stream, and through Spark with
nothing to do.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import semcast
from semcast.model.message import ProfileText
from semcast.planning.plan import Plan, PlannedChannel
from semcast.protocol.wire.frames import Switch
from semcast_experiments.bench.conjunctions import read_conjunctions
from semcast_experiments.bench.latency import latencies
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Clocks, Contender, Lap, Say, race, sized, with_children
from semcast_experiments.bench.reorganise import SCHEMES, notes, reorganisations
from semcast_experiments.bench.report import machine, versions
from semcast_experiments.bench.spark import SparkPlan, Stream, _drain, _queries
from semcast_experiments.workloads.relational import WORKLOADS, Workload

_GATEWAYS = 32
_CHANNELS = 4
_SIZES = {"W1": 0.4, "W2": 0.2}
"""Workload → the share of the ceiling that is wanted."""
PIPELINE_PARTS = (*_SIZES, "swap", *SCHEMES, "latency")
"""What can be measured by itself: a workload against its ceiling, plan swaps, reorganisations by scheme, latency."""


class _InSpark:
    """A frame per number of messages, drained into Spark's noop sink."""

    peer = "semcast"
    plan = ""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._frames: dict[int, Any] = {}

    def frame(self, count: int) -> Any:
        raise NotImplementedError

    def run(self, count: int) -> None:
        if count not in self._frames:
            self._frames[count] = self.frame(count)
        _drain(self._frames[count])

    def keys(self, count: int) -> Any:
        raise NotImplementedError


class PassThrough(_InSpark):
    """The ceiling."""

    plan = "pass-through mapInArrow"

    def frame(self, count: int) -> Any:
        frame = self.stream.read(count)
        return frame.mapInArrow(lambda batches: batches, frame.schema)


class RouteInSpark(_InSpark):
    """``semcast.pipeline.route``: matched, and routed by a masked plan; one more column comes back."""

    plan = "match and route"

    def __init__(self, stream: Stream, plan: Plan, profiles: dict[str, Any]) -> None:
        super().__init__(stream)
        self._plan, self._profiles = plan, profiles

    def frame(self, count: int) -> Any:
        from semcast.pipeline.route import route

        return route(self.stream.read(count), self._plan, self._profiles, source="s")


def star_plan(profiles: Sequence[str], rng: np.random.Generator) -> Plan:
    """Masked channels over all gateways, each through a hub of its own; each profile at one gateway."""
    gateways = tuple(f"g{number}" for number in range(_GATEWAYS))
    channels = tuple(
        PlannedChannel(
            id=f"c{hub}",
            stream=None,
            expression=None,
            profiles=(),
            gateways=gateways,
            rendezvous="s",
            tree=(("s", f"h{hub}"), *((f"h{hub}", gateway) for gateway in gateways)),
            rate=0.0,
        )
        for hub in range(_CHANNELS)
    )
    at = rng.integers(0, _GATEWAYS, len(profiles)).tolist()
    held: dict[str, tuple[str, ...]] = {
        profile: (gateways[place],) for profile, place in zip(profiles, at, strict=True)
    }
    return Plan(1, 1, "masked", gateways, held, channels, {})


def run_pipeline(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data."""
    begin = time.perf_counter()
    parts = options.only or PIPELINE_PARTS
    found = {name: _inside_spark(WORKLOADS[name], options, say) for name in _SIZES if name in parts}
    swaps = {name: _swap(WORKLOADS[name], options, say) for name in _SIZES if "swap" in parts}
    schemes = [scheme for scheme in SCHEMES if scheme in parts]
    plans = reorganisations(WORKLOADS["W1"], schemes, options, say) if schemes else []
    delays = _latencies(20 if options.quick else 200, say) if "latency" in parts else {}
    return {
        "benchmark": "pipeline",
        "quick": options.quick,
        "machine": machine(),
        "versions": versions(),
        "found": found,
        "swaps": swaps,
        "reorganisations": plans,
        "latency_ms": delays,
        "note": [*_throughput(found), *_costs(swaps), *notes(plans), *_delays(delays)],
        "targets": _targets(found, delays, options.quick),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _latencies(messages: int, say: Say) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="semcast-bench-") as folder:
        return latencies(Path(folder), messages, say)


def _inside_spark(workload: Workload, options: Options, say: Say) -> dict[str, Any]:
    from semcast.cli.spark import session

    spark = session("semcast bench", "local[2]")
    texts = workload.texts(options.seed)[: workload.profiles // (20 if options.quick else 1)]
    messages = workload.messages(20_000 if options.quick else 1_000_000, options.seed + 1)
    language = semcast.language("relational")
    profiles = {f"p{number}": language.parse(text) for number, text in enumerate(texts)}
    plan = star_plan(list(profiles), np.random.default_rng(options.seed))
    with tempfile.TemporaryDirectory(prefix="semcast-bench-") as folder:
        conjunctions = read_conjunctions(texts)
        coded = conjunctions.coded(messages)
        pq.write_table(conjunctions.wide(), Path(folder, "wide.parquet"))
        spark.read.parquet(str(Path(folder, "wide.parquet"))).createOrReplaceTempView("wide")
        stream = Stream(spark, Path(folder, "texts"), pa.Table.from_batches([messages]))
        (join,) = _queries(thorough=False).values()
        contenders: list[Contender] = [
            PassThrough(stream),
            RouteInSpark(stream, plan, profiles),
            SparkPlan(Stream(spark, Path(folder, "coded"), coded), "broadcast hash join", join, len(texts)),
        ]
        clocks, laps = with_children(), []
        for contender in contenders:
            say(f"{workload.name}: {contender.plan}")
            if contender.peer == "semcast":  # as many for each: what a batch costs apart from its rows has to show
                contender.run(messages.num_rows)
                laps.append(Lap(contender, messages.num_rows // 8, messages.num_rows))
            else:
                seconds = 0.2 if options.quick else 4.0
                laps.append(sized(contender, clocks["wall"], 8_192, seconds, messages.num_rows // 4))
        race(laps, clocks, 1 if options.quick else 3, lambda text: say(f"{workload.name}: {text}"))
    return {"profiles": len(texts), "laps": [_record(lap, clocks) for lap in laps], **_shares(laps)}


def _record(lap: Lap, clocks: Clocks) -> dict[str, Any]:
    """As of any race, and how long whole batches take, from the driver's call until all of it is through."""
    batches = {size: round(1000 * lap.best["wall", size], 1) for size in (lap.small, lap.large)}
    return lap.record(clocks) | {"batch_ms": batches}


def _shares(laps: Sequence[Lap]) -> dict[str, float | None]:
    """Of the ceiling's messages a second, by the wall clock and by CPU time."""
    ceiling, ours, join = laps
    shares: dict[str, float | None] = {}
    for clock in ("wall", "cpu"):
        costs = [lap.cost(clock) if (clock, lap.large) in lap.best else None for lap in (ceiling, ours, join)]
        top, mine, theirs = costs
        shares[f"of_ceiling_{clock}"] = None if top is None or mine is None else round(top / mine, 3)
        shares[f"times_join_{clock}"] = None if theirs is None or mine is None else round(theirs / mine, 1)
    return shares


def _swap(workload: Workload, options: Options, say: Say) -> dict[str, float]:
    """What it costs a driver and a worker to take up a plan with one profile more."""
    from semcast.pipeline.plans import StreamMatching

    say(f"{workload.name}: another plan")
    texts = workload.texts(options.seed)[: workload.profiles // (20 if options.quick else 1)]
    profiles = tuple((f"p{at}", ProfileText("s", "relational", text), ("g0",)) for at, text in enumerate(texts))
    more = (*profiles, ("new", ProfileText("s", "relational", "symbol = 'S1' AND a0 > 0.5"), ("g0",)))
    matching = StreamMatching("s", "relational")
    first = _seconds(lambda: matching.follow(Switch(1, 1, "masked", ("g0",), profiles, ())))
    second = _seconds(lambda: matching.follow(Switch(1, 2, "masked", ("g0",), more, ())))
    sent = _seconds(lambda: pickle.loads(pickle.dumps(matching)))
    return {"profiles": len(texts), "first_s": first, "one_more_s": second, "to_a_worker_s": sent}


def _seconds(do: Any) -> float:
    begin = time.process_time()
    do()
    return round(time.process_time() - begin, 4)


def _throughput(found: dict[str, Any]) -> list[str]:
    lines = []
    for name, one in found.items():
        rates = [
            f"{record['plan']} {1 / record['us_per_message_wall'] * 1e3:,.0f} k/s"
            for record in one["laps"]
            if record["us_per_message_wall"]
        ]
        share = one["of_ceiling_wall"]
        told = "" if share is None else f"; {share:.0%} of the ceiling"
        lines.append(f"{name}, {one['profiles']:,} profiles: {', '.join(rates)}{told}")
        for size in one["laps"][0]["batch_ms"]:
            times = [f"{record['plan']} {record['batch_ms'][size]:,.0f} ms" for record in one["laps"][:2]]
            lines.append(f"{name}, a batch of {size:,} messages: {', '.join(times)}")
    return lines


def _costs(swaps: dict[str, Any]) -> list[str]:
    return [
        f"{name}, {one['profiles']:,} profiles: the first plan takes {one['first_s']:.2f} CPU-s, "
        f"one with a profile more {one['one_more_s']:.3f}, sending it to a worker {one['to_a_worker_s']:.3f}"
        for name, one in swaps.items()
    ]


def _delays(delays: dict[str, dict[str, float]]) -> list[str]:
    return [
        f"{name}: p50 {one['p50']:.0f} ms, p99 {one['p99']:.0f} ms of {one['messages']:.0f}"
        for name, one in delays.items()
    ]


def _targets(found: dict[str, Any], delays: dict[str, dict[str, float]], quick: bool) -> list[dict[str, Any]]:
    targets = [
        (f"{name} inside Spark: share of the ceiling", least, None, found[name]["of_ceiling_wall"])
        for name, least in _SIZES.items()
        if name in found
    ]
    inline = [one["p50"] for name, one in delays.items() if name == "inline stream"]
    wanted = [*targets, *(("an inline stream over three hops: p50 in ms", None, 20.0, p50) for p50 in inline)]
    return [
        {
            "target": name,
            "at_least": least,
            "at_most": most,
            "measured": figure,
            "met": None if quick or figure is None else (least or 0.0) <= figure <= (most or float("inf")),
        }
        for name, least, most, figure in wanted
    ]
