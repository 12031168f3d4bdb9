"""What measurements say: rates, costs per subscription, and which targets that meets. Nothing here measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from semcast_experiments.bench.forward.run import target
from semcast_experiments.bench.subscriptions.overlay import COORDINATOR, SOURCE

JUDGED = 100_000
"""The population that targets speak of."""
BURST = 1000


def spread(found: Sequence[float]) -> dict[str, Any]:
    """How many, median, 99th percentile and largest; None where there is nothing."""
    if not found:
        return {"count": 0, "p50": None, "p99": None, "max": None}
    p50, p99 = np.percentile(found, [50, 99]).tolist()
    return {"count": len(found), "p50": round(p50, 2), "p99": round(p99, 2), "max": round(max(found), 2)}


def figures(trial: dict[str, Any]) -> dict[str, Any]:
    """All that is said of one trial, from what was measured in it."""
    stages = trial["stages"]
    seconds = sum(stage["seconds"] for stage in stages)
    live = sum(stage["live"] for stage in stages)
    early, late = _early_and_late(stages, trial["distinct"])
    found = {
        "seconds": round(seconds, 3),
        "per_second": round(live / seconds, 1),
        "burst": {"profiles": stages[0]["through"], "seconds": stages[0]["seconds"]},
        "late_over_early": _ratio(late, early),
        "single_ms": spread(stages[-1]["single_ms"]),
        "bytes_per_subscription": _bytes(trial),
        "cpu_us_per_subscription": _cpu_us(trial),
        "waited_over_cpu": _waited(trial["before"], stages[-1]["readings"]),
        "turns": _turns(trial["before"], stages[-1]["readings"]),
    }
    return found | _of_churn(trial["publishing"]) if "publishing" in trial else found


def _of_churn(publishing: dict[str, Any]) -> dict[str, Any]:
    churn, calm = publishing["churn"], publishing["calm"]
    first, _, last = churn["readings"]
    return {
        "waited_over_cpu_in_churn": _waited(first, last),
        "turns_in_churn": _turns(first, last),
        "churn_over_calm": _ratio(churn["durable_ms"]["p99"], calm["durable_ms"]["p99"]),
        "memory_in_churn": _growth(churn["readings"]),
        "lost": sum(max(0, one["expected"] - one["delivered"]) for one in (calm, churn)),
    }


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else round(a / b, 3)


def _early_and_late(stages: Sequence[dict[str, Any]], distinct: int) -> tuple[float | None, float | None]:
    """Live per second in the first stage behind the burst and a tenth of all, and in the last one."""
    behind = [stage for stage in stages[1:] if stage["first"] >= distinct // 10]
    if len(behind) < 2:
        return None, None
    return behind[0]["live"] / behind[0]["seconds"], behind[-1]["live"] / behind[-1]["seconds"]


def _roles(trial: dict[str, Any]) -> dict[str, tuple[list[str], int]]:
    """Role → its members, and how many subscriptions they know together for each distinct profile."""
    return {
        "gateway": (trial["gateways"], trial["clients"]),
        "source": ([SOURCE], 1),
        "coordinator": ([COORDINATOR], 1),
    }


def _bytes(trial: dict[str, Any]) -> dict[str, float | None]:
    """Resident memory for each subscription behind the burst: at its gateway, and of each profile elsewhere."""
    first, last = trial["stages"][0], trial["stages"][-1]
    more = last["through"] - first["through"]
    found: dict[str, float | None] = {}
    for role, (names, each) in _roles(trial).items():
        grown = sum(last["readings"][name]["rss_bytes"] - first["readings"][name]["rss_bytes"] for name in names)
        found[role] = round(grown / (more * each), 1) if more else None
    return found


def _cpu_us(trial: dict[str, Any]) -> dict[str, float]:
    last = trial["stages"][-1]
    found = {}
    for role, (names, each) in _roles(trial).items():
        used = sum(last["readings"][name]["cpu_s"] - trial["before"][name]["cpu_s"] for name in names)
        found[role] = round(1e6 * used / (last["through"] * each), 1)
    return found


def _waited(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    """How long members waited for a processor, over how long they had one: above 1, the machine is measured."""
    waited, used = (sum(after[name][key] - before[name][key] for name in after) for key in ("waited_s", "cpu_s"))
    return _ratio(waited, used)


def _turns(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """How many turns took more than 20 ms of CPU meanwhile, and the longest since members were started."""
    return {
        "long": sum(after[name]["long_turns"] - before[name]["long_turns"] for name in after),
        "longest_ms": {name: round(after[name]["longest_turn_ms"], 1) for name in after},
    }


def _growth(readings: Sequence[dict[str, Any]]) -> float:
    """The memory of all members behind the second half of churn, over that behind the first."""
    middle, end = (float(sum(one["rss_bytes"] for one in reading.values())) for reading in readings[1:])
    return round(end / middle, 4)


def targets(trials: Sequence[dict[str, Any]], quick: bool) -> list[dict[str, Any]]:
    """The project's targets. Those that speak of 100,000 are judged with 100,000 and nothing else."""
    bursts = [trial["figures"]["burst"] for trial in trials if trial["figures"]["burst"]["profiles"] == BURST]
    burst_s = max((burst["seconds"] for burst in bursts), default=None)
    found = [target("seconds until 1,000 at once are live", burst_s, quick, at_most=1.5)]
    judged: dict[str, Any] = next(
        (trial for trial in trials if (trial["distinct"], trial["clients"]) == (JUDGED, 1)), {}
    )
    for name, path, bounds in _TARGETS:
        measured: Any = judged
        for key in path:
            measured = measured.get(key) if isinstance(measured, dict) else None
        found.append(target(name, measured, quick, **bounds))
    return found


_F = "figures"
_TARGETS: tuple[tuple[str, tuple[str, ...], dict[str, float]], ...] = (
    ("100,000 over 4 gateways: seconds in all", (_F, "seconds"), {"at_most": 60}),
    ("live per second", (_F, "per_second"), {"at_least": 2000}),
    ("rate from 90,000 on over that from 10,000 on", (_F, "late_over_early"), {"at_least": 0.7}),
    ("one more at 100,000: p50, ms", (_F, "single_ms", "p50"), {"at_most": 40}),
    ("one more at 100,000: p99, ms", (_F, "single_ms", "p99"), {"at_most": 250}),
    ("plans made since a broker was taken for dead", ("plans_meanwhile",), {"at_most": 0}),
    ("turns above 20 ms while it is loaded", (_F, "turns", "long"), {"at_most": 0}),
    ("bytes per subscription at its gateway", (_F, "bytes_per_subscription", "gateway"), {"at_most": 3000}),
    ("bytes per subscription at the source", (_F, "bytes_per_subscription", "source"), {"at_most": 1500}),
    ("bytes per subscription at the coordinator", (_F, "bytes_per_subscription", "coordinator"), {"at_most": 1000}),
    ("churn of 500/s: p99 until durable over that without", (_F, "churn_over_calm"), {"at_most": 2}),
    ("churn: memory of all members, second half over first", (_F, "memory_in_churn"), {"at_most": 1.02}),
    ("coordinator killed: seconds until one more is live", ("restarts", "coordinator", "works_s"), {"at_most": 5}),
)
