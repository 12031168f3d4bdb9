"""What the figures of the topics paper share: sizes, the trials behind them, colours and the look of their axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from semcast.model.palette import BLUE, GREEN, GREY, ORANGE, PINK
from semcast_experiments.figures.lines import Style, curve, means
from semcast_experiments.figures.output import dress
from semcast_experiments.figures.topics.costs import Cost, Growth, Rates, Stream, batches, costs
from semcast_experiments.figures.topics.memory import Memory, Subscribed, memory
from semcast_experiments.figures.trials import Run

COMPARED = 7
"""Attributes, as in the paper's Figure 7."""
PAPERS = ("tree", "hashing", "regex")
STYLES = {
    "compact": Style("compact (ours)", BLUE),
    "hashing": Style("hashing", ORANGE, mark="s"),
    "tree": Style("tree", GREEN, mark="^"),
    "regex": Style("regex", PINK, mark="D"),
    "naive": Style("one by one", GREY, mark="x"),
}
"""One colour per engine in every plot."""


class Scale(NamedTuple):
    attributes: tuple[int, ...]
    sizes: tuple[int, ...]
    messages: int


FULL = Scale((2, 4, 7, 10), (10_000, 25_000, 50_000, 100_000), 1_000_000)
QUICK = Scale((2, 4, 7, 10), (500, 1_000, 2_000), 100_000)


def scale(run: Run) -> Scale:
    return QUICK if run.quick else FULL


def all_costs(run: Run) -> list[Cost]:
    """The trials behind Figures 4 to 10."""
    chosen = scale(run)
    cases = [Growth(depth, chosen.sizes, seed) for depth in chosen.attributes for seed in run.seeds(5, 3)]
    return run.trials("topics-costs", costs, Cost, cases, alone=True)


def all_memory(run: Run) -> list[Memory]:
    """Of the most subscriptions, at a few numbers of attributes."""
    chosen = scale(run)
    depths = [depth for depth in (4, COMPARED, 10) if depth in chosen.attributes]
    cases = [Subscribed(depth, chosen.sizes[-1], seed) for depth in depths for seed in run.seeds(5, 3)]
    return run.trials("topics-memory", memory, Memory, cases)


def all_rates(run: Run) -> list[Rates]:
    chosen = scale(run)
    cases = [Stream(COMPARED, chosen.sizes[-1], chosen.messages, seed) for seed in run.seeds(5, 3)]
    return run.trials("topics-rates", batches, Rates, cases, alone=True)


def largest(rows: Sequence[Cost], field: str) -> dict[str, float]:
    """Per engine, what it costs with the most subscriptions of ``COMPARED`` attributes; mean over seeds."""
    most = max(row.subscriptions for row in rows)
    found = {}
    for engine in STYLES:
        mine = [row for row in rows if (row.engine, row.subscriptions, row.attributes) == (engine, most, COMPARED)]
        found[engine] = sum(float(getattr(row, field)) for row in mine) / max(1, len(mine))
    return found


def shade(at: int, of: int) -> str:
    """Of one ordered set of curves, the colour of one: dark to light, told apart by colour-blind people too."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return to_hex(colormaps["cividis"](0.85 * at / max(1, of - 1)))


def by_size(axes: Any, rows: Sequence[Cost], y: Callable[[Cost], float], style: Style) -> None:
    """A curve over the number of subscriptions."""
    curve(axes, means(rows, lambda row: float(row.subscriptions), y), style)


def dressed(axes: Any, title: str, y: str) -> None:
    """The axes of a curve over subscriptions."""
    dress(axes, title, "subscriptions", y)
    axes.locator_params(axis="x", nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
