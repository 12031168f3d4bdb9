"""What the thesis leaves to future work (§6.1): updates, settling times and delays in a network of routers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.model.palette import BLUE, GREEN, ORANGE
from semcast_experiments.figures.claims import Claim
from semcast_experiments.figures.lines import Style, curve, means, result
from semcast_experiments.figures.output import dress, figure, mean
from semcast_experiments.figures.semantic.fits import line
from semcast_experiments.figures.semantic.network import Coming, Seen, measure
from semcast_experiments.figures.trials import Run

_STEPS = 10


def updates(run: Run) -> dict[str, Any]:
    brokers, users = (12, 20) if run.quick else (40, 150)
    rows = run.trials(
        "semantic-network", measure, Seen, [Coming(brokers, users, 0.5, seed) for seed in run.seeds(5, 3)]
    )
    note = [
        f"{users} users come to {brokers} routers (Waxman, degree 4), half a second apart; the routers are real, the "
        "clock is not. Marks are means over steps of users and over seeds, with 95 % intervals."
    ]
    return result(run, "semantic-network", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[Seen]) -> list[Claim]:
    changes = [row for row in rows if row.what == "change"]
    half = max(row.x for row in changes) / 2
    late = [row for row in changes if row.x > half]
    silent = sum(row.number == 0 for row in late) / len(late)
    some = mean(float(row.number) for row in late if row.number).value if silent < 1 else 0.0
    delays = [row for row in rows if row.what == "delay"]
    fit = line([row.x for row in delays], [row.ms for row in delays])
    return [
        Claim(
            "Size and frequency of updates (§6.1)",
            f"Of the users of the second half {silent:.0%} brought no update at all, since interests that are there "
            f"cover theirs; the others {some:.1f} frames on average.",
            "ours",
        ),
        Claim(
            "Settling time (§6.1)", f"{max(row.ms for row in changes):.0f} ms at most, on the virtual clock.", "ours"
        ),
        Claim(
            "Delay against hops (§6.1)",
            f"{fit.slope:.1f} ± {fit.slope_error:.1f} ms for each router on the way.",
            "ours",
        ),
    ]


def _drawn(rows: Sequence[Seen]) -> Any:
    drawn, (left, middle, right) = figure(3, width=12)
    changes = [row for row in rows if row.what == "change"]
    step = max(1, max(row.x for row in changes) // _STEPS)

    def place(row: Seen) -> float:
        return step * ((row.x - 1) // step) + (step + 1) / 2

    curve(left, means(changes, place, lambda row: float(row.number)), Style("", BLUE))
    dress(left, "Updates that one more user brings", "users there are", "frames between routers")
    curve(middle, means(changes, place, lambda row: row.ms), Style("", ORANGE))
    dress(middle, "Until the network has settled", "users there are", "ms, virtual clock")
    delays = [row for row in rows if row.what == "delay"]
    curve(right, means(delays, lambda row: float(row.x), lambda row: row.ms), Style("", GREEN))
    dress(right, "Delay", "routers on the way", "ms from producer to user")
    for axes in (left, middle, right):
        axes.set_ylim(bottom=0)
    return drawn
