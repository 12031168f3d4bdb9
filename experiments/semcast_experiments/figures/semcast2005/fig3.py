"""2005 Figure 3: what unicast, shortest paths and SemCast cost above SemCast-O, where no two profiles overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost, disjoint, measure
from semcast_experiments.figures.lines import Style, above, by, curve, name_ends, result
from semcast_experiments.figures.output import Mean, dress, figure, mean, over_seeds
from semcast_experiments.figures.semcast2005.setup import COLOURS, sources
from semcast_experiments.figures.trials import Run

_TOLERANCE = {"unicast": 8.0, "spt": 4.0, "semcast": 2.0}  # points within which an average counts as the paper's
PAPER = {"unicast": 41.0, "spt": 23.0, "semcast": 6.4}
_NAMES = {
    "unicast": "UC",
    "spt": "SPT",
    "semcast/destination": "SemCast, closest destination",
    "semcast": "SemCast, closest broker",
}
_SCHEMES = (*_NAMES, "semcast-o")
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.005)
_KINDS = {"random": "flat random", "waxman": "Waxman", "transit-stub": "transit-stub"}
_NETWORKS = (("random", 4.0), ("waxman", 4.0), ("random", 16.0), ("transit-stub", 0.0))


class Range(NamedTuple):
    """A part of the x-axis, as one reading of "selectivity factor" makes it."""

    name: str
    low: float
    high: float
    """Distinct profiles as a share of all."""


RANGES = (
    Range("D = P/x, factors 1 to 10", 0.1, 1.0),
    Range("D = P/100x, factors 0.01 to 2", 0.005, 1.0),
    Range("D = P/100x, factors 1 and 2", 0.005, 0.01),
)


def fig3(run: Run) -> dict[str, Any]:
    brokers, clients = (80, 800) if run.quick else (600, 7_000)
    shares = (0.5, 0.1, 0.02, 0.005) if run.quick else _SHARES
    networks = _NETWORKS[:2] if run.quick else _NETWORKS
    cases = [
        disjoint(network, brokers, clients, max(1, round(share * clients)), seed, _SCHEMES, sources(run.quick))
        for network in networks
        for share in shares
        for seed in run.seeds(5, 3)
    ]
    rows = run.trials("disjoint", measure, Cost, cases)
    note = [
        f"{brokers} brokers, {clients:,} clients, a message for each distinct profile; every cost without the leg "
        "from the "
        "source to the rendezvous point, as the paper's equality of SemCast and SPT for single clients implies (2004).",
        _nearest(rows),
        _with_legs(rows),
    ]
    return result(run, "2005-fig3", rows, _drawn(rows, clients), claims(rows), note)


def averages(rows: Sequence[Cost], low: float, high: float, *, leg: bool = False) -> dict[str, Mean]:
    """Per scheme the mean over all points whose share of distinct profiles is in this range, in per cent.

    Intervals are over seeds, each with its own mean over the points.
    """
    inside = [row for row in rows if low <= row.distinct / row.clients <= high]
    return {
        scheme: over_seeds((case.seed, value) for case, value in above(inside, scheme, "semcast-o", leg=leg).items())
        for scheme in _NAMES
    }


def claims(rows: Sequence[Cost]) -> list[Claim]:
    """The three averages under every reading of the x-axis: those that come near all of them agree."""
    first = [row for row in rows if (row.kind, row.degree) == _NETWORKS[0]]
    made = []
    for part in RANGES:
        found = averages(first, part.low, part.high)
        if not above([row for row in first if part.low <= row.distinct / row.clients <= part.high], "spt", "semcast-o"):
            continue
        near = {scheme: abs(found[scheme].value - paper) <= _TOLERANCE[scheme] for scheme, paper in PAPER.items()}
        text = found["semcast/destination"].value
        made.append(
            judged(
                "On average over Figure 3, UC costs 41 %, SPT 23 % and SemCast 6.4 % more than SemCast-O.",
                f"{part.name}: {_said(found)}; SemCast {text:.1f} % where gateways join the closest destination.",
                all(near.values()),
                f"Near the paper's: {', '.join(_NAMES[s].split(',')[0] for s in near if near[s]) or 'none'}. Unicast's "
                "average tells how many gateways want a message, and 41 % means few; SemCast's 6.4 % means many.",
                partly=any(near.values()),
            )
        )
    order = all(mean(above(first, a, b).values()).value < 0 for a, b in (("semcast", "spt"), ("spt", "unicast")))
    parts = ", ".join(
        f"{_NAMES[a].split(',')[0]} {-mean(above(first, a, b).values()).value:.1f} % below {_NAMES[b]}"
        for a, b in (("semcast", "spt"), ("spt", "unicast"))
    )
    made.append(judged("SemCast is below SPT, and SPT below UC.", f"On average {parts}.", order, "Not so on average."))
    return made


def _said(found: Mapping[str, Mean]) -> str:
    return ", ".join(
        f"{_NAMES[scheme].split(',')[0]} {found[scheme].value:.1f} ± {found[scheme].margin:.1f} %" for scheme in PAPER
    )


def _nearest(rows: Sequence[Cost]) -> str:
    """Of all networks and all stretches of the x-axis, where the three averages come nearest to the paper's."""
    found: list[tuple[float, str]] = []
    for network in dict.fromkeys((row.kind, row.degree) for row in rows):
        mine = [row for row in rows if (row.kind, row.degree) == network]
        shares = sorted({row.distinct / row.clients for row in mine})
        for low, high in combinations_with_replacement(shares, 2):
            part = averages(mine, low, high)
            away = max(abs(part[scheme].value - paper) / _TOLERANCE[scheme] for scheme, paper in PAPER.items())
            found.append((away, f"{_title(network)}, D/P from {high:.2g} to {low:.2g}: {_said(part)}"))
    away, where = min(found)
    near = "All three are within what counts as near" if away <= 1 else "Not all three are near"
    return (
        f"Of all networks and stretches of the x-axis the averages come nearest to the paper's on {where}. {near}; "
        "Table 2 asks for an overlay as dense."
    )


