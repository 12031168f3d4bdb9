"""Where we agree with the paper's conclusions, and where Python changes them: in words, from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semcast.experiments.claims import Claim, judged
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


def claims(costs: Sequence[Cost], sizes: Sequence[Memory], edges: Mapping[int, int], compared: int) -> list[Claim]:
    """The paper's conclusions of Figures 4 to 10, judged by the order of its three engines."""
    largest = max(cost.subscriptions for cost in costs)
    at = {c.engine: c for c in costs if (c.subscriptions, c.attributes) == (largest, compared)}
    size = {m.engine: m.bytes_each for m in sizes if m.attributes == compared}
    tree, hashing, regex = (at[name] for name in ("tree", "hashing", "regex"))
    quick, adding = (tree.compute_us, hashing.compute_us, regex.compute_us), (tree.add_us, hashing.add_us, regex.add_us)
    removing = (tree.remove_us, hashing.remove_us, regex.remove_us)
    return [
        judged(
            "Computing destinations: the tree first, hashing slightly behind, regex orders of magnitude slower "
            "(4 to 7).",
            "Tree {:,.1f}, hashing {:,.1f}, regex {:,.0f} µs per topic.".format(*quick),
            quick[0] <= quick[1] and quick[2] > 10 * quick[1],
            "In Python a hash of a whole text is cheaper than a walk from node to node.",
            partly=quick[2] > 10 * max(quick[:2]),
        ),
        judged(
            "The tree takes by far the most memory (8).",
            f"Bytes per subscription: tree {size['tree']:,.0f}, hashing {size['hashing']:,.0f}, regex "
            f"{size['regex']:,.0f}.",
            size["tree"] > 2 * max(size["hashing"], size["regex"]),
            "A compiled expression is dear in Python; hashing takes the least.",
            partly=size["tree"] > 2 * size["hashing"],
        ),
        judged(
            "The tree of 100,000 × 10 has 898,187 edges (8).",
            f"{edges[50]:,} with 50 values per attribute, {edges[5000]:,} with 5,000.",
            abs(edges[50] / PAPER_EDGES - 1) < 0.01,
            "Its tree looks as if it held values of a far larger range than the text says.",
            partly=abs(edges[5000] / PAPER_EDGES - 1) < 0.05,
        ),
        judged(
            "Adding: regex is the cheapest (9).",
            "Tree {:,.1f}, hashing {:,.1f}, regex {:,.1f} µs.".format(*adding),
            adding[2] == min(adding),
            "Python's compiler of expressions is written in Python.",
        ),
        judged(
            "Removing: regex is the cheapest, the tree the dearest (10).",
            "Tree {:,.1f}, hashing {:,.1f}, regex {:,.1f} µs.".format(*removing),
            removing[2] == min(removing) and removing[0] == max(removing),
            "The order is another.",
            partly=removing[2] == min(removing) or removing[0] == max(removing),
        ),
    ]


def _order(what: str, unit: str, values: Mapping[str, float]) -> str:
    ordered = sorted(values.items(), key=lambda item: item[1])
    return f"{what}: " + " < ".join(f"{name} {value:,.4g}" for name, value in ordered) + f" ({unit})."
