"""Thesis Figures 5.5 to 5.9: the load of a router against selectivity, packets in per packet out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.semantic.fits import line
from semcast_experiments.figures.semantic.load import Window
from semcast_experiments.figures.semantic.setup import BY_SELECTIVITY, STYLES, all_windows, of
from semcast_experiments.figures.trials import Run

_WAYS = ("each", "shared")


def selectivity(run: Run) -> dict[str, Any]:
    rows = all_windows(run)
    note = ["The trials of Figures 5.10 to 5.19; windows in which nothing went out have no selectivity."]
    return result(run, "semantic-selectivity", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[Window]) -> list[Claim]:
    """How much of the variance of load selectivity explains, and how much the packet rate."""
    chosen, rate = [], []
    for kind, sources in BY_SELECTIVITY.values():
        mine = [row for row in of(rows, kind, sources, "each") if row.selectivity]
        load = [row.load_percent for row in mine]
        chosen.append(line([row.selectivity for row in mine], load).explained)
        rate.append(line([row.packets_per_second for row in mine], load).explained)
    return [
        judged(
            "Points of load against selectivity are random; only the packet rate matters.",
            f"Selectivity explains {min(chosen):.0%} to {max(chosen):.0%} of the variance of load, the packet rate "
            f"{min(rate):.0%} to {max(rate):.0%}.",
            max(chosen) < 0.4 and sum(chosen) < 0.5 * sum(rate),
            "With few windows some line or other can be drawn through them.",
            partly=sum(chosen) < sum(rate),
        ),
    ]


def _drawn(rows: Sequence[Window]) -> Any:
    drawn, panels = figure(5, width=13.5, height=3.4, sharey=True)
    for axes, (number, (kind, sources)) in zip(panels, BY_SELECTIVITY.items(), strict=True):
        for way in _WAYS:
            mine, style = [row for row in of(rows, kind, sources, way) if row.selectivity], STYLES[way]
            axes.scatter(
                [row.selectivity for row in mine], [row.load_percent for row in mine], s=9, marker=style.mark,
                color=style.colour, alpha=0.6, linewidths=0, label=style.label, rasterized=True,
            )  # fmt: skip
        axes.locator_params(axis="x", nbins=5)
        dress(axes, f"{number}: {kind}, {sources} source{'s' * (sources > 1)}", "packets in per packet out", "")
    panels[0].set_ylabel("load, % of a core")
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return drawn
