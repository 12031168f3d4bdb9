"""2005 Figure 4: how the overlap of what gateways want grows with the probability that a profile matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from semcast.model.palette import BLUE, ORANGE
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Case
from semcast_experiments.figures.dissemination.profiles import Reading, average_overlap, distinct
from semcast_experiments.figures.dissemination.trial import drawn as population
from semcast_experiments.figures.lines import Style, curve, means, name_ends, result
from semcast_experiments.figures.output import Mean, dress, figure
from semcast_experiments.figures.semcast2005.setup import FACTOR, MODELS, NETWORK, READINGS, expected_overlap, sizes
from semcast_experiments.figures.semcast2005.setup import held as holding
from semcast_experiments.figures.trials import Run

_CHANCES = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_SEEN = 0.01  # with few profiles, rarer matches leave most messages to nobody


class Overlaps(NamedTuple):
    """What a matching probability does to profiles, and to what gateways want."""

    model: str
    distinct: int
    held: float
    """Distinct profiles of a gateway, mean."""
    probability: float
    seed: int
    profiles: float
    """Average profile overlap."""
    aggregated: float


class _Point(NamedTuple):
    brokers: int
    clients: int
    distinct: int
    model: str
    probability: float
    seed: int
    messages: int


def measure(point: _Point) -> list[Overlaps]:
    """Draw clients and messages, and compare every pair."""
    brokers, clients, count, model, probability, seed, messages = point
    case = Case(*NETWORK, brokers, clients, count, model, probability, seed, (), sample=1, counted=messages)
    people = population(case)
    held = float(people.subscriptions.clients.astype(bool).sum(axis=0).mean())
    own = average_overlap(people.counted, len(people.subscriptions.distinct))
    found = Overlaps(point.model, point.distinct, held, point.probability, point.seed, own, people.aggregated_overlap)
    return [found]


def fig4(run: Run) -> dict[str, Any]:
    brokers, clients = sizes(run.quick)
    points = [
        _Point(brokers, clients, distinct(clients, FACTOR, reading), model, chance, seed, 400 if run.quick else 2_000)
        for reading in READINGS
        for model in MODELS
        for chance in (_CHANCES[1::2] if run.quick else _CHANCES)
        if reading == "share" or chance >= _SEEN
        for seed in run.seeds(5, 3)
    ]
    rows = run.trials("overlaps", measure, Overlaps, points)
    note = [
        f"{brokers} brokers, {clients:,} clients, selectivity factor {FACTOR:g}. Dotted: 1 - (1 - k/D)(1 - p)^k, what "
        "two gateways that hold k of D independent profiles each have in common; never below k/D."
    ]
    return result(run, "2005-fig4", rows, _drawn(rows, clients), claims(rows, clients), note)


def claims(rows: Sequence[Overlaps], clients: int) -> list[Claim]:
    ends = {
        (model, reading): _ends(rows, model, distinct(clients, FACTOR, reading))
        for reading in READINGS
        for model in MODELS
    }
    said = "; ".join(
        f"{READINGS[reading]}, {MODELS[model]}: {low.value:.2f} to {high.value:.2f}"
        for (model, reading), (low, high) in ends.items()
    )
    rises = [high.value - high.margin > low.value + low.margin for low, high in ends.values()]
    made = [
        judged(
            "The aggregated overlap grows with the matching probability.",
            f"From the lowest probability to the highest: {said}.",
            all(rises),
            "Not beyond the 95 % intervals everywhere: with a few profiles that every gateway holds there is no room.",
            partly=any(rises),
        )
    ]
    lowest = {
        reading: min(row.aggregated for row in rows if row.distinct == distinct(clients, FACTOR, reading))
        for reading in READINGS
    }
    made.append(
        judged(
            "Values as low as 0.02 occur (Table 2, factor 2).",
            f"{lowest['share']:.3f} under D = P/x, {lowest['percent']:.2f} under D = P/100x, at the lowest "
            "probability.",
            lowest["share"] < 0.025,
            "The least possible is k/D, where each gateway holds k of the D profiles: for Table 2's 3,000 clients at "
            f"600 brokers {_least('share'):.3f} under D = P/x and {_least('percent'):.2f} under D = P/100x; here "
            f"{clients:,} clients.",
        )
    )
    return made


def _least(reading: Reading) -> float:
    brokers, clients = sizes(False)
    count = distinct(clients, FACTOR, reading)
    return holding(count, clients, round(0.2 * brokers)) / count


def _ends(rows: Sequence[Overlaps], model: str, count: int) -> tuple[Mean, Mean]:
    points = means([r for r in rows if (r.model, r.distinct) == (model, count)], lambda r: r.probability, _aggregated)
    return points[0][1], points[-1][1]


def _aggregated(row: Overlaps) -> float:
    return row.aggregated


def _drawn(rows: Sequence[Overlaps], clients: int) -> Any:
    drawn, panels = figure(2, width=9.5, height=3.6, sharey=True)
    for axes, (reading, title) in zip(panels, READINGS.items(), strict=True):
        count = distinct(clients, FACTOR, reading)
        mine = [row for row in rows if row.distinct == count]
        for (model, name), colour in zip(MODELS.items(), (BLUE, ORANGE), strict=True):
            points = means([row for row in mine if row.model == model], lambda row: row.probability, _aggregated)
            curve(axes, points, Style(name, colour))
        chances = np.geomspace(min(row.probability for row in mine), max(row.probability for row in mine), 60)
        held = float(np.mean([row.held for row in mine]))
        axes.plot(
            chances,
            [expected_overlap(p, count, held) for p in chances.tolist()],
            color="#999999",
            linestyle=":",
            linewidth=1.2,
        )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(0, 1.05)
        dress(axes, f"{title}: {count:,} profiles", "matching probability", "")
    panels[0].set_ylabel("aggregated profile overlap")
    name_ends(panels[1])
    return drawn
