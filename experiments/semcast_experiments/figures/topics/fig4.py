"""Topics paper, Figures 4 to 6: computing destinations with a tree, by hashing and by regular expressions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import Style, name_ends, result
from semcast_experiments.figures.output import figure
from semcast_experiments.figures.topics.costs import Cost
from semcast_experiments.figures.topics.setup import all_costs, by_size, dressed, shade
from semcast_experiments.figures.trials import Run

_TITLES = {"tree": "tree (Figure 4)", "hashing": "hashing (Figure 5)", "regex": "regex (Figure 6)", "compact": "ours"}


def fig4(run: Run) -> dict[str, Any]:
    rows = all_costs(run)
    note = [
        "Every attribute is one of 50 values, and one of them a wildcard; topics match at least one subscription each. "
        "CPU time of a topic, best of some rounds. Ours is the default engine, a compact tree."
    ]
    return result(run, "topics-fig4", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[Cost]) -> list[Claim]:
    sizes, depths = sorted({row.subscriptions for row in rows}), sorted({row.attributes for row in rows})
    least, most = {}, {}
    for engine in ("tree", "hashing", "regex"):
        least[engine] = _at(rows, engine, sizes[0], depths[0])
        most[engine] = _at(rows, engine, sizes[-1], depths[-1])
    grows = [engine for engine in least if most[engine] > least[engine]]
    said = ", ".join(f"{engine} {least[engine]:,.1f} to {most[engine]:,.1f} µs" for engine in least)
    sweeps = _at(rows, "hashing", sizes[-1], depths[-1]) / _at(rows, "hashing", sizes[-1], depths[0])
    flat = _at(rows, "regex", sizes[-1], depths[-1]) / _at(rows, "regex", sizes[-1], depths[0])
    return [
        judged(
            "Overheads grow with the number of subscriptions and of attributes.",
            f"From {sizes[0]:,} × {depths[0]} to {sizes[-1]:,} × {depths[-1]}: {said}.",
            len(grows) == 3,
            "Some walk fewer branches where more attributes make subscriptions rarer.",
            partly=bool(grows),
        ),
        judged(
            "Hashing comes near its worst case: as many sweeps as there are attributes.",
            f"{depths[-1]} attributes cost {sweeps:.1f} times what {depths[0]} do, at {sizes[-1]:,} subscriptions.",
            sweeps >= 0.5 * depths[-1] / depths[0],
            "Sweeps stop at the last attribute that any related subscription has.",
            partly=sweeps > 1.2,
        ),
        judged(
            "Regular expressions: costs do not depart much from their high base as attributes increase.",
            f"{depths[-1]} attributes cost {flat:.2f} times what {depths[0]} do.",
            0.5 <= flat <= 2,
            "Longer expressions take longer to fail here.",
        ),
    ]


def _at(rows: Sequence[Cost], engine: str, size: int, depth: int) -> float:
    mine = [r.compute_us for r in rows if (r.engine, r.subscriptions, r.attributes) == (engine, size, depth)]
    return sum(mine) / len(mine)


def _per_topic(row: Cost, unit: int) -> float:
    return row.compute_us / unit


def _drawn(rows: Sequence[Cost]) -> Any:
    depths = sorted({row.attributes for row in rows})
    drawn, panels = figure(4, width=13.5, height=3.5)
    for axes, (engine, title) in zip(panels, _TITLES.items(), strict=True):
        unit, name = (1000, "ms") if engine == "regex" else (1, "µs")
        for at, depth in enumerate(depths):
            colour = shade(at, len(depths))
            mine = [row for row in rows if (row.engine, row.attributes) == (engine, depth)]
            by_size(axes, mine, partial(_per_topic, unit=unit), Style(f"{depth} attributes", colour))
        axes.set_ylim(bottom=0)
        dressed(axes, title, f"CPU {name} per topic")
    name_ends(panels[-1])
    return drawn
