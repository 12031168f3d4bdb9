"""`semcast bench publish`: messages that are durable when they are acknowledged, beside JetStream's default."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from semcast_experiments.bench.clients.duel import At, Peer, duel
from semcast_experiments.bench.clients.publishers import Jetstream, Ours, Publisher, Stint, jetstream
from semcast_experiments.bench.forward.run import target
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say

PEER = "JetStream"
JUDGED = 4000
"""Messages under way with which targets are judged: as many as NATS' own clients have, unless they are told otherwise.

With few, who waits for the disk before it acknowledges waits for little else.
"""


@dataclass(frozen=True)
class Size:
    bytes: tuple[int, ...] = (256, 1024)
    under_way: tuple[int, ...] = (256, JUDGED)
    """Messages that are not acknowledged yet, at most."""
    rounds: int = 7
    seconds: float = 1.0


QUICK = Size((256,), (256,), 1, 0.2)


def run_publish(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data."""
    size = QUICK if options.quick else Size()
    rng = np.random.default_rng(options.seed)

    def measure(ours: At, theirs: At | None) -> dict[str, Any]:
        publishers: list[Publisher] = [Ours(*ours)]
        if theirs is not None:
            publishers.append(Jetstream(*theirs))
        cells = [
            _cell(publishers, body, under_way, size, rng, say) for body in size.bytes for under_way in size.under_way
        ]
        return {"cells": cells, "targets": targets(cells, options.quick)}

    return duel("publish", Peer(PEER, "nats-server", jetstream), options, say, measure)


def _cell(
    publishers: Sequence[Publisher], body: int, under_way: int, size: Size, rng: np.random.Generator, say: Say
) -> dict[str, Any]:
    say(f"{body} bytes, {under_way} under way")
    bodies = [rng.bytes(body) for _ in range(256)]
    busy = round(os.getloadavg()[0], 1)
    stints: dict[str, list[Stint]] = {one.name: [] for one in publishers}
    for one in publishers:
        one.publish(bodies, under_way, size.seconds / 5)
    for turn in range(size.rounds):
        for one in publishers if turn % 2 == 0 else reversed(publishers):
            stints[one.name].append(one.publish(bodies, under_way, size.seconds))
    raced = {name: _record(own, stints.get(PEER)) for name, own in stints.items()}
    return {"bytes": body, "under_way": under_way, "load_average": busy, "contenders": raced}


def _record(own: list[Stint], peer: list[Stint] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "per_second": round(median(one.per_second for one in own)),
        "per_cpu_second": round(median(one.per_cpu_second for one in own)),
        "cpu_us_per_message": round(median(1e6 / one.per_cpu_second for one in own), 2),
        "cpu_share": round(median(one.cpu_s / one.wall_s for one in own), 2),
        "waited_share": round(median(one.waited_s / one.wall_s for one in own), 2),
        "rounds": [asdict(one) for one in own],
    }
    if peer is not None:
        pairs = list(zip(own, peer, strict=True))
        found["ratio"] = round(median(a.per_second / b.per_second for a, b in pairs), 2)
        found["ratio_cpu"] = round(median(a.per_cpu_second / b.per_cpu_second for a, b in pairs), 2)
    return found


def targets(cells: Sequence[dict[str, Any]], quick: bool) -> list[dict[str, Any]]:
    return [
        target(
            f"{cell['bytes']} B, {cell['under_way']} under way: durable messages per {what} over {PEER}'s",
            cell["contenders"]["semcast"].get(key),
            quick,
            at_least=1,
        )
        for cell in cells
        if cell["under_way"] == JUDGED or quick
        for key, what in (("ratio", "second"), ("ratio_cpu", "CPU-second"))
    ]
