"""What the figures of 2005 share: sizes, overlays, and the trials of overlapping profiles behind Figures 5 to 8."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from semcast.model.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY
from semcast_experiments.figures.dissemination import Case, Cost, measure
from semcast_experiments.figures.dissemination.profiles import Reading, distinct
from semcast_experiments.figures.lines import means
from semcast_experiments.figures.trials import Run

NETWORK = ("random", 4.0)
"""Flat random, mean degree 4: the papers say "random graphs generated with GT-ITM" and no degree."""
READINGS: dict[Reading, str] = {"share": "D = P/x", "percent": "D = P/100x"}
MODELS = {"arcs": "arcs", "independent": "independent matches"}
COLOURS = {
    "unicast": GREY,
    "spt": ORANGE,
    "semcast": BLUE,
    "semcast/destination": SKY,
    "semcast/cap": PINK,
    "semcast-merge": GREEN,
    "semcast-noisemerge": PINK,
    "semcast-o": BLACK,
    "masked/16": GREEN,
    "bound": BLACK,
}
STEPS = (0.01, 0.05, 0.15, 0.4, 0.7, 0.95)
"""How far the aggregated overlap is from the least that a number of profiles allows, as a share of what is possible."""
_QUICK_STEPS = (0.02, 0.3, 0.9)
FACTOR = 2.0
"""The selectivity factor of all figures but 3 and 8."""


def of_reading(rows: Sequence[Cost], clients: int, reading: Reading, model: str) -> list[Cost]:
    """The trials of one model with as many distinct profiles as a reading makes of factor 2."""
    return [row for row in rows if (row.distinct, row.model) == (distinct(clients, FACTOR, reading), model)]


def place(reading: Reading, rows: Sequence[Cost]) -> tuple[str, dict[float, float]]:
    """What a panel's x-axis is, and where on it the trials of each matching probability stand.

    It is the aggregated overlap, where that varies; with a few profiles, which every gateway holds, the probability.
    """
    overlaps = {chance: value.value for chance, value in means(rows, lambda r: r.probability, lambda r: r.overlap)}
    if reading == "share":
        return "aggregated profile overlap", overlaps
    return "matching probability", {chance: chance for chance in overlaps}


def scaled(axes: Any, reading: Reading) -> None:
    """Probabilities are on a logarithmic axis."""
    if reading == "percent":
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def sources(quick: bool) -> int:
    """From each of so many every message is counted."""
    return 3 if quick else 8


def sizes(quick: bool) -> tuple[int, int]:
    """Brokers and clients: Table 2's, or a fifth of them."""
    return (120, 600) if quick else (600, 3_000)


def held(count: int, clients: int, gateways: int) -> float:
    """Distinct profiles of a gateway, on average: k."""
    return float(count * (1 - (1 - 1 / count) ** (clients / gateways)))


def expected_overlap(probability: float, count: int, k: float) -> float:
    """What two gateways that hold k of D profiles each want in common, if profiles match independently.

    A message that one wants matches a profile of its own; the other one has that profile too, with a chance of k/D, or
    some other profile of its own matches. So the overlap is never below k/D.
    """
    return float(1 - (1 - k / count) * (1 - probability) ** k)


def probability(step: float, k: float) -> float:
    """The matching probability at which the overlap is so far between k/D and 1."""
    return float(1 - (1 - step) ** (1 / k))


def overlapping(
    run: Run, schemes: Sequence[str], models: Sequence[str], readings: Sequence[Reading], factor: float = FACTOR
) -> list[Cost]:
    """Trials over the aggregated profile overlap; what one figure measured, another one finds."""
    brokers, clients = sizes(run.quick)
    sizes_of = (500, 200, 16) if run.quick else (2_000, 500, 40)  # sample, counted, looked at
    cases = []
    for reading, model in product(readings, models):
        count = distinct(clients, factor, reading)
        k = held(count, clients, round(0.2 * brokers))
        for step, seed, scheme in product(_QUICK_STEPS if run.quick else STEPS, run.seeds(5, 3), schemes):
            sample, counted, looked_at = sizes_of
            case = Case(*NETWORK, brokers, clients, count, model, probability(step, k), seed, (scheme,))
            cases.append(case._replace(sample=sample, counted=counted, looked_at=looked_at, sources=sources(run.quick)))
    return run.trials("overlapping", measure, Cost, cases)
