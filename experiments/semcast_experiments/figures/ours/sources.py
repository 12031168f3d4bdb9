"""Every scheme against the least, by the number of sources."""

from __future__ import annotations

from typing import Any

from semcast_experiments.figures.dissemination import Case, Cost, measure
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.ours.setup import NETWORK, SCHEMES, SHOWN, drawn, gap, ranges
from semcast_experiments.figures.trials import Run


def sources(run: Run) -> dict[str, Any]:
    brokers, clients = (80, 500) if run.quick else (600, 7_000)
    cases = [
        Case(
            *NETWORK, brokers, clients, clients // 20, model, chance, seed, SCHEMES,
            sample=400 if run.quick else 4_000, counted=200, sources=number, looked_at=16 if run.quick else 48,
        )
        for model, chance in (("disjoint", 0.0), ("independent", 0.01))
        for number in ((16, 4, 1) if run.quick else (16, 4, 2, 1))  # the longest first
        for seed in run.seeds(5, 3)
    ]  # fmt: skip
    rows = run.trials("sources", measure, Cost, cases)
    panels, claims = [], []
    for model, name in (("disjoint", "disjoint profiles"), ("independent", "independent matches")):
        mine = [row for row in rows if row.model == model]
        panels.append((name, {scheme: gap(mine, scheme, lambda case: case[7]) for scheme in SHOWN}))
        claims.append(ranges(f"Sources, {name}", mine, SHOWN, lambda case: case[7]))
    note = [f"Waxman overlays of {brokers} brokers, degree 4. SPT has a tree per source, masked channels share theirs."]
    return result(run, "ours-sources", rows, drawn(panels, "sources"), claims, note)
