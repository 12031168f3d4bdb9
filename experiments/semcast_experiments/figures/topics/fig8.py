"""Topics paper, Figure 8: nodes and edges of the tree; and what a subscription takes in memory, engine by engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import Style, name_ends, result
from semcast_experiments.figures.output import Mean, dress, figure, mean, write_table
from semcast_experiments.figures.topics.costs import Cost
from semcast_experiments.figures.topics.memory import Memory
from semcast_experiments.figures.topics.setup import COMPARED, STYLES, all_costs, all_memory, by_size, dressed, shade
from semcast_experiments.figures.topics.workload import VALUES, shared_prefixes
from semcast_experiments.figures.trials import Run

PAPER_NODES, PAPER_EDGES = 798_188, 898_187
"""Of 100,000 subscriptions of 10 attributes."""
_MORE_VALUES = 5_000


def fig8(run: Run) -> dict[str, Any]:
    rows, sizes = [row for row in all_costs(run) if row.engine == "tree"], all_memory(run)
    edges = {values: shared_prefixes(100_000, 10, values, run.seed) for values in (VALUES, _MORE_VALUES)}
    note = [
        "Solid: edges. Dotted: nodes. Memory is what an engine holds beyond the parsed profiles, as Python's allocator "
        "counts it."
    ]
    made = result(run, "topics-fig8", rows, _drawn(rows, sizes), claims(sizes, edges), note, edges=edges)
    made["files"].append(str(write_table(run.out / "topics-memory.csv", sizes)))
    return made


def claims(sizes: Sequence[Memory], edges: Mapping[int, int]) -> list[Claim]:
    size = {engine: value.value for engine, value in bytes_each(sizes).items()}
    few, many = edges[VALUES], edges[_MORE_VALUES]
    return [
        judged(
            "The tree's memory is its biggest drawback: more than 1 GB of heap for 100,000 × 10.",
            f"Bytes per subscription of {COMPARED} attributes: tree {size['tree']:,.0f}, hashing "
            f"{size['hashing']:,.0f}, regex {size['regex']:,.0f}; ours {size['compact']:,.0f}.",
            size["tree"] > 2 * max(size["hashing"], size["regex"]),
            "A compiled expression is dear in Python, as dear as a way through the tree; hashing takes the least.",
            partly=size["tree"] > 2 * size["hashing"],
        ),
        judged(
            f"The tree of 100,000 × 10 has {PAPER_EDGES:,} edges.",
            f"{few:,} with {VALUES} values per attribute, as the text says; {many:,} with {_MORE_VALUES:,}.",
            abs(few / PAPER_EDGES - 1) < 0.01,
            f"With {_MORE_VALUES:,} values, under which hardly any prefix is shared, it would be near: the paper's "
            "tree looks as if it held values of a far larger range than its text says.",
            partly=abs(many / PAPER_EDGES - 1) < 0.1,
        ),
    ]


def bytes_each(sizes: Sequence[Memory]) -> dict[str, Mean]:
    """Per engine, at ``COMPARED`` attributes."""
    return {
        engine: mean(row.bytes_each for row in sizes if (row.engine, row.attributes) == (engine, COMPARED))
        for engine in STYLES
    }


def _drawn(rows: Sequence[Cost], sizes: Sequence[Memory]) -> Any:
    drawn, (left, right) = figure(2, width=10.5, height=3.8, width_ratios=[3, 2])
    depths = sorted({row.attributes for row in rows})
    for at, depth in enumerate(depths):
        colour = shade(at, len(depths))
        mine = [row for row in rows if row.attributes == depth]
        by_size(left, mine, lambda row: float(row.edges), Style(f"{depth} attributes", colour))
        nodes = sorted({(row.subscriptions, row.nodes) for row in mine if row.seed == rows[0].seed})
        left.plot(*zip(*nodes, strict=True), color=colour, linestyle=":")
    left.set_ylim(bottom=0)
    dressed(left, "The tree (Figure 8)", "edges (dotted: nodes)")
    name_ends(left)
    found = bytes_each(sizes)
    right.barh(
        [STYLES[engine].label for engine in found],
        [value.value for value in found.values()],
        xerr=[value.margin for value in found.values()],
        color=[STYLES[engine].colour for engine in found],
    )
    for at, value in enumerate(found.values()):
        right.text(value.value + value.margin, at, f" {value.value:,.0f}", va="center", fontsize=8)
    right.invert_yaxis()
    right.set_xlim(right=1.2 * max(value.value + value.margin for value in found.values()))
    dress(right, f"Memory, {COMPARED} attributes", "bytes per subscription, beyond its profile", "")
    return drawn
