"""What was measured, as plain data, and which of the project's targets it meets."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from semcast_experiments.bench.race import Clocks, Lap

_PACKAGES = ("semcast", "numpy", "numba", "pyarrow", "duckdb", "pyspark")


class Target(NamedTuple):
    name: str
    at_least: float | None
    at_most: float | None
    path: tuple[str, ...]  # where in the report the figure stands


TARGETS = (
    Target("W1: DuckDB's CPU time per message over ours", 80, None, ("workloads", "W1", "ratios", "DuckDB")),
    Target("W2: DuckDB's CPU time per message over ours", 300, None, ("workloads", "W2", "ratios", "DuckDB")),
    Target("W4 over W3: our CPU time per message", None, 8, ("scaling", "w4_over_w3")),
    Target(
        "W1 inside Spark: plain Spark's time per message over ours", 20, None, ("spark", "W1", "ratios", "plain Spark")
    ),
    Target("seconds to build the index of W4's parsed profiles", None, 5, ("index", "seconds_cpu")),
    Target("profiles parsed per second on two cores", 10_000, None, ("parsing", "two_cores_per_second")),
    Target("single messages per second on W1", 20_000, None, ("singles", "messages_per_second")),
)


def contest(ours: Lap, peers: Iterable[Lap], clocks: Clocks) -> dict[str, Any]:
    """Ours and the peers' plans, each with its ratio to ours.

    ``ratios`` holds each peer's best plan; None where noise hid one of its plans, which might be the best.
    """
    first = next(iter(clocks))
    records = [peer.record(clocks) for peer in peers]
    mine = ours.record(clocks)
    of_peer: dict[str, list[float | None]] = {}
    for record in records:
        for clock in clocks:
            record[f"ratio_{clock}"] = _ratio(record[f"us_per_message_{clock}"], mine[f"us_per_message_{clock}"])
        of_peer.setdefault(record["peer"], []).append(record[f"ratio_{first}"])
    ratios = {peer: _smallest(found) for peer, found in of_peer.items()}
    return {"clock": first, "ours": mine, "peers": records, "ratios": ratios}


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return None if theirs is None or ours is None else round(theirs / ours, 2)


def _smallest(ratios: list[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return min(known) if len(known) == len(ratios) else None


def judged(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Each target with the figure measured; ``met`` is None where it was not measured.

    A quick run judges nothing: its workloads are not those that the targets speak of.
    """
    found = []
    for name, at_least, at_most, path in TARGETS:
        figure: Any = report
        for key in path:
            figure = figure.get(key) if isinstance(figure, dict) else None
        low, high = at_least or 0.0, float("inf") if at_most is None else at_most
        met = None if figure is None or report["quick"] else low <= figure <= high
        found.append({"target": name, "at_least": at_least, "at_most": at_most, "measured": figure, "met": met})
    return found


def machine() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": cores,
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load_average": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
