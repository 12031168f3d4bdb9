"""The benchmark itself: what is measured, how long, and which targets that meets."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semcast_experiments.bench.forward.content import content
from semcast_experiments.bench.forward.contest import contenders, contest, latency, stopped_child
from semcast_experiments.bench.forward.servers import FANS, Server, start_mosquitto, start_nats, start_semcast
from semcast_experiments.bench.forward.stage import Stage
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say
from semcast_experiments.bench.report import machine, versions


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    fans: tuple[int, ...] = FANS
    bytes: tuple[int, ...] = (256, 1024)
    per_frame: tuple[int, ...] = (1, 16, 256)
    messages: int = 4096
    """Encoded beforehand, and sent over and over."""
    rounds: int = 5
    seconds: float = 1.0
    """Of a contender in a round."""
    blocks: int = 7
    singles: int = 150
    """Messages of a block, one at a time."""
    profiles: tuple[int, ...] = (1_000, 10_000)


QUICK = Size((10,), (256,), (1, 16), 1024, 2, 0.2, 1, 20, (100,))


def run_forward(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data."""
    begin, size = time.perf_counter(), QUICK if options.quick else Size()
    rng = np.random.default_rng(options.seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="semcast-bench-")))
        say("starting the servers")
        servers, stage = _servers(folder, stack, say)
        report = _measured(servers, stage, size, rng, say)
    report["targets"] = _targets(report, options.quick)
    return {
        "benchmark": "forward",
        "quick": options.quick,
        "seed": options.seed,
        "machine": machine(),
        "versions": versions(),
        **report,
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _servers(folder: Path, stack: ExitStack, say: Say) -> tuple[list[Server], Stage]:
    ours, stage = start_semcast(folder)
    stack.callback(ours.stop)
    found = [ours]
    for name, start in (("nats-server", start_nats), ("mosquitto", start_mosquitto)):
        server = start(folder)
        if server is None:
            say(f"!!! {name} is not installed: NOTHING IS MEASURED AGAINST IT (apt-get install {name})")
            continue
        stack.callback(server.stop)
        found.append(server)
    return found, stage


def _measured(
    servers: Sequence[Server], stage: Stage, size: Size, rng: np.random.Generator, say: Say
) -> dict[str, Any]:
    cells = []
    for fan in size.fans:
        for body in size.bytes:
            say(f"1→{fan}, {body} bytes")
            taking = contenders(servers, fan, body, size.per_frame, size.messages, rng)
            load = round(os.getloadavg()[0], 1)
            raced = contest(taking, size.rounds, size.seconds)
            cells.append({"fan": fan, "bytes": body, "load_average": load, "contenders": raced})
    say("hop latency")
    hops = [latency(servers, fan, size.blocks, size.singles, rng) for fan in size.fans]
    say("a receiver that takes nothing")
    (ours, *_), wide = servers, max(size.fans)
    (single, *_) = contenders([ours], wide, 256, (16,), size.messages, rng)
    stopped = stopped_child(ours, single.load, size.rounds, size.seconds)
    costs = []
    for count in size.profiles:
        say(f"masks beside content, {count:,} profiles")
        costs.append(content(ours, stage, count, size.per_frame[1:], size.rounds, size.seconds, rng))
    return {"cells": cells, "latency": hops, "stopped_child": stopped, "content": costs}


def _targets(report: dict[str, Any], quick: bool) -> list[dict[str, Any]]:
    raced: dict[str, Any] = next(
        (cell["contenders"] for cell in report["cells"] if (cell["fan"], cell["bytes"]) == (10, 256)), {}
    )
    found = []
    for each, wanted in ((1, 0.5), (16, 1.5)):
        record = raced.get(f"semcast, {each} per frame", {})
        for key, what in (("ratio", "second"), ("ratio_cpu", "CPU-second")):
            name = f"1→10, 256 B, {each} per frame: messages per {what} over nats-server's"
            found.append(target(name, record.get(key), quick, at_least=wanted))
    for hop in report["latency"]:
        name = f"1→{hop['fan']}: p50 hop latency over nats-server's"
        found.append(target(name, hop.get("ratio"), quick, at_most=1.5))
    name = "messages per second of nine siblings beside a stopped child, over without"
    found.append(target(name, report["stopped_child"]["ratio"], quick, at_least=0.9))
    return found


def target(
    name: str, measured: float | None, quick: bool, at_least: float | None = None, at_most: float | None = None
) -> dict[str, Any]:
    met = None
    if measured is not None and not quick:
        met = (at_least or 0.0) <= measured <= (float("inf") if at_most is None else at_most)
    return {"target": name, "at_least": at_least, "at_most": at_most, "measured": measured, "met": met}
