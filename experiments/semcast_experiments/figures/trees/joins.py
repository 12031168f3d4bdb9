"""What joining one after the other costs against a tree made at once, by the degree of the network (2005 §5.1, §5.2).

The paper: 6.4 % above Takahashi and Matsuyama's tree on average, and 2 to 2.5 hops deeper than shortest paths, at
600 brokers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from semcast.model.palette import BLACK, BLUE, GREEN, ORANGE
from semcast.trees.generators import generate
from semcast.trees.joins import Routes, low_cost_tree
from semcast.trees.steiner import QUICK, local_search, shortest_path_tree, takahashi_matsuyama
from semcast.trees.topology import Topology
from semcast.trees.tree import Tree
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.output import Mean, dress, figure, over_seeds
from semcast_experiments.figures.trials import Run

PAPER_ABOVE = 0.064
PAPER_DEEPER = (2.0, 2.5)
RULES = {"destination": ORANGE, "broker": BLUE, "shortest paths": GREEN, "local search": BLACK}
_NAMES = {
    "destination": "joins the closest destination (the text)",
    "broker": "joins the closest broker on the tree",
    "shortest paths": "shortest paths",
    "local search": "local search",
}


class JoinTrial(NamedTuple):
    """One tree beside Takahashi and Matsuyama's for the same root and gateways."""

    kind: str
    brokers: int
    degree: int
    seed: int
    gateways: int
    rule: str
    links: int
    above: float
    """Links over those of Takahashi and Matsuyama's tree, less 1."""
    deeper: float
    """Mean hops of the gateways below the root, less those by shortest paths."""


class _Scale(NamedTuple):
    brokers: int
    degrees: tuple[int, ...]
    sizes: tuple[int, ...]
    seeds: int
    trees: int


class _Network(NamedTuple):
    """One overlay, with trees for channels of some sizes."""

    kind: str
    brokers: int
    degree: int
    sizes: tuple[int, ...]
    trees: int
    seed: int
    number: int


_FULL = _Scale(600, (3, 4, 6, 8, 10, 14, 20), (10, 30, 60, 120), 5, 4)
_QUICK = _Scale(200, (3, 6, 12), (10, 40), 5, 3)


def joins(run: Run) -> dict[str, Any]:
    """Measure both low-cost joins on flat random and Waxman networks, and write table and figure."""
    scale = _QUICK if run.quick else _FULL
    networks = [
        _Network(kind, scale.brokers, degree, scale.sizes, scale.trees, run.seed, number)
        for kind in ("random", "waxman")
        for degree in scale.degrees
        for number in range(scale.seeds)
    ]
    found = run.trials("joins", measure, JoinTrial, networks)
    means = {rule: over_seeds((t.seed, t.above) for t in found if t.rule == rule) for rule in RULES}
    deep = {rule: over_seeds((t.seed, t.deeper) for t in found if t.rule == rule) for rule in RULES}
    return result(
        run,
        "trees",
        found,
        _drawn(found, scale),
        claims(means, deep),
        _note(scale, means, deep),
        above={rule: value._asdict() for rule, value in means.items()},
        deeper={rule: value._asdict() for rule, value in deep.items()},
    )


def measure(case: _Network) -> list[JoinTrial]:
    """Draw a network, and channels on it; every rule serves the same gateways from the same root."""
    rng = np.random.default_rng([case.seed, case.degree, case.number])
    network = generate(case.kind, case.brokers, rng, degree=case.degree)
    return [
        trial
        for size in case.sizes
        for _ in range(case.trees)
        for trial in _trial(case.kind, case.degree, case.number, network, min(size, len(network.gateways)), rng)
    ]


def _trial(
    kind: str, degree: int, seed: int, network: Topology, size: int, rng: np.random.Generator
) -> Iterator[JoinTrial]:
    graph = network.graph
    root = int(rng.integers(len(network.brokers)))
    members = rng.choice(network.gateways, size, replace=False).tolist()
    routes = Routes(graph)
    made = {
        "destination": low_cost_tree(routes, root, members, "destination").tree(),
        "broker": low_cost_tree(routes, root, members, "broker").tree(),
        "shortest paths": shortest_path_tree(graph, root, members).tree,
        "local search": local_search(graph, root, members, QUICK).tree,
    }
    central = len(takahashi_matsuyama(graph, root, members).tree)
    shortest = _depth(made["shortest paths"], members, graph.num_nodes)
    for rule, tree in made.items():
        deeper = _depth(tree, members, graph.num_nodes) - shortest
        above = len(tree) / max(1, central) - 1
        yield JoinTrial(kind, len(network.brokers), degree, seed, size, rule, len(tree), above, deeper)


