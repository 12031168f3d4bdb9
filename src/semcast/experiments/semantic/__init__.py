"""The evaluation of the *thesis*: chart corrections, and what routers that filter them cost.

Charts (the generator) → load of one router (``load``), straight lines through it (``fits``); a network on the virtual
clock (``network``) → CSV, JSON, plots and a note on what agrees.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from semcast.experiments.claims import Claim, judged
from semcast.experiments.output import write_table
from semcast.experiments.semantic import load, network
from semcast.experiments.semantic.fits import Line, line
from semcast.experiments.semantic.load import WAYS, PerPacket, Window
from semcast.experiments.semantic.network import Change, Delay

__all__ = ["semantic"]


class Fit(NamedTuple):
    """A row like those of Table 5.2: load in percent = m · packets per second + y0."""

    sources: int
    profiles: str
    matching: str
    m: float
    m_error: float
    y0: float
    y0_error: float
    explained: float


def semantic(quick: bool, seed: int, out: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure the evaluation anew and write it to ``out``; some minutes, or half of one where ``quick``."""
    out.mkdir(parents=True, exist_ok=True)
    scale = load.QUICK if quick else load.FULL
    windows = load.windows(scale, seed, progress)
    fits = _fits(windows)
    costs = [
        *load.by_ports(scale, seed, progress),
        *load.by_selectivity(scale, seed, progress),
        *load.by_leakage(scale, seed, progress),
    ]
    changes, delays = network.network(network.QUICK if quick else network.FULL, seed, progress)
    ports = {way: _line(costs, "ports", way) for way in WAYS}
    result = {
        "seed": seed,
        "quick": quick,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "fits": [fit._asdict() for fit in fits],
        "ports": {way: fit._asdict() for way, fit in ports.items()},
        "note": _note(fits, ports, costs, changes, delays),
        "claims": [list(claim) for claim in claims(fits, ports, costs)],
    }
    tables = {"load": windows, "fits": fits, "costs": costs, "changes": changes, "delays": delays}
    return result | {"files": [str(file) for file in _write(result, tables, out)]}


def _write(result: dict[str, Any], tables: dict[str, Any], out: Path) -> list[Path]:
    from semcast.experiments.semantic.figures import draw  # matplotlib takes a second to import

    files = [write_table(out / f"semantic-{name}.csv", rows) for name, rows in tables.items()]
    files.append(out / "semantic.json")
    files[-1].write_text(json.dumps(result, indent=1) + "\n")
    return files + draw(tables["load"], tables["costs"], tables["changes"], tables["delays"], out)


def _fits(windows: Sequence[Window]) -> list[Fit]:
    keys = dict.fromkeys((w.sources, w.profiles, w.matching) for w in windows)
    found = []
    for key in keys:
        mine = [w for w in windows if (w.sources, w.profiles, w.matching) == key]
        found.append(Fit(*key, *line([w.packets_per_second for w in mine], [w.load_percent for w in mine])))
    return found


def _line(costs: Sequence[PerPacket], what: str, way: str) -> Line:
    mine = [cost for cost in costs if (cost.what, cost.matching) == (what, way)]
    return line([cost.x for cost in mine], [cost.us_per_packet for cost in mine])


def _note(
    fits: Sequence[Fit],
    ports: dict[Any, Line],
    costs: Sequence[PerPacket],
    changes: Sequence[Change],
    delays: Sequence[Delay],
) -> list[str]:
    """One line per conclusion of the thesis, from the numbers."""
    found = []
    for way in WAYS:
        mine = [fit for fit in fits if fit.matching == way]
        worst = max(100 * fit.m_error / fit.m for fit in mine)
        low, high = min(fit.m for fit in mine), max(fit.m for fit in mine)
        found.append(
            f"Load against packet rate, {way}: {low:.4f} to {high:.4f} % per packet/s, error of the slope at most "
            f"{worst:.1f} %; the line explains at least {min(fit.explained for fit in mine):.0%} of the variance."
        )
    found.append("The thesis (Java, two 1 GHz processors): 0.114 to 0.201 % per packet/s, errors of 0.4 to 1.7 %.")
    for way, fit in ports.items():
        found.append(
            f"Ports, {way}: {fit.slope:.1f} ± {fit.slope_error:.1f} µs for each port and {fit.start:.0f} µs besides."
        )
    for way in WAYS:
        mine_ = sorted((c.x, c.us_per_packet) for c in costs if (c.what, c.matching) == ("selectivity", way))
        found.append(
            f"Selectivity, {way}: {mine_[0][1]:.0f} µs a packet where each goes out (S = {mine_[0][0]:.0f}), "
            f"{mine_[-1][1]:.0f} µs at S = {mine_[-1][0]:.0f}."
        )
    tail = changes[len(changes) // 2 :]
    silent = sum(change.updates == 0 for change in tail) / len(tail)
    found.append(
        f"Of the users of the second half, {silent:.0%} brought no update at all; the others {_mean_updates(tail):.1f} "
        f"on average; the slowest change had settled after {max(c.settled_ms for c in changes):.0f} ms."
    )
    if len(delays) > 2:
        fit = line([d.hops for d in delays], [d.mean_ms for d in delays])
        found.append(f"Delay: {fit.slope:.2f} ± {fit.slope_error:.2f} ms for each router on the way.")
    return found


def claims(fits: Sequence[Fit], ports: dict[Any, Line], costs: Sequence[PerPacket]) -> list[Claim]:
    """The thesis' conclusions of §5.3 and §5.4, for the way of matching that it has: each port's filter in turn."""
    mine = [fit for fit in fits if fit.matching == "each"]
    worst = max(fit.m_error / fit.m for fit in mine)
    explained = min(fit.explained for fit in mine)
    each, prefilter = ports["each"], ports["prefilter"]
    by_s = sorted((c.x, c.us_per_packet) for c in costs if (c.what, c.matching) == ("selectivity", "each"))
    change = abs(by_s[-1][1] / by_s[0][1] - 1)
    return [
        judged(
            "Load is a straight line in the packet rate (5.10 to 5.19), slopes with errors of 0.4 to 1.7 % "
            "(Table 5.2).",
            f"The line explains at least {explained:.0%} of the variance; errors of the slope up to {worst:.1%}.",
            explained > 0.9 and worst < 0.03,
            "Fewer and shorter windows than the thesis' runs.",
            partly=explained > 0.8,
        ),
        judged(
            "Load does not depend on selectivity (5.5 to 5.9).",
            f"A packet costs {change:.0%} more or less at S = {by_s[-1][0]:.0f} than at S = {by_s[0][0]:.0f}.",
            change < 0.25,
            "At one packet rate it does: a match must be sent on, and a long filter looked through.",
        ),
        judged(
            "L = βIp: load grows with the number of ports, less with a prefilter.",
            f"{each.slope:.1f} µs a port, {prefilter.slope:.1f} µs with a prefilter.",
            each.slope > 0 and prefilter.slope < each.slope,
            "The prefilter costs more than it saves here.",
            partly=each.slope > 0,
        ),
    ]


def _mean_updates(changes: Sequence[Change]) -> float:
    some = [change.updates for change in changes if change.updates]
    return sum(some) / len(some) if some else 0.0
