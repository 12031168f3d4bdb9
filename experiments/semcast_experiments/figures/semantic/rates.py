"""Thesis Figures 5.10 to 5.19: the load of a router against the rate of packets that come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.output import dress, grid
from semcast_experiments.figures.semantic.fits import line
from semcast_experiments.figures.semantic.load import Window
from semcast_experiments.figures.semantic.setup import BY_RATE, STYLES, all_windows, of
from semcast_experiments.figures.trials import Run


def rates(run: Run) -> dict[str, Any]:
    rows = all_windows(run)
    note = [
        "A router with two ports, as the thesis' Router 1, in this process: it decodes packets, matches, and encodes "
        "what goes on. A point is a quarter of a second with a drawn number of packets; load is CPU time over time, "
        "the best of some passes.",
    ]
    return result(run, "semantic-load", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[Window]) -> list[Claim]:
    fits = [_line(of(rows, kind, sources, "each")) for kind, sources in BY_RATE.values()]
    explained = [fit.explained for fit in fits]
    return [
        judged(
            "Load is almost a straight line in the packet rate, in all ten figures.",
            f"The lines explain {min(explained):.0%} to {max(explained):.0%} of the variance.",
            min(explained) > 0.9,
            "Packets of different sizes, and whoever else uses the machine, scatter short windows at low rates.",
            partly=sum(explained) / len(explained) > 0.8,
        )
    ]


def _line(rows: Sequence[Window]) -> Any:
    return line([row.packets_per_second for row in rows], [row.load_percent for row in rows])


def _drawn(rows: Sequence[Window]) -> Any:
    drawn, panels = grid(2, 5, width=13.5, height=5.6, sharey=True)
    for number, (kind, sources) in BY_RATE.items():
        axes = panels[int(kind == "different")][sources - 1]
        for way, style in STYLES.items():
            mine = of(rows, kind, sources, way)
            x, y = [row.packets_per_second for row in mine], [row.load_percent for row in mine]
            axes.scatter(x, y, s=7, marker=style.mark, color=style.colour, alpha=0.5, linewidths=0, rasterized=True)
            fit, ends = _line(mine), (0.0, max(x))
            axes.plot(ends, [fit(end) for end in ends], color=style.colour, label=style.label)
        dress(axes, f"{number}: {kind}, {sources} source{'s' * (sources > 1)}", "packets per second", "")
        axes.set_xlim(left=0)
    for row in panels:
        row[0].set_ylabel("load, % of a core")
    handles, labels = panels[0][0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3)
    return drawn