def _depth(tree: Tree, members: Sequence[int], nodes: int) -> float:
    return float(tree.hops(nodes)[members].mean())


def _drawn(found: Sequence[JoinTrial], scale: _Scale) -> Any:
    drawn, panels = figure(2, sharex=True)
    for axes, field in zip(panels, ("above", "deeper"), strict=True):
        for rule, colour in RULES.items():
            for kind, line in (("random", "-"), ("waxman", "--")):
                _line(axes, found, scale, field, rule, kind, colour, line)
    panels[0].axhline(100 * PAPER_ABOVE, color="#999999", linewidth=1, linestyle=":")
    panels[1].axhspan(*PAPER_DEEPER, color="#999999", alpha=0.2)
    dress(panels[0], "Cost (dotted: the paper's 6.4 %)", "mean degree", "% above Takahashi–Matsuyama")
    dress(panels[1], "Depth (grey: the paper's 2 to 2.5)", "mean degree", "hops beyond shortest paths")
    panels[0].set_xticks(scale.degrees)
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return drawn


def _line(
    axes: Any, found: Sequence[JoinTrial], scale: _Scale, field: str, rule: str, kind: str, colour: str, line: str
) -> None:
    values = [
        over_seeds((t.seed, getattr(t, field)) for t in found if (t.rule, t.kind, t.degree) == (rule, kind, degree))
        for degree in scale.degrees
    ]
    times = 100 if field == "above" else 1
    axes.errorbar(
        scale.degrees,
        [times * value.value for value in values],
        [times * value.margin for value in values],
        color=colour,
        linestyle=line,
        marker="o",
        markersize=3,
        linewidth=1.2,
        label=_NAMES[rule] + (", Waxman" if kind == "waxman" else ", flat random"),
    )


def claims(above: dict[str, Mean], deeper: dict[str, Mean]) -> list[Claim]:
    """2005 §5.1 and §5.2 under both rules of joining."""
    made = []
    for rule, name in (
        ("destination", "closest destination, the text's rule"),
        ("broker", "closest broker on the tree"),
    ):
        extra, hops = above[rule], deeper[rule].value
        made.append(
            judged(
                "SemCast's trees cost 6.4 % more than central ones on average.",
                f"{extra.percent()}, joining the {name}.",
                abs(extra.value - PAPER_ABOVE) <= 0.02,
                "The paper's figure fits the other rule: the closest broker on the tree.",
            )
        )
        made.append(
            judged(
                "They are 2 to 2.5 hops deeper than shortest-path trees.",
                f"{hops:.1f} hops, joining the {name}.",
                PAPER_DEEPER[0] - 0.5 <= hops <= PAPER_DEEPER[1] + 0.5,
                "The paper's figure fits the other rule: the closest broker on the tree.",
            )
        )
    return made


def _note(scale: _Scale, above: dict[str, Mean], deeper: dict[str, Mean]) -> list[str]:
    return [
        f"{scale.brokers} brokers, flat random and Waxman, degrees {scale.degrees[0]}–{scale.degrees[-1]}, channels of "
        f"{', '.join(map(str, scale.sizes))} gateways; means over all of them with their 95 % intervals.",
        f"Joining the closest destination costs {above['destination'].percent()} more than Takahashi and Matsuyama's "
        f"tree, joining the closest broker on the tree {above['broker'].percent()}. The paper: 6.4 % on average.",
        f"Their trees are {deeper['destination'].value:.1f} and {deeper['broker'].value:.1f} hops deeper than shortest "
        "paths. The paper: 2 to 2.5 hops at 600 brokers.",
        f"A shortest-path tree costs {above['shortest paths'].percent()} more, local search "
        f"{-above['local search'].value:.1%} less than Takahashi and Matsuyama's.",
    ]
