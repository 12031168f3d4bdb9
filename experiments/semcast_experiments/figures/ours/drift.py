"""Masked channels while interests drift: a plan that is kept, one that is changed as little as pays, and a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.model.palette import BLACK, BLUE, GREEN, ORANGE
from semcast_experiments.figures.claims import Claim
from semcast_experiments.figures.lines import Style, curve, means, name_ends, result
from semcast_experiments.figures.ours.course import Course, Drifted, measure
from semcast_experiments.figures.ours.setup import NETWORK
from semcast_experiments.figures.output import dress, figure, mean
from semcast_experiments.figures.trials import Run

_STYLES = {
    "kept": Style("the first plan, kept", ORANGE),
    "changed": Style("changed where it pays", BLUE),
    "new": Style("planned anew", BLACK),
    "spt": Style("SPT", GREEN),
}


def drift(run: Run) -> dict[str, Any]:
    small, full = (80, 500, 25, 8, 3, 0.3, 400, 16), (600, 7_000, 350, 16, 8, 0.2, 3_000, 60)
    chosen = small if run.quick else full
    courses = [Course._make((*NETWORK, *chosen, seed)) for seed in run.seeds(5, 3)]
    rows = run.trials("drift", measure, Drifted, courses)
    one = courses[0]
    note = [
        f"Waxman overlay of {one.brokers} brokers, degree {one.degree:g}, {one.channels} channels, {one.distinct} "
        f"disjoint profiles; at every step {one.rate:.0%} of the clients take another profile at another gateway."
    ]
    return result(run, "ours-drift", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[Drifted]) -> list[Claim]:
    last = max(row.epoch for row in rows)
    said = "; ".join(
        f"{_STYLES[plan].label} {mean(row.above for row in rows if (row.plan, row.epoch) == (plan, last)).value:.1f} %"
        for plan in _STYLES
    )
    trees = mean(row.replaced for row in rows if row.plan == "changed" and row.epoch).value
    return [
        Claim(
            "Drift over time",
            f"After {last} steps, above a tree per message: {said}. "
            f"A step that changes what pays replaces {trees:.1f} trees.",
            "ours",
        )
    ]


def _drawn(rows: Sequence[Drifted]) -> Any:
    drawn, axes = figure(1, width=6.6, height=3.8)
    for plan, style in _STYLES.items():
        mine = [row for row in rows if row.plan == plan]
        curve(axes, means(mine, lambda row: row.epoch, lambda row: row.above), style)
    axes.axhline(0, color="#999999", linewidth=1)
    axes.xaxis.get_major_locator().set_params(integer=True)
    dress(axes, "Interests that drift", "steps of drift", "% above a tree per message")
    name_ends(axes)
    return drawn
