"""2005 Figure 6: what merging without noise channels, and merging noise channels too, cost above plain SemCast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.dissemination.trial import NOISE_MERGES
from semcast_experiments.figures.lines import Points, Style, above, curve, means, name_ends, result
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.semcast2005.setup import (
    COLOURS,
    MODELS,
    READINGS,
    of_reading,
    overlapping,
    place,
    scaled,
    sizes,
)
from semcast_experiments.figures.trials import Run

_EQUAL = "semcast/few"
SCHEMES = ("semcast", "semcast-merge", "semcast-noisemerge")
_NAMES = {"semcast-merge": "SemCast-Merge", "semcast-noisemerge": "SemCast-NoiseMerge"}


def fig6(run: Run) -> dict[str, Any]:
    rows = overlapping(run, (*SCHEMES, _EQUAL), tuple(MODELS), tuple(READINGS))
    _, clients = sizes(run.quick)
    drawn = panels(rows, clients, tuple(_NAMES), extra, "% above SemCast", _NAMES)
    note = [
        "The trials of Figure 5, without legs; every plan is made from one sample and counted on other messages. "
        f"NoiseMerge is stopped after {NOISE_MERGES} merges, since each one of merged channels doubles their "
        "expressions; it is compared with SemCast stopped there too."
    ]
    return result(run, "2005-fig6", rows, drawn, claims(rows, clients), note)


def extra(rows: Sequence[Cost], scheme: str, base: str | None = None) -> Points:
    """By matching probability, per cent above SemCast; for NoiseMerge above SemCast with as many merges."""
    base = base or (_EQUAL if scheme == "semcast-noisemerge" else "semcast")
    return means(above(rows, scheme, base).items(), lambda item: item[0].probability, lambda item: item[1])


def claims(rows: Sequence[Cost], clients: int) -> list[Claim]:
    made = []
    for scheme, name in _NAMES.items():
        for reading, title in READINGS.items():
            for model, kind in MODELS.items():
                mine = of_reading(rows, clients, reading, model)
                points = [(at, value.value) for at, value in extra(mine, scheme)]
                values = [value for _, value in points]
                cheapest = place(reading, mine)[1][min(points, key=lambda point: point[1])[0]]
                made.append(
                    judged(
                        f"{name} costs more than SemCast, for all overlaps.",
                        f"{title}, {kind}: {min(values):+.1f} % (at {cheapest:.2g}) to {max(values):+.1f} %.",
                        min(values) >= -0.5,
                        _why(scheme, mine),
                        partly=max(values) > 0.5,
                    )
                )
    return made


def _why(scheme: str, rows: Sequence[Cost]) -> str:
    if scheme == "semcast-merge":
        return "One channel for both saves the copies that noise channels cost where nearly all is shared."
    values = [value.value for _, value in extra(rows, scheme, "semcast")]
    dearer = sum(value > 0 for value in values)
    return (
        "Noise channels are merged where the estimate gains, and it gains in fact too. Against SemCast that is not "
        f"stopped after {NOISE_MERGES} merges as NoiseMerge is, it costs {min(values):+.1f} to {max(values):+.1f} %, "
        f"more at {dearer} of {len(values)} overlaps."
    )


def panels(
    rows: Sequence[Cost],
    clients: int,
    schemes: Sequence[str],
    points: Callable[[Sequence[Cost], str], Points],
    label: str,
    names: dict[str, str],
) -> Any:
    """A panel per reading and model."""
    drawn, every = figure(4, width=14, height=3.6)
    places = [(reading, model) for reading in READINGS for model in MODELS]
    for axes, (reading, model) in zip(every, places, strict=True):
        mine = of_reading(rows, clients, reading, model)
        x, at = place(reading, mine)
        for scheme in schemes:
            found = [(at[chance], value) for chance, value in points(mine, scheme)]
            curve(axes, found, Style(names[scheme], COLOURS[scheme]))
        axes.axhline(0, color="#999999", linewidth=1)
        dress(axes, f"{READINGS[reading]}, {MODELS[model]}", x, "")
        scaled(axes, reading)
    every[0].set_ylabel(label)
    name_ends(every[-1])
    return drawn