def _title(network: tuple[str, float]) -> str:
    return _KINDS[network[0]] + (f", degree {network[1]:g}" if network[1] else "")


def _with_legs(rows: Sequence[Cost]) -> str:
    few = averages(rows, 0.1, 1.0, leg=True)
    many = averages(rows, 0.0, 0.05, leg=True)
    return (
        "With the legs, over all networks: where at least a tenth of the profiles are distinct, SPT costs "
        f"{few['spt'].value:+.0f} % and UC {few['unicast'].value:+.0f} % against SemCast-O; where at most a "
        "twentieth are, "
        f"{many['spt'].value:+.0f} % and {many['unicast'].value:+.0f} %. A leg costs as much as a path to one "
        "more gateway."
    )


def _drawn(rows: Sequence[Cost], clients: int) -> Any:
    networks = list(dict.fromkeys((row.kind, row.degree) for row in rows))
    drawn, panels = figure(len(networks), width=3.4 * len(networks) + 1.2, height=3.7, sharey=True, squeeze=False)
    for axes, network in zip(panels[0], networks, strict=True):
        mine = [row for row in rows if (row.kind, row.degree) == network]
        for scheme, name in _NAMES.items():
            points = by(above(mine, scheme, "semcast-o"), lambda case: case.clients / case.distinct)
            curve(axes, points, Style(name, COLOURS[scheme]))
        axes.set_xscale("log")
        dress(axes, _title(network), "clients per distinct profile, P/D", "")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_yscale("symlog", linthresh=50)
        axes.set_yticks([0, 10, 20, 30, 40, 50, 100, 200], ["0", "10", "20", "30", "40", "50", "100", "200"])
        axes.minorticks_off()
    panels[0][0].set_ylabel("% above SemCast-O (linear to 50)")
    name_ends(panels[0][-1])
    return drawn
