"""2005 Figure 9: what SemCast saves against shortest paths, by the number of brokers, clients per broker fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost, disjoint, measure
from semcast_experiments.figures.dissemination.profiles import distinct
from semcast_experiments.figures.lines import Points, Style, above, by, curve, name_ends, result
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.semcast2005.setup import COLOURS, FACTOR, NETWORK, READINGS, sources
from semcast_experiments.figures.trials import Run

_SIZES = (100, 200, 300, 400, 500, 600)
_PER_BROKER = 7_000 / 600
_SEEDS = 15  # small networks differ more than they grow
_NAMES = {"semcast": "SemCast", "semcast/destination": "SemCast, closest destination", "unicast": "UC"}


def fig9(run: Run) -> dict[str, Any]:
    cases = []
    for reading in READINGS:
        for brokers in (40, 80, 150) if run.quick else _SIZES:
            clients = round(_PER_BROKER * brokers)
            count = distinct(clients, FACTOR, reading)
            cases += [
                disjoint(NETWORK, brokers, clients, count, seed, ("spt", *_NAMES), sources(run.quick))
                for seed in run.seeds(_SEEDS, 3)
            ]
    rows = run.trials("sizes", measure, Cost, cases)
    note = [f"Disjoint profiles, {_PER_BROKER:.1f} clients per broker, selectivity factor {FACTOR:g}, without legs."]
    return result(run, "2005-fig9", rows, _drawn(rows), claims(rows), note)


def saved(rows: Sequence[Cost], scheme: str) -> Points:
    """By size, per cent below SPT."""
    found = above(rows, scheme, "spt")
    return by({case: -value for case, value in found.items()}, lambda case: case.brokers)


def claims(rows: Sequence[Cost]) -> list[Claim]:
    made = []
    for reading, title in READINGS.items():
        mine = _of(rows, reading)
        points, unicast = saved(mine, "semcast"), saved(mine, "unicast")
        ends = points[0][1], points[-1][1]
        made.append(
            judged(
                "The larger the network, the more SemCast saves against SPT.",
                f"{title}: {ends[0].value:.1f} ± {ends[0].margin:.1f} % at {points[0][0]:g} brokers, "
                f"{ends[1].value:.1f} ± {ends[1].margin:.1f} % at {points[-1][0]:g}.",
                ends[1].value - ends[1].margin > ends[0].value + ends[0].margin,
                "What a Steiner tree saves over shortest paths depends on the degree and the share of gateways, "
                "which stay.",
            )
        )
        first, last = unicast[0][1], unicast[-1][1]
        worse = last.value + last.margin < first.value - first.margin
        made.append(
            judged(
                "Unicast gets worse as the network grows.",
                f"{title}: from {-unicast[0][1].value:.0f} to {-unicast[-1][1].value:.0f} % above SPT.",
                worse,
                "No growth beyond the 95 % intervals."
                + (" With two clients per profile hardly any path can be shared." if reading == "share" else ""),
                partly=last.value < first.value - 1,
            )
        )
    return made


def _of(rows: Sequence[Cost], reading: str) -> list[Cost]:
    return [
        row
        for row in rows
        if row.distinct == distinct(row.clients, FACTOR, "share" if reading == "share" else "percent")
    ]


def _drawn(rows: Sequence[Cost]) -> Any:
    drawn, panels = figure(2, width=9.5, height=3.6)
    for axes, (reading, title) in zip(panels, READINGS.items(), strict=True):
        for scheme in ("semcast", "semcast/destination"):
            curve(axes, saved(_of(rows, reading), scheme), Style(_NAMES[scheme], COLOURS[scheme]))
        axes.axhline(0, color="#999999", linewidth=1)
        dress(axes, title, "brokers", "% below SPT")
    name_ends(panels[-1])
    return drawn
