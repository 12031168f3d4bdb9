"""2005 Figure 8: what SemCast saves against shortest paths, for selectivity factors 1, 2 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.model.palette import BLUE, GREEN, ORANGE
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.dissemination.profiles import Reading, distinct
from semcast_experiments.figures.lines import Style, curve, name_ends, result
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.semcast2005.fig5 import saved
from semcast_experiments.figures.semcast2005.setup import READINGS, overlapping, place, scaled, sizes
from semcast_experiments.figures.trials import Run

FACTORS = {1.0: ("1 (low)", ORANGE), 2.0: ("2 (medium)", BLUE), 4.0: ("4 (high)", GREEN)}

_WHY = {
    "share": "More profiles make more channels, and a message that overlaps is sent over more of them.",
    "percent": "With so few profiles nearly every gateway holds all of them, and all factors are alike.",
}


def fig8(run: Run) -> dict[str, Any]:
    rows = [
        row for factor in FACTORS for row in overlapping(run, ("spt", "semcast"), ("arcs",), tuple(READINGS), factor)
    ]
    _, clients = sizes(run.quick)
    note = ["As Figure 5, with arcs; without legs."]
    return result(run, "2005-fig8", rows, _drawn(rows, clients), claims(rows, clients), note)


def claims(rows: Sequence[Cost], clients: int) -> list[Claim]:
    made = []
    for reading, title in READINGS.items():
        best = {
            factor: sum(value.value for _, value in points) / len(points)
            for factor in FACTORS
            if (points := saved(_of(rows, clients, reading, factor), "semcast"))
        }
        values = list(best.values())
        made.append(
            judged(
                "The higher the selectivity factor, the more SemCast saves against SPT.",
                f"{title}: "
                + ", ".join(f"{value:+.0f} % at factor {factor:g}" for factor, value in best.items())
                + ", mean over the overlaps.",
                values == sorted(values),
                _WHY[reading],
                partly=values[-1] > values[0],
            )
        )
    return made


def _of(rows: Sequence[Cost], clients: int, reading: Reading, factor: float) -> list[Cost]:
    return [row for row in rows if row.distinct == distinct(clients, factor, reading)]


def _drawn(rows: Sequence[Cost], clients: int) -> Any:
    drawn, panels = figure(2, width=9.5, height=3.6)
    for axes, (reading, title) in zip(panels, READINGS.items(), strict=True):
        for factor, (name, colour) in FACTORS.items():
            mine = _of(rows, clients, reading, factor)
            label = f"factor {name}: {distinct(clients, factor, reading):,} profiles"
            x, at = place(reading, mine)
            curve(axes, saved(mine, "semcast", at), Style(label, colour))
        axes.axhline(0, color="#999999", linewidth=1)
        dress(axes, title, x, "% below SPT")
        scaled(axes, reading)
        name_ends(axes, fontsize=7)
    return drawn
