"""Every scheme against the least, by how many masked channels there may be."""

from __future__ import annotations

from typing import Any

from semcast_experiments.figures.claims import Claim
from semcast_experiments.figures.dissemination import Case, Cost, measure
from semcast_experiments.figures.lines import Points, above, means, result
from semcast_experiments.figures.ours.setup import NETWORK, PAPERS, drawn, gap
from semcast_experiments.figures.output import Mean
from semcast_experiments.figures.trials import Run

CHANNELS = (1, 2, 4, 16, 64)
_OTHERS = ("spt", "unicast", *PAPERS)
_WORKLOADS = {
    "disjoint": ("disjoint profiles", 0.0),
    "independent": ("independent matches", 0.01),
    "groups-30": ("groups of like profiles", 0.7),
}


def channels(run: Run) -> dict[str, Any]:
    brokers, clients = (80, 500) if run.quick else (600, 7_000)
    numbers = (1, 4, 16) if run.quick else CHANNELS
    cases = [
        Case(
            *NETWORK, brokers, clients, clients // 20, model, chance, seed,
            ("oracle", *(f"masked/{number}" for number in numbers), *_OTHERS),
            sample=400 if run.quick else 5_000, counted=150 if run.quick else 400, looked_at=20 if run.quick else 60,
            sources=1,
        )
        for model, (_, chance) in _WORKLOADS.items()
        for seed in run.seeds(5, 3)
    ]  # fmt: skip
    rows = run.trials("channels", measure, Cost, cases)
    panels, claims = [], []
    for model, (name, _) in _WORKLOADS.items():
        mine = [row for row in rows if row.model == model]
        masked = _by_number(mine, numbers)
        level = {scheme: gap(mine, scheme, lambda _: 0.0)[0][1] for scheme in _OTHERS}
        panels.append((name, {"masked": masked} | {s: _flat(value, numbers) for s, value in level.items()}))
        claims.append(_claim(name, masked, level))
    note = [
        f"Waxman overlays of {brokers} brokers, degree 4, one source. The other schemes know no bound on channels: "
        "their lines are level."
    ]
    return result(run, "ours-channels", rows, drawn(panels, "channels at most, K", log=True), claims, note)


def _by_number(rows: list[Cost], numbers: tuple[int, ...]) -> list[tuple[float, Mean]]:
    found = [
        (float(number), value)
        for number in numbers
        for value in above(rows, f"masked/{number}", "oracle", leg=True).values()
    ]
    return means(found, lambda item: item[0], lambda item: item[1])


def _flat(value: Mean, numbers: tuple[int, ...]) -> Points:
    return [(float(number), value) for number in numbers]


def _claim(name: str, masked: Points, level: dict[str, Mean]) -> Claim:
    said = ", ".join(f"{value.value:.1f} ± {value.margin:.1f} % with {number:g}" for number, value in masked)
    papers = [level[scheme].value for scheme in PAPERS]
    return Claim(
        f"Channels, {name}",
        f"{said}; SPT {level['spt'].value:.0f} %, unicast {level['unicast'].value:.0f} %, the papers' schemes "
        f"{min(papers):.0f} to {max(papers):.0f} %.",
        "ours",
    )
