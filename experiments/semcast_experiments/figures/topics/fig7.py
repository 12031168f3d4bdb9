"""Topics paper, Figure 7: the three engines beside each other, with the default one and comparing one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import name_ends, result
from semcast_experiments.figures.output import figure, mean
from semcast_experiments.figures.topics.costs import Cost
from semcast_experiments.figures.topics.setup import (
    COMPARED,
    PAPERS,
    STYLES,
    all_costs,
    all_rates,
    by_size,
    dressed,
    largest,
)
from semcast_experiments.figures.trials import Run


def fig7(run: Run) -> dict[str, Any]:
    rows, rates = all_costs(run), all_rates(run)
    naive, engine, stream = (
        mean(getattr(rate, name) for rate in rates).value for name in ("naive", "engine", "stream")
    )
    note = [
        f"Default engine (compact): {engine / naive:,.0f} times the topics of split-and-compare per CPU second "
        f"({engine:,.0f} against {naive:,.1f}); in batches with repeated topics {stream / engine:,.1f} times more "
        f"again ({stream:,.0f})."
    ]
    told = {"naive": naive, "default engine, distinct topics": engine, "batches, repeated topics": stream}
    return result(run, "topics-fig7", rows, _drawn(rows), claims(rows), note, topics_per_second=told)


def claims(rows: Sequence[Cost]) -> list[Claim]:
    at = largest(rows, "compute_us")
    tree, hashing, regex = (at[name] for name in PAPERS)
    return [
        judged(
            "The tree is the fastest, hashing slightly behind, regex several orders of magnitude slower.",
            f"Tree {tree:,.1f}, hashing {hashing:,.1f}, regex {regex:,.0f} µs per topic; ours {at['compact']:,.1f}.",
            tree <= hashing <= 3 * tree and regex > 100 * hashing,
            "How many orders depends on the subscriptions: regex looks at each. In Python a walk from node to node and "
            "a hash of a text are of other prices than in Java.",
            partly=regex > 10 * max(tree, hashing),
        )
    ]


def _drawn(rows: Sequence[Cost]) -> Any:
    drawn, axes = figure(1, width=6.6, height=3.8)
    for engine, style in STYLES.items():
        mine = [row for row in rows if (row.engine, row.attributes) == (engine, COMPARED)]
        by_size(axes, mine, lambda row: row.compute_us, style)
    axes.set_yscale("log")
    dressed(axes, f"Computing destinations, {COMPARED} attributes (Figure 7)", "CPU µs per topic")
    name_ends(axes)
    return drawn
