"""What delay bounds cost: extra links against the bound, for three network sizes (2005 Figure 10).

As in the paper, every gateway has the same bound, delays are counted in hops from the rendezvous point, and a gateway
that cannot have the bound is joined by the shortest path. The paper: typically no more than 10 % extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from semcast.experiments.claims import Claim, judged
from semcast.experiments.output import dress, figure, mean, save, write_table
from semcast.model.palette import BLUE, GREEN, ORANGE
from semcast.trees import DisseminationTree, Graph, Routes, Topology, join_within, low_cost_tree
from semcast.trees.generators import generate
from semcast.trees.joins import Closest

_COLOURS = (BLUE, ORANGE, GREEN)
_LINES: dict[Closest, str] = {"destination": "-", "broker": "--"}


class BoundTrial(NamedTuple):
    """One tree with a bound beside the same without."""

    brokers: int
    seed: int
    gateways: int
    closest: str
    bound_hops: int
    links: int
    penalty: float
    """Links over those of the tree without a bound, less 1."""
    unmet: float
    """The share of gateways that no tree could serve within the bound."""


class _Scale(NamedTuple):
    sizes: Sequence[int]
    bounds: Sequence[int]
    shares: Sequence[float]
    seeds: int
    trees: int
    degree: int


_FULL = _Scale((200, 400, 600), tuple(range(3, 19)), (0.1, 0.3, 1.0), 6, 4, 4)
_QUICK = _Scale((60, 120, 200), (3, 5, 8, 12), (0.3,), 2, 2, 4)


def delay_bounds(quick: bool, seed: int, out: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure the penalty of bounds and write table and figure."""
    scale = _QUICK if quick else _FULL
    out.mkdir(parents=True, exist_ok=True)
    found = list(_trials(scale, seed, progress))
    files = [write_table(out / "delay-bounds.csv", found), *save(_drawn(found, scale), out, "delay-bounds")]
    return {
        "seed": seed,
        "quick": quick,
        "note": _note(found, scale),
        "claims": [list(claim) for claim in claims(found, scale)],
        "files": [str(file) for file in files],
    }


def _trials(scale: _Scale, seed: int, progress: Callable[[str], None]) -> Iterator[BoundTrial]:
    for brokers in scale.sizes:
        progress(f"networks of {brokers} brokers")
        for number in range(scale.seeds):
            rng = np.random.default_rng([seed, brokers, number])
            network = generate("random", brokers, rng, degree=scale.degree)
            hops = Graph.of(brokers, network.graph.ends)
            for share in scale.shares:
                for _ in range(scale.trees):
                    for closest in _LINES:
                        yield from _trial(network, hops, number, share, closest, scale.bounds, rng)


def _trial(
    network: Topology,
    hops: Graph,
    seed: int,
    share: float,
    closest: Closest,
    bounds: Sequence[int],
    rng: np.random.Generator,
) -> Iterator[BoundTrial]:
    root = int(rng.integers(hops.num_nodes))
    size = max(1, round(share * len(network.gateways)))
    members = rng.choice(network.gateways, size, replace=False).tolist()
    routes = Routes(hops)
    free = len(low_cost_tree(routes, root, members, closest).tree())
    for bound in bounds:
        tree = DisseminationTree(hops, root)
        met = [join_within(tree, member, bound, routes, closest).met for member in members]
        links = len(tree.parent)
        yield BoundTrial(
            hops.num_nodes, seed, size, closest, bound, links, links / max(1, free) - 1, 1 - sum(met) / size
        )


def _drawn(found: Sequence[BoundTrial], scale: _Scale) -> Any:
    drawn, (left, right) = figure(2, sharex=True, width_ratios=[3, 2])
    for brokers, colour in zip(scale.sizes, _COLOURS, strict=True):
        for closest, line in _LINES.items():
            mine = [
                [t for t in found if (t.brokers, t.closest, t.bound_hops) == (brokers, closest, b)]
                for b in scale.bounds
            ]
            values = [mean(t.penalty for t in trials) for trials in mine]
            left.errorbar(
                scale.bounds,
                [100 * value.value for value in values],
                [100 * value.margin for value in values],
                color=colour, linestyle=line, marker="o", markersize=3, linewidth=1.2,
                label=f"{brokers} brokers, joins the closest {closest}",
            )  # fmt: skip
        unmet = [mean(t.unmet for t in found if (t.brokers, t.bound_hops) == (brokers, b)) for b in scale.bounds]
        right.plot(scale.bounds, [100 * value.value for value in unmet], color=colour, marker="o", markersize=3)
    left.axhline(10, color="#999999", linewidth=1, linestyle=":")
    left.text(scale.bounds[-1], 10, "2005: rarely beyond 10 % ", ha="right", va="bottom", fontsize=7)
    dress(left, "Extra links for a delay bound (2005, Figure 10)", "bound in hops", "% above no bound")
    dress(right, "Gateways that no tree can serve in time", "bound in hops", "%")
    drawn.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7)
    return drawn


def claims(found: Sequence[BoundTrial], scale: _Scale) -> list[Claim]:
    """2005 Figure 10, at the largest network, under both rules of joining."""
    made = []
    for closest in _LINES:
        mine = [t for t in found if (t.brokers, t.closest) == (scale.sizes[-1], closest)]
        extra = [mean(t.penalty for t in mine if t.bound_hops == bound).value for bound in scale.bounds]
        within = sum(value <= 0.1 for value in extra) / len(extra)
        made.append(
            judged(
                "A latency bound typically costs no more than 10 %.",
                f"At most {max(extra):.1%}, and within 10 % at {within:.0%} of the bounds, joining the closest "
                f"{closest}.",
                within >= 0.75,
                "The tightest bounds, which most gateways cannot have, turn trees into shortest paths.",
                partly=within >= 0.5,
            )
        )
        made.append(
            judged(
                "The penalty shrinks as bounds are relaxed.",
                f"From {extra[0]:.1%} at {scale.bounds[0]} hops to {extra[-1]:.1%} at {scale.bounds[-1]} ({closest}).",
                extra[-1] <= extra[0],
                "It grows first: loose bounds are met by detours.",
            )
        )
    return made


def _note(found: Sequence[BoundTrial], scale: _Scale) -> list[str]:
    shares = ", ".join(f"{share:.0%}" for share in scale.shares)
    notes = [
        f"Flat random networks of {', '.join(map(str, scale.sizes))} brokers, degree {scale.degree}, channels of "
        f"{shares} of the gateways. Gateways that cannot have the bound are joined by shortest paths."
    ]
    largest = scale.sizes[-1]
    for closest in _LINES:
        chosen = [t for t in found if (t.brokers, t.closest) == (largest, closest)]
        extra = {bound: mean(t.penalty for t in chosen if t.bound_hops == bound) for bound in scale.bounds}
        worst = max(extra, key=lambda bound: extra[bound].value)
        within = [b for b in scale.bounds if all(extra[more].value <= 0.1 for more in scale.bounds if more >= b)]
        cheap = f"; no more than 10 % from {within[0]} hops on" if within else ""
        notes.append(
            f"{largest} brokers, joining the closest {closest}: at worst {extra[worst].percent()} extra, at {worst} "
            f"hops{cheap}. The paper: typically not beyond 10 %."
        )
    return notes
