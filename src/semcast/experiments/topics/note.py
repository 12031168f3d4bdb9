"""Where we agree with the paper's conclusions, and where Python changes them: in words, from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semcast.experiments.topics.costs import Cost
from semcast.experiments.topics.memory import Memory

PAPER_NODES, PAPER_EDGES = 798_188, 898_187  # 10^5 subscriptions of 10 attributes (§4.2.2)


def note(
    costs: Sequence[Cost], sizes: Sequence[Memory], rates: Mapping[str, float], edges: Mapping[int, int], compared: int
) -> list[str]:
    """One line per conclusion; ``edges`` are those of 10^5 × 10 by the number of values per attribute."""
    largest = max(cost.subscriptions for cost in costs)
    at = {c.engine: c for c in costs if (c.subscriptions, c.attributes) == (largest, compared)}
    size = {m.engine: m.bytes_each for m in sizes if m.attributes == compared}
    naive, engine, stream = rates.values()
    papers = ("tree", "hashing", "regex")
    return [
        f"{largest:,} subscriptions × {compared} attributes, unless said otherwise.",
        _order("Speed", "µs per topic", {name: at[name].compute_us for name in papers})
        + " The paper: the tree first, hashing slightly behind, regex orders of magnitude slower.",
        f"Default engine (compact): {at['compact'].compute_us:.1f} µs per topic, {size['compact']:.0f} bytes.",
        _order("Memory", "bytes per subscription", {name: size[name] for name in papers})
        + " The paper: regex and hashing alike, far below the tree. A compiled pattern is dear in Python.",
        _order("Adding", "µs", {name: at[name].add_us for name in papers})
        + " The paper: regex first. Python's compiler of expressions is written in Python.",
        _order("Removing", "µs", {name: at[name].remove_us for name in papers}) + " The paper: the same order.",
        f"Figure 8, 100,000 × 10: the paper counts {PAPER_EDGES:,} edges and {PAPER_NODES:,} nodes. Drawn from 50 "
        f"values, and sharing equal prefixes, there are {edges[50]:,} edges; drawn from 5,000 values, {edges[5000]:,}: "
        "the paper's tree looks as if it held values of a far larger range than its text says.",
        f"{engine / naive:,.0f} times the topics of split-and-compare per second ({engine:,.0f} against {naive:,.1f}); "
        f"with repeated topics, in batches, {stream / engine:,.1f} times more again ({stream:,.0f} per second).",
    ]


def _order(what: str, unit: str, values: Mapping[str, float]) -> str:
    ordered = sorted(values.items(), key=lambda item: item[1])
    return f"{what}: " + " < ".join(f"{name} {value:,.4g}" for name, value in ordered) + f" ({unit})."
