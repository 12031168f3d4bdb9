"""Masked channels against the least, by how many there may be."""

from __future__ import annotations

from typing import Any

from semcast.experiments.claims import Claim
from semcast.experiments.dissemination import Case, Cost, measure
from semcast.experiments.lines import Style, above, curve, means, name_ends, result
from semcast.experiments.ours.setup import NETWORK
from semcast.experiments.output import dress, figure
from semcast.experiments.trials import Run
from semcast.model.palette import BLUE, GREEN, ORANGE

CHANNELS = (1, 2, 4, 16, 64)
_WORKLOADS = {
    "disjoint": ("disjoint profiles", BLUE),
    "independent": ("independent matches", ORANGE),
    "groups-30": ("groups of like profiles", GREEN),
}


def channels(run: Run) -> dict[str, Any]:
    brokers, clients = (80, 500) if run.quick else (600, 7_000)
    numbers = (1, 4, 16) if run.quick else CHANNELS
    chance = {"disjoint": 0.0, "independent": 0.01, "groups-30": 0.7}
    cases = [
        Case(
            *NETWORK, brokers, clients, clients // 20, model, chance[model], seed,
            ("oracle", "spt", *(f"masked/{number}" for number in numbers)),
            sample=400 if run.quick else 5_000, counted=150 if run.quick else 400, looked_at=20 if run.quick else 60,
            sources=1,
        )
        for model in _WORKLOADS
        for seed in run.seeds(5, 3)
    ]  # fmt: skip
    rows = run.trials("channels", measure, Cost, cases)
    drawn, axes = figure(1, width=6.6, height=3.8)
    claims = []
    for model, (name, colour) in _WORKLOADS.items():
        mine = [row for row in rows if row.model == model]
        found = [
            (float(number), gain)
            for number in numbers
            for gain in above(mine, f"masked/{number}", "oracle", leg=True).values()
        ]
        points = means(found, lambda item: item[0], lambda item: item[1])
        curve(axes, points, Style(name, colour))
        paths = means(above(mine, "spt", "oracle").values(), lambda _: 0.0, lambda value: value)[0][1].value
        said = ", ".join(f"{value.value:.1f} ± {value.margin:.1f} % with {number:g}" for number, value in points)
        claims.append(Claim(f"Channels, {name}", f"{said}; SPT {paths:.0f} %.", "ours"))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.axhline(0, color="#999999", linewidth=1)
    dress(axes, "Masked channels", "channels at most, K", "% above a tree per message")
    name_ends(axes)
    note = [f"Waxman overlays of {brokers} brokers, degree 4, one source."]
    return result(run, "ours-channels", rows, drawn, claims, note)
