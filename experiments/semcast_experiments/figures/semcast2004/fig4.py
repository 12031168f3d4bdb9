"""2004 (long) Figure 4: what SemCast and centralised trees save against SPT, by the number of brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.semcast2004.setup import SIMILARITY, below_spt, by_size, drawn
from semcast_experiments.figures.trials import Run

_SCHEMES = ("semcast-o", "semcast", "semcast/destination")


def fig4(run: Run) -> dict[str, Any]:
    rows = by_size(run)
    curves = {scheme: below_spt(rows, scheme, lambda case: case.brokers) for scheme in _SCHEMES}
    picture = drawn([(f"{SIMILARITY:.0%} of the profiles distinct", curves)], "brokers", "% below SPT")
    note = ["Ten profiles per broker. The text says nothing of this figure but its caption."]
    return result(run, "2004-fig4", rows, picture, claims(rows), note)


def claims(rows: Sequence[Cost]) -> list[Claim]:
    points = below_spt(rows, "semcast", lambda case: case.brokers)
    least = min(value.value for _, value in points)
    return [
        judged(
            "SemCast lowers the bandwidth at every network size (the figure's caption: bandwidth improvement).",
            ", ".join(f"{value.value:.0f} % at {size:g}" for size, value in points) + " brokers.",
            least > 0,
            "Not at every size.",
        )
    ]
