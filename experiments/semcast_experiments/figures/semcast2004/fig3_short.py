"""2004 (short) Figure 3: what unicast, SPT and SemCast cost above centralised trees, at 700 brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.lines import Points, result
from semcast_experiments.figures.output import mean
from semcast_experiments.figures.semcast2004.setup import STYLES, above_central, by_share, drawn, share_of
from semcast_experiments.figures.trials import Run

_SCHEMES = ("unicast", "spt", "semcast/destination", "semcast")
_PAPER = {"unicast": (41.0, 8.0), "spt": (23.0, 4.0), "semcast": (6.4, 2.0)}


def fig3_short(run: Run) -> dict[str, Any]:
    every = by_share(run)
    brokers = max(row.brokers for row in every)
    rows = [row for row in every if row.brokers == brokers]
    curves = {scheme: above_central(rows, scheme, share_of) for scheme in _SCHEMES}
    label = "distinct profiles, share of all (selectivity factor)"
    picture = drawn([(f"{brokers} brokers", curves)], label, "% above centralised trees", share=True)
    note = ["The trials of the long version's Figure 3."]
    return result(run, "2004-fig3-short", rows, picture, claims(rows), note)


def claims(rows: Sequence[Cost]) -> list[Claim]:
    made = []
    for scheme, (paper, near) in _PAPER.items():
        points = above_central(rows, scheme, share_of)
        whole = mean(value.value for _, value in points).value
        few = mean(value.value for share, value in points if share >= 0.1).value
        made.append(
            judged(
                f"{STYLES[scheme].label.split(',')[0]} costs {paper:g} % more than the optimum on average.",
                f"{whole:.1f} % over all points, {few:.1f} % over those with at least a tenth of the profiles "
                "distinct.",
                min(abs(whole - paper), abs(few - paper)) <= near,
                "The average depends on which factors it is over, which the paper does not say: "
                + _nearest(points, paper),
            )
        )
    return made


def _nearest(points: Points, paper: float) -> str:
    """Over which factors, from 1 down to one of those measured, the average is nearest to the paper's."""
    averages = {least: mean(value.value for share, value in points if share >= least).value for least, _ in points}
    least = min(averages, key=lambda share: abs(averages[share] - paper))
    return f"from 1 down to {least:g} it is {averages[least]:.1f} %."
