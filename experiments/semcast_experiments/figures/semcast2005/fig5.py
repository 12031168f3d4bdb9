"""2005 Figure 5: what SemCast and unicast save against shortest paths, by the overlap of what gateways want."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.dissemination.profiles import Reading
from semcast_experiments.figures.lines import Style, above, curve, means, name_ends, result
from semcast_experiments.figures.output import Mean, dress, figure
from semcast_experiments.figures.semcast2005.setup import (
    COLOURS,
    FACTOR,
    MODELS,
    READINGS,
    of_reading,
    overlapping,
    place,
    scaled,
    sizes,
)
from semcast_experiments.figures.trials import Run

SCHEMES = ("spt", "unicast", "semcast", "semcast/cap", "oracle")
_NAMES = {
    "unicast": "UC",
    "semcast": "SemCast",
    "semcast/cap": "SemCast, merged as printed (loses messages)",
    "bound": "no scheme can save more",
}


def fig5(run: Run) -> dict[str, Any]:
    rows = overlapping(run, SCHEMES, tuple(MODELS), tuple(READINGS))
    brokers, clients = sizes(run.quick)
    note = [
        f"{brokers} brokers, {clients:,} clients, selectivity factor {FACTOR:g}, without legs; x is the "
        "aggregated overlap "
        "as measured.",
        f"Merged channels sent to D(Ei) ∩ D(Ej), as the paper prints, lose up to {_lost(rows):.1%} of all deliveries; "
        "SemCast is "
        "with the union.",
    ]
    return result(run, "2005-fig5", rows, _drawn(rows, clients), claims(rows, clients), note)


def saved(rows: Sequence[Cost], scheme: str, places: dict[float, float] | None = None) -> list[tuple[float, Mean]]:
    """By matching probability, or where ``places`` puts it, per cent below shortest paths."""
    by_chance = means(above(rows, scheme, "spt").items(), lambda item: item[0].probability, lambda item: -item[1])
    return sorted((places[chance] if places else chance, value) for chance, value in by_chance)


def claims(rows: Sequence[Cost], clients: int) -> list[Claim]:
    kinds = {(reading, model): of_reading(rows, clients, reading, model) for reading in READINGS for model in MODELS}
    found = {kind: {s: [v.value for _, v in saved(mine, s)] for s in _NAMES} for kind, mine in kinds.items()}
    made = [_always(*kind, found[kind], _lost(mine)) for kind, mine in kinds.items()]
    best, printed, limit = (
        max(max(values[scheme]) for values in found.values()) for scheme in ("semcast", "semcast/cap", "bound")
    )
    made.append(
        judged(
            "SemCast saves up to 50 % over SPT.",
            f"Up to {best:.0f} %; by a certified bound no scheme that delivers everything could save more than "
            f"{limit:.0f} % here.",
            best >= 45,
            f"Merged as the paper prints it, for D(Ei) ∩ D(Ej), it saves up to {printed:.0f} %, by losing up to "
            f"{_lost(rows):.0%} of the deliveries. Without loss it takes overlays on which a shortest-path tree costs "
            "twice a Steiner tree.",
        )
    )
    for reading, title in READINGS.items():
        first, *_, last = found[reading, "arcs"]["semcast"]
        made.append(
            judged(
                "The advantage shrinks as the overlap grows.",
                f"{title}, arcs: from {first:+.0f} % below SPT at the lowest to {last:+.0f} % at the highest.",
                first > last,
                "At the highest overlaps nearly all profiles match the same, and one tree serves them.",
            )
        )
    return made


def _always(reading: Reading, model: str, found: Mapping[str, Sequence[float]], lost: float) -> Claim:
    values, printed = found["semcast"], found["semcast/cap"]
    return judged(
        "SemCast always costs less than SPT.",
        f"{READINGS[reading]}, {MODELS[model]}: {min(values):.0f} to {max(values):.0f} % below SPT.",
        min(values) > 0,
        "A message that several channels carry is sent once over each; where profiles overlap at random, that is many. "
        f"Merged as printed, for D(Ei) ∩ D(Ej): {min(printed):.0f} to {max(printed):.0f} %, below SPT at "
        f"{sum(value > 0 for value in printed)} of {len(printed)} overlaps, with up to {lost:.0%} of the deliveries "
        "lost.",
        partly=max(values) > 0,
    )


def _lost(rows: Sequence[Cost]) -> float:
    """The largest share of deliveries that the printed merge does not make."""
    return max(row.missed for row in rows if row.scheme == "semcast/cap")


def _drawn(rows: Sequence[Cost], clients: int) -> Any:
    drawn, panels = figure(4, width=14.5, height=3.8, sharey=True)
    shown = [(reading, model) for reading in READINGS for model in MODELS]
    for axes, (reading, model) in zip(panels, shown, strict=True):
        mine = of_reading(rows, clients, reading, model)
        label, places = place(reading, mine)
        for scheme, name in _NAMES.items():
            points = saved(mine, scheme, places)
            curve(axes, points, Style(name, COLOURS[scheme], ":" if scheme == "bound" else "-"))
        axes.axhline(0, color="#999999", linewidth=1)
        axes.set_yscale("symlog", linthresh=50)
        axes.set_yticks(
            [-500, -200, -100, -50, -25, 0, 25, 50], ["-500", "-200", "-100", "-50", "-25", "0", "25", "50"]
        )
        axes.minorticks_off()
        dress(axes, f"{READINGS[reading]}, {MODELS[model]}", label, "")
        scaled(axes, reading)
    panels[0].set_ylabel("% below SPT (linear to 50)")
    name_ends(panels[-1])
    return drawn
