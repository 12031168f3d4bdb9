"""What delay bounds cost: extra links against the bound, for three network sizes (2005 Figure 10).

As in the paper, every gateway has the same bound, delays are counted in hops from the rendezvous point, and a gateway
that cannot have the bound is joined by the shortest path. The paper: typically no more than 10 % extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from semcast.model.palette import BLUE, GREEN, ORANGE
from semcast.trees.generators import generate
from semcast.trees.graph import Graph
from semcast.trees.joins import Closest, Routes, join_within, low_cost_tree
from semcast.trees.topology import Topology
from semcast.trees.tree import DisseminationTree
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.output import Mean, dress, figure, over_seeds
from semcast_experiments.figures.trials import Run

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
    sizes: tuple[int, ...]
    bounds: tuple[int, ...]
    shares: tuple[float, ...]
    seeds: int
    trees: int
    degree: int


class _Network(NamedTuple):
    """One overlay, with trees for channels that hold some shares of its gateways."""

    brokers: int
    bounds: tuple[int, ...]
    shares: tuple[float, ...]
    trees: int
    degree: int
    seed: int
    number: int


_FULL = _Scale((200, 400, 600), tuple(range(3, 19)), (0.1, 0.3, 1.0), 6, 4, 4)
_QUICK = _Scale((60, 120, 200), (3, 5, 8, 12), (0.3,), 5, 3, 4)


def delay_bounds(run: Run) -> dict[str, Any]:
    """Measure the penalty of bounds and write table and figure."""
    scale = _QUICK if run.quick else _FULL
    networks = [
        _Network(brokers, scale.bounds, scale.shares, scale.trees, scale.degree, run.seed, number)
        for brokers in scale.sizes
        for number in range(scale.seeds)
    ]
    found = run.trials("bounds", measure, BoundTrial, networks)
    return result(run, "delay-bounds", found, _drawn(found, scale), claims(found, scale), _note(found, scale))


def measure(case: _Network) -> list[BoundTrial]:
    """Draw a network, and channels on it; every bound is kept for the same gateways."""
    rng = np.random.default_rng([case.seed, case.brokers, case.number])
    network = generate("random", case.brokers, rng, degree=case.degree)
    hops = Graph.of(case.brokers, network.graph.ends)
    return [
        trial
        for share in case.shares
        for _ in range(case.trees)
        for closest in _LINES
        for trial in _trial(network, hops, case.number, share, closest, case.bounds, rng)
    ]


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
            values = [over_seeds((t.seed, t.penalty) for t in trials) for trials in mine]
            left.errorbar(
                scale.bounds,
                [100 * value.value for value in values],
                [100 * value.margin for value in values],
                color=colour, linestyle=line, marker="o", markersize=3, linewidth=1.2,
                label=f"{brokers} brokers, joins the closest {closest}",
            )  # fmt: skip
        unmet = [
            over_seeds((t.seed, t.unmet) for t in found if (t.brokers, t.bound_hops) == (brokers, b))
            for b in scale.bounds
        ]
        right.errorbar(
            scale.bounds, [100 * value.value for value in unmet], [100 * value.margin for value in unmet],
            color=colour, marker="o", markersize=3, linewidth=1.2,
        )  # fmt: skip
    left.axhline(10, color="#999999", linewidth=1, linestyle=":")
    dress(left, "Extra links (dotted: the paper's 10 %)", "bound, hops", "% above no bound")
    dress(right, "What no tree can serve in time", "bound, hops", "% of the gateways")
    drawn.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7)
    return drawn


def _penalty(trials: Sequence[BoundTrial], bound: int) -> Mean:
    return over_seeds((t.seed, t.penalty) for t in trials if t.bound_hops == bound)


def claims(found: Sequence[BoundTrial], scale: _Scale) -> list[Claim]:
    """2005 Figure 10, at the largest network, under both rules of joining."""
    made = []
    for closest in _LINES:
        mine = [t for t in found if (t.brokers, t.closest) == (scale.sizes[-1], closest)]
        extra = [_penalty(mine, bound).value for bound in scale.bounds]
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
        extra = {bound: _penalty(chosen, bound) for bound in scale.bounds}
        worst = max(extra, key=lambda bound: extra[bound].value)
        within = [b for b in scale.bounds if all(extra[more].value <= 0.1 for more in scale.bounds if more >= b)]
        cheap = f"; no more than 10 % from {within[0]} hops on" if within else ""
        notes.append(
            f"{largest} brokers, joining the closest {closest}: at worst {extra[worst].percent()} extra, at {worst} "
            f"hops{cheap}. The paper: typically not beyond 10 %."
        )
    return notes
