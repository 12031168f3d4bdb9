"""2004 (long) Figure 3: what SemCast and centralised trees save against SPT, by the share of distinct profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.semcast2004.setup import below_spt, by_share, drawn, share_of
from semcast_experiments.figures.trials import Run

_SCHEMES = ("semcast-o", "semcast", "semcast/destination")


def fig3(run: Run) -> dict[str, Any]:
    rows = by_share(run)
    panels = [
        (
            f"{brokers} brokers, {10 * brokers:,} profiles",
            {s: below_spt(_of(rows, brokers), s, share_of) for s in _SCHEMES},
        )
        for brokers in _sizes(rows)
    ]
    picture = drawn(panels, "distinct profiles, share of all (selectivity factor)", "% below SPT", share=True)
    note = ["Disjoint profiles, flat random overlays of degree 4, without legs."]
    return result(run, "2004-fig3", rows, picture, claims(rows), note)


def claims(rows: Sequence[Cost]) -> list[Claim]:
    largest = _of(rows, max(_sizes(rows)))
    found = {scheme: below_spt(largest, scheme, share_of) for scheme in _SCHEMES}
    alone, most = found["semcast"][-1][1], found["semcast"][0][1]
    text = found["semcast/destination"][0][1]
    central = max(value.value for _, value in found["semcast-o"])
    return [
        judged(
            "SemCast costs as much as SPT where all profiles are distinct.",
            f"{alone.value:+.1f} ± {alone.margin:.1f} % below SPT.",
            abs(alone.value) <= max(2.0, alone.margin),
            "Clients draw their profiles with replacement: a third of them shares one even so.",
            partly=abs(alone.value) < 6,
        ),
        judged(
            "SemCast saves 15 to 18 % at a selectivity factor of 0.001.",
            f"{most.value:.1f} ± {most.margin:.1f} %, joining the closest broker; {text.value:.1f} %, the closest "
            "destination.",
            13 <= most.value <= 21,
            "A channel of all gateways: what a low-cost tree saves over shortest paths, and nothing else.",
            partly=13 <= text.value <= 21 or most.value > 5,
        ),
        judged(
            "Centralised trees save up to 25 to 30 %.",
            f"Up to {central:.1f} %.",
            22 <= central <= 33,
            "At degree 4 Takahashi and Matsuyama's trees save less; denser overlays leave more to save.",
            partly=central > 15,
        ),
    ]


def _sizes(rows: Sequence[Cost]) -> list[int]:
    return sorted({row.brokers for row in rows})


def _of(rows: Sequence[Cost], brokers: int) -> list[Cost]:
    return [row for row in rows if row.brokers == brokers]
