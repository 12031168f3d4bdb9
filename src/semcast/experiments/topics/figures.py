"""Plots like the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from semcast.experiments.output import STYLE, dress, save
from semcast.experiments.topics.costs import Cost
from semcast.experiments.topics.memory import Memory
from semcast.model.palette import BLUE, GREEN, GREY, ORANGE, PINK

# One colour per engine in every plot.
COLOURS = {"compact": BLUE, "hashing": ORANGE, "tree": GREEN, "regex": PINK, "naive": GREY}
MARKS = {"compact": "o", "hashing": "s", "tree": "^", "regex": "D", "naive": "x"}


def draw(costs: Sequence[Cost], sizes: Sequence[Memory], compared: int, out: Path) -> list[Path]:
    """All figures, as SVG and PNG; ``compared`` is the number of attributes at which engines are compared."""
    with matplotlib.rc_context(STYLE):
        made = {
            "topics-computing": _computing(costs),
            "topics-engines": _engines(costs, sizes, compared),
            "topics-tree": _tree(costs),
            "topics-flux": _flux(costs, compared),
        }
        return [file for name, figure in made.items() for file in save(figure, out, name)]


def _computing(costs: Sequence[Cost]) -> Any:
    """Figures 4 (tree), 5 (hashing) and 6 (regular expressions), and the default engine beside them."""
    titles = {
        "tree": "tree (Figure 4)",
        "hashing": "hashing (Figure 5)",
        "regex": "regex (Figure 6)",
        "compact": "compact",
    }
    depths = sorted({cost.attributes for cost in costs})
    figure, panels = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
    shades = plt.get_cmap("cividis")
    for axes, (engine, title) in zip(panels.flat, titles.items(), strict=True):
        scale = 1000 if engine == "regex" else 1
        for at, depth in enumerate(depths):
            line = sorted(
                (c.subscriptions, c.compute_us / scale) for c in costs if (c.engine, c.attributes) == (engine, depth)
            )
            colour = shades(at / max(1, len(depths) - 1) * 0.9)
            axes.plot(*zip(*line, strict=True), marker="o", markersize=3, color=colour, label=f"{depth} attributes")
        _dress(axes, title, "subscriptions", "ms per topic" if engine == "regex" else "µs per topic")
        axes.set_ylim(bottom=0)
    panels[0, 0].legend(fontsize=7, ncols=2)
    return figure


def _engines(costs: Sequence[Cost], sizes: Sequence[Memory], compared: int) -> Any:
    """Figure 7, and the memory that buys it."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=[3, 2])
    _lines(left, costs, compared, "compute_us")
    left.set_yscale("log")
    _dress(left, f"Computing destinations, {compared} attributes (Figure 7)", "subscriptions", "µs per topic")
    left.legend(fontsize=8)
    here = [m for m in sizes if m.attributes == compared and m.engine != "profile"]
    right.barh([m.engine for m in here], [m.bytes_each for m in here], color=[COLOURS[m.engine] for m in here])
    for at, m in enumerate(here):
        right.text(m.bytes_each, at, f" {m.bytes_each:,.0f}", va="center", fontsize=8)
    right.invert_yaxis()
    _dress(right, "Memory", "bytes per subscription, beyond its profile", "")
    right.set_xlim(right=1.18 * max(m.bytes_each for m in here))
    return figure


def _tree(costs: Sequence[Cost]) -> Any:
    """Figure 8: nodes and edges of the tree."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    depths = sorted({cost.attributes for cost in costs})
    shades = plt.get_cmap("cividis")
    for at, depth in enumerate(depths):
        mine = sorted((c.subscriptions, c.nodes, c.edges) for c in costs if (c.engine, c.attributes) == ("tree", depth))
        colour = shades(at / max(1, len(depths) - 1) * 0.9)
        axes.plot(
            [m[0] for m in mine],
            [m[2] for m in mine],
            color=colour,
            marker="o",
            markersize=3,
            label=f"{depth} attributes",
        )
        axes.plot([m[0] for m in mine], [m[1] for m in mine], color=colour, linestyle=":")
    axes.legend(fontsize=7, ncols=2)
    _dress(axes, "The tree's edges (solid) and nodes (dotted) (Figure 8)", "subscriptions", "count")
    axes.set_ylim(bottom=0)
    return figure


def _flux(costs: Sequence[Cost], compared: int) -> Any:
    """Figures 9 and 10: adding and removing one subscription."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for axes, field, title in zip(
        panels, ("add_us", "remove_us"), ("Adding (Figure 9)", "Removing (Figure 10)"), strict=True
    ):
        _lines(axes, [cost for cost in costs if cost.engine != "naive"], compared, field)
        axes.set_yscale("log")
        _dress(axes, f"{title}, {compared} attributes", "subscriptions", "µs per subscription")
    panels[0].legend(fontsize=8)
    return figure


def _lines(axes: Any, costs: Sequence[Cost], compared: int, field: str) -> None:
    for engine in dict.fromkeys(cost.engine for cost in costs):
        mine = [c for c in costs if (c.engine, c.attributes) == (engine, compared)]
        line = sorted((c.subscriptions, getattr(c, field)) for c in mine)
        axes.plot(*zip(*line, strict=True), marker=MARKS[engine], markersize=4, color=COLOURS[engine], label=engine)


def _dress(axes: Any, title: str, x: str, y: str) -> None:
    dress(axes, title, x, y)
    if x == "subscriptions":
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}k" if value else "0")
