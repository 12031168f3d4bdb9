"""2005 Figure 7: how many channels SemCast and its variants make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.lines import Points, means, result
from semcast_experiments.figures.semcast2005.fig6 import SCHEMES, panels
from semcast_experiments.figures.semcast2005.setup import MODELS, READINGS, of_reading, overlapping, sizes
from semcast_experiments.figures.trials import Run

_NAMES = {"semcast": "SemCast", "semcast-merge": "SemCast-Merge", "semcast-noisemerge": "SemCast-NoiseMerge"}


def fig7(run: Run) -> dict[str, Any]:
    rows = overlapping(run, SCHEMES, tuple(MODELS), tuple(READINGS))
    _, clients = sizes(run.quick)
    drawn = panels(rows, clients, SCHEMES, channels, "channels", _NAMES)
    return result(run, "2005-fig7", rows, drawn, claims(rows, clients), ["The trials of Figure 6."])


def channels(rows: Sequence[Cost], scheme: str) -> Points:
    """By matching probability, how many."""
    mine = [row for row in rows if row.scheme == scheme]
    return means(mine, lambda row: row.probability, lambda row: float(row.channels))


def claims(rows: Sequence[Cost], clients: int) -> list[Claim]:
    made = []
    for reading, title in READINGS.items():
        for model, kind in MODELS.items():
            mine = of_reading(rows, clients, reading, model)
            plain, merged, again = ([value.value for _, value in channels(mine, scheme)] for scheme in SCHEMES)
            more = all(a >= b - 0.5 for a, b in zip(plain, merged, strict=True))
            made.append(
                judged(
                    "SemCast makes more channels than SemCast-Merge, and NoiseMerge about as many as SemCast.",
                    f"{title}, {kind}: at the highest overlap {plain[-1]:.0f}, {merged[-1]:.0f} and {again[-1]:.0f} "
                    f"(SemCast, Merge, NoiseMerge), at the lowest {plain[0]:.0f}, {merged[0]:.0f} and {again[0]:.0f}.",
                    more,
                    "Where nearly all profiles match the same, SemCast's one hierarchy needs no merging.",
                    partly=plain[0] >= merged[0] - 0.5,
                )
            )
    merged = [value.value for _, value in channels(of_reading(rows, clients, "percent", "arcs"), "semcast-merge")]
    made.append(
        judged(
            "At high overlap SemCast-Merge puts most profiles on one channel.",
            f"D = P/100x, arcs: from {merged[0]:.1f} channels down to {merged[-1]:.1f}.",
            merged[-1] < 3,
            "Not as far as one channel.",
            partly=merged[-1] < merged[0],
        )
    )
    return made
