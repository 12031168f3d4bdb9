"""What a reorganisation costs as a Spark job, by number of profiles and samples, beside the same in one process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import semcast
from semcast.matching.matches import Matches
from semcast.model.message import ProfileText
from semcast.protocol.coordinator.commissions import Commission
from semcast.trees.generators import generate
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say, with_children
from semcast_experiments.workloads.relational import Workload

SIZES = ((1_000, 1_000), (7_000, 1_000), (7_000, 10_000))
"""(profiles, samples)."""
SCHEMES = ("masked", "semcast")
_QUICK = 20
_BROKERS, _GATEWAYS, _CHANNELS = 100, 32, 8


def reorganisations(workload: Workload, schemes: Sequence[str], options: Options, say: Say) -> list[dict[str, Any]]:
    """A record per scheme and size: seconds by the wall clock, and CPU seconds of all processes."""
    from semcast.cli.spark import session
    from semcast.pipeline.reorganise import reorganised

    spark = session("semcast bench", "local[2]")
    cpu = with_children().get("cpu", time.process_time)
    records = []
    for scheme in schemes:
        for profiles, samples in SIZES:
            size = (profiles // _QUICK, samples // _QUICK) if options.quick else (profiles, samples)
            say(f"reorganisation: {scheme}, {size[0]:,} profiles, {size[1]:,} samples")
            commission = commission_of(workload, scheme, *size, options.seed)
            reorganised(spark, commission_of(workload, scheme, 10, 10, options.seed))  # workers are there, and warm
            before = cpu()
            made = reorganised(spark, commission)
            spent = cpu() - before
            before = time.process_time()
            here = commission.found().plan
            alone = time.process_time() - before
            records.append(
                {
                    "scheme": scheme,
                    "profiles": made.profiles,
                    "samples": made.samples,
                    "matches": sum(len(row) for rows in commission.rows.values() for row in rows),
                    "order_bytes": len(commission.packed()),
                    "overlap_s": round(made.overlap_s, 3),
                    "plan_s": round(made.plan_s, 3),
                    "cpu_s": round(spent, 3),
                    "one_process_cpu_s": round(alone, 3),
                    "channels": len(here.channels),
                    "same": made.plan == here,
                }
            )
    return records


def commission_of(workload: Workload, scheme: str, profiles: int, samples: int, seed: int) -> Commission:
    """An order of an overlay of 100 brokers, each profile at one of 32 gateways."""
    texts = workload.texts(seed)[:profiles]
    language = semcast.language("relational")
    matches = language.matcher([language.parse(text) for text in texts]).match(workload.messages(samples, seed + 1))
    rng = np.random.default_rng(seed)
    topology = generate("waxman", _BROKERS, rng)
    ids = [broker.id for broker in topology.brokers]
    gateways = tuple(ids[place] for place in sorted(rng.choice(len(ids), _GATEWAYS, replace=False).tolist()))
    names = [f"p{number}" for number in range(len(texts))]
    at = rng.integers(0, _GATEWAYS, len(texts)).tolist()
    return Commission(
        term=1,
        epoch=1,
        scheme=scheme,
        channels=_CHANNELS,
        entropy=str(seed),
        spawn_key=(),
        brokers=topology.brokers,
        links=topology.links,
        gateways=gateways,
        sources=(ids[0],),
        profiles={name: ProfileText("s", "relational", text) for name, text in zip(names, texts, strict=True)},
        subscriptions={name: (gateways[place],) for name, place in zip(names, at, strict=True)},
        bounds=(),
        old=None,
        same_network=False,
        rows={ids[0]: _rows(matches, names)},
    )


def _rows(matches: Matches, names: list[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(names[number] for number in matches.of(row)) for row in range(matches.rows))


def notes(records: list[dict[str, Any]]) -> list[str]:
    """A line per record."""
    return [
        f"reorganisation, {one['scheme']}, {one['profiles']:,} profiles, {one['samples']:,} samples: overlap "
        f"{one['overlap_s']:.2f} s, channels and trees {one['plan_s']:.2f} s; {one['cpu_s']:.1f} CPU-s, in one process "
        f"{one['one_process_cpu_s']:.1f}"
        for one in records
    ]
