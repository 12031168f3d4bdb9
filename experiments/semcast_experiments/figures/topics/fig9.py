"""Topics paper, Figures 9 and 10: adding and removing one subscription."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import name_ends, result
from semcast_experiments.figures.output import figure
from semcast_experiments.figures.topics.costs import Cost
from semcast_experiments.figures.topics.setup import COMPARED, PAPERS, STYLES, all_costs, by_size, dressed, largest
from semcast_experiments.figures.trials import Run

_CHANGES = {"add_us": ("Adding", "Figure 9"), "remove_us": ("Removing", "Figure 10")}


def fig9(run: Run) -> dict[str, Any]:
    rows = [row for row in all_costs(run) if row.engine != "naive"]
    note = ["500 more subscriptions are added and removed at every size; CPU time of one, best of some rounds."]
    return result(run, "topics-fig9", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[Cost]) -> list[Claim]:
    made = []
    for field, (what, number) in _CHANGES.items():
        at = largest(rows, field)
        tree, hashing, regex = (at[name] for name in PAPERS)
        made.append(
            judged(
                f"{what} ({number}): regex is the cheapest, hashing close to it, the tree the dearest.",
                f"Tree {tree:,.1f}, hashing {hashing:,.1f}, regex {regex:,.1f} µs; ours {at['compact']:,.1f}.",
                regex <= hashing <= tree,
                "Python's compiler of expressions is written in Python: a compiled pattern is the dearest to add."
                if field == "add_us" and regex > tree
                else "The order is another: an entry of a dictionary is cheaper to take out than a way of edges.",
                partly=tree == max(tree, hashing, regex) or regex == min(tree, hashing, regex),
            )
        )
    return made


def _drawn(rows: Sequence[Cost]) -> Any:
    drawn, panels = figure(2, width=10, height=3.6, sharey=True)
    for axes, (field, (what, number)) in zip(panels, _CHANGES.items(), strict=True):
        for engine, style in STYLES.items():
            mine = [row for row in rows if (row.engine, row.attributes) == (engine, COMPARED)]
            by_size(axes, mine, attrgetter(field), style)
        axes.set_yscale("log")
        dressed(axes, f"{what}, {COMPARED} attributes ({number})", "")
    panels[0].set_ylabel("CPU µs per subscription")
    name_ends(panels[-1])
    return drawn
