"""Every scheme against the least, by the overlap of what gateways want."""

from __future__ import annotations

from typing import Any

from semcast_experiments.figures.dissemination.profiles import Reading
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.ours.setup import SHOWN, drawn, gap, ranges
from semcast_experiments.figures.semcast2005.setup import MODELS, READINGS, of_reading, overlapping, place, sizes
from semcast_experiments.figures.trials import Run

_SHOWN = tuple(scheme for scheme in SHOWN if scheme != "semcast-o")


def overlap(run: Run) -> dict[str, Any]:
    """Figure 5's trials, with all schemes."""
    reading: Reading = "share"
    rows = overlapping(run, ("oracle", *_SHOWN), tuple(MODELS), (reading,))
    _, clients = sizes(run.quick)
    panels, claims = [], []
    for model, name in MODELS.items():
        mine = of_reading(rows, clients, reading, model)
        _, places = place(reading, mine)

        def at(case: Any, places: Any = places) -> float:
            return float(places[case[6]])

        panels.append((f"{READINGS[reading]}, {name}", {scheme: gap(mine, scheme, at) for scheme in _SHOWN}))
        claims.append(ranges(f"Overlap, {name}", mine, _SHOWN, at))
    return result(
        run, "ours-overlap", rows, drawn(panels, "aggregated profile overlap"), claims, ["Flat random, degree 4."]
    )
