"""Every scheme against the least, by how many gateways want a message."""

from __future__ import annotations

from typing import Any

from semcast_experiments.figures.dissemination import Case, Cost, measure
from semcast_experiments.figures.lines import means, result
from semcast_experiments.figures.ours.setup import NETWORK, SCHEMES, SHOWN, drawn, gap, ranges
from semcast_experiments.figures.trials import Run

_MODELS = {"disjoint": "disjoint profiles", "independent": "independent matches"}


def sparsity(run: Run) -> dict[str, Any]:
    brokers, clients = (80, 500) if run.quick else (600, 7_000)
    shares = (0.2, 0.02) if run.quick else (0.2, 0.1, 0.05, 0.02, 0.005)
    chances = (0.001, 0.01) if run.quick else (0.0002, 0.001, 0.003, 0.01, 0.02)
    points = [("disjoint", round(share * clients), 0.0) for share in shares]
    points += [("independent", clients // 10, 10 * chance) for chance in chances]
    cases = [
        Case(
            *NETWORK, brokers, clients, count, model, chance, seed, SCHEMES,
            sample=400 if run.quick else 4_000, counted=150 if run.quick else 400, looked_at=20 if run.quick else 60,
            sources=1,
        )
        for model, count, chance in points
        for seed in run.seeds(5, 3)
    ]  # fmt: skip
    rows = run.trials("sparsity", measure, Cost, cases)
    panels, claims = [], []
    for model, name in _MODELS.items():
        mine = [row for row in rows if row.model == model]
        places = {key: value.value for key, value in means(mine, _key, lambda row: row.wanted)}

        def at(case: Any, places: Any = places) -> float:
            return float(places[_key_of(case[4], case[6])])

        panels.append((name, {scheme: gap(mine, scheme, at) for scheme in SHOWN}))
        claims.append(ranges(f"Sparsity, {name}", mine, SHOWN, at))
    note = [f"Waxman overlays of {brokers} brokers, degree 4; x is the mean number of gateways that want a message."]
    return result(run, "ours-sparsity", rows, drawn(panels, "gateways that want a message", log=True), claims, note)


def _key(row: Cost) -> float:
    return _key_of(row.distinct, row.probability)


def _key_of(distinct: int, probability: float) -> float:
    return distinct + probability
