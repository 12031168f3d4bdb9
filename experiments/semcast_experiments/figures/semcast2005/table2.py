"""2005 Table 2: how many profiles brokers must filter by, under SPT by their hop and under SemCast at gateways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.model.palette import BLUE, GREEN, ORANGE, PINK
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination.profiles import distinct
from semcast_experiments.figures.lines import Style, curve, means, name_ends, result
from semcast_experiments.figures.output import dress, figure, mean
from semcast_experiments.figures.semcast2005.filters import Filters, Point, measure
from semcast_experiments.figures.semcast2005.setup import FACTOR, held, probability, sizes
from semcast_experiments.figures.trials import Run

PAPER = {0.02: (5.75, 3.11, 0.19), 0.03: (8.45, 6.44, 0.45), 0.05: (10.79, 5.88, 0.33), 0.08: (15.48, 9.59, 0.59)}
"""Aggregated overlap → SPT at hop 1, at hop 2, SemCast at a gateway; per cent of what the root has."""
_DEGREES = (4.0, 16.0)
_ROWS = {
    "hop1": ("SPT at hop 1", ORANGE),
    "hop2": ("SPT at hop 2", PINK),
    "gateway": ("SemCast, a gateway", BLUE),
    "broker": ("SemCast, mean over all brokers", GREEN),
}


def table2(run: Run) -> dict[str, Any]:
    brokers, clients = sizes(False)  # smaller ones cannot have so little in common
    count = distinct(clients, FACTOR, "share")
    least = held(count, clients, round(0.2 * brokers)) / count
    points = [
        Point(degree, brokers, clients, count, probability((overlap - least) / (1 - least), least * count), seed)
        for degree in _DEGREES
        for overlap in ([*PAPER][::3] if run.quick else PAPER)
        for seed in run.seeds(5, 3)
    ]
    rows = run.trials("filters", measure, Filters, points)
    note = [
        f"{brokers} brokers, {clients:,} clients, D = P/x = {count:,} profiles that match independently. A broker "
        "of the "
        "shortest-path tree keeps what any gateway behind it wants, without what another profile there contains."
    ]
    return result(run, "2005-table2", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[Filters]) -> list[Claim]:
    made = []
    for degree in _DEGREES:
        mine = [row for row in rows if row.degree == degree]
        one, two, gateway, every = (mean(getattr(row, field) for row in mine) for field in _ROWS)
        made.append(
            judged(
                "SPT keeps 6 to 15 % of the root's profiles at hop 1, and 3 to 10 % at hop 2.",
                f"Degree {degree:g}: {one.value:.1f} ± {one.margin:.1f} % and {two.value:.1f} ± {two.margin:.1f} %.",
                5 <= one.value <= 17 and 2.5 <= two.value <= 11,
                "The root's children share its profiles, so their part is one over the number of children: 6 to "
                "15 % means 7 to "
                "17 of them, a dense overlay.",
                partly=2.5 <= one.value <= 30,
            )
        )
        made.append(
            judged(
                "SemCast keeps 0.2 to 0.6 % at a gateway.",
                f"Degree {degree:g}: {gateway.value:.2f} % at a gateway, {every.value:.2f} % as a mean over all "
                "brokers.",
                0.15 <= gateway.value <= 0.7,
                "120 gateways cannot share the root's profiles out in parts below 0.83 % each; a mean over all "
                "600 brokers, of "
                "which most filter nothing, comes to the paper's figure.",
                partly=0.15 <= every.value <= 0.7,
            )
        )
    return made


def _drawn(rows: Sequence[Filters]) -> Any:
    drawn, panels = figure(len(_DEGREES), width=9.5, height=3.6, sharey=True)
    for axes, degree in zip(panels, _DEGREES, strict=True):
        mine = [row for row in rows if row.degree == degree]
        for number, (field, (name, colour)) in enumerate(_ROWS.items()):
            points = [(round(row.overlap, 2), float(getattr(row, field))) for row in mine]
            curve(axes, means(points, lambda point: point[0], lambda point: point[1]), Style(name, colour))
            if number < 3:
                said = [values[number] for values in PAPER.values()]
                axes.plot([*PAPER], said, color=colour, linestyle=":", marker="x", markersize=4, linewidth=0.9)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        dress(axes, f"flat random, degree {degree:g} (dotted: the paper)", "aggregated profile overlap", "")
    panels[0].set_ylabel("% of the root's profiles")
    name_ends(panels[-1])
    return drawn
