"""Masked channels while interests drift: a plan that is kept, one that is changed as little as pays, and a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.experiments.claims import Claim
from semcast.experiments.dissemination.population import overlay, subscribed
from semcast.experiments.dissemination.profiles import Disjoint, Rng
from semcast.experiments.lines import Style, curve, means, name_ends, result
from semcast.experiments.ours.setup import NETWORK
from semcast.experiments.output import dress, figure, mean
from semcast.experiments.trials import Run
from semcast.model.palette import BLACK, BLUE, GREEN, ORANGE
from semcast.planning import masked
from semcast.planning.demands import demand_of
from semcast.planning.masked import MaskedChannels
from semcast.trees import QUICK, Demand, Routed, Topology, evaluate
from semcast.trees.choice import Choice
from semcast.trees.oracle import Oracle
from semcast.trees.roles import SOURCE
from semcast.trees.steiner import shortest_path_tree

_STYLES = {
    "kept": Style("the first plan, kept", ORANGE),
    "changed": Style("changed where it pays", BLUE),
    "new": Style("planned anew", BLACK),
    "spt": Style("SPT", GREEN),
}


class Drifted(NamedTuple):
    """One plan at one time: mean transmissions of messages that no plan has seen, above the oracle in per cent."""

    seed: int
    epoch: int
    moved: float
    """Share of the clients that have another profile and gateway than at first."""
    plan: str
    above: float
    replaced: int
    """Trees that are not those of the epoch before."""


class _Course(NamedTuple):
    brokers: int
    clients: int
    distinct: int
    channels: int
    epochs: int
    rate: float
    messages: int
    looked_at: int
    seed: int


def drift(run: Run) -> dict[str, Any]:
    scale = (100, 800, 40, 8, 3, 0.3, 1_000, 20) if run.quick else (600, 7_000, 350, 16, 8, 0.2, 3_000, 60)
    rows = run.trials("drift", measure, Drifted, [_Course(*scale, seed) for seed in run.seeds(5, 3)])
    note = [
        f"Waxman overlay of {scale[0]} brokers, degree 4, {scale[3]} channels, {scale[2]} disjoint profiles; at "
        "every step "
        f"{scale[5]:.0%} of the clients take another profile at another gateway."
    ]
    return result(run, "ours-drift", rows, _drawn(rows), claims(rows), note)


def measure(course: _Course) -> list[Drifted]:
    """Follow one overlay over time."""
    rng = np.random.default_rng([course.seed, 11])
    topology = overlay(*NETWORK[:1], course.brokers, NETWORK[1], rng)
    (source,) = (node for node, broker in enumerate(topology.brokers) if SOURCE in broker.roles)
    held = rng.integers(0, course.distinct, course.clients)
    at = rng.integers(0, len(topology.gateways), course.clients)
    moved = np.zeros(course.clients, np.bool_)
    first = changed = None
    found: list[Drifted] = []
    for epoch in range(course.epochs):
        if epoch:
            some = rng.random(course.clients) < course.rate
            held = np.where(some, rng.integers(0, course.distinct, course.clients), held)
            at = np.where(some, rng.integers(0, len(topology.gateways), course.clients), at)
            moved |= some
        sample, judged = (_demand(topology, held, at, course, rng) for _ in range(2))
        new = masked.plan(topology.graph, {source: sample}, course.channels, np.random.default_rng(course.seed))
        if first is None or changed is None:
            first = changed = new
        before = changed
        if epoch:
            changed = masked.replan(topology.graph, changed, {source: sample}, course.channels, rng)
        least = Oracle(topology.graph, source, QUICK).costs(judged, course.looked_at, rng)
        shown = judged.only(least.messages)
        costs = {"kept": _cost(topology, first, shown, source), "changed": _cost(topology, changed, shown, source)}
        costs |= {"new": _cost(topology, new, shown, source), "spt": _paths(topology, shown, source)}
        fresh = {
            "changed": sum(tree not in before.trees for tree in changed.trees),
            "new": len(new.trees) if epoch else 0,
        }
        for plan, cost in costs.items():
            above = 100 * (cost / float(least.found.mean()) - 1)
            found.append(Drifted(course.seed, epoch, float(moved.mean()), plan, above, fresh.get(plan, 0)))
    return found


def _demand(topology: Topology, held: NDArray[np.int64], at: NDArray[np.int64], course: _Course, rng: Rng) -> Demand:
    matches = Disjoint(course.distinct).draw(course.messages, rng)
    present = np.zeros(course.distinct, np.bool_)
    present[held] = True
    numbers = np.cumsum(present) - 1
    return demand_of(matches.only(present).renumbered(numbers), subscribed(topology, numbers[held], at), topology)


def _cost(topology: Topology, plan: MaskedChannels, judged: Demand, source: int) -> float:
    chosen = Choice.of(topology.graph, plan.trees, plan.gateways, source).choose(judged)
    routed = Routed(plan.trees, chosen.carried(len(plan.trees), judged), masked=True)
    return evaluate.transmissions(topology.graph, routed, judged, source).mean_with_leg


def _paths(topology: Topology, judged: Demand, source: int) -> float:
    tree = shortest_path_tree(topology.graph, source, judged.gateways.tolist()).tree
    return evaluate.pruned(topology.graph, tree, judged).mean


def claims(rows: Sequence[Drifted]) -> list[Claim]:
    last = max(row.epoch for row in rows)
    said = "; ".join(
        f"{_STYLES[plan].label} {mean(row.above for row in rows if (row.plan, row.epoch) == (plan, last)).value:.1f} %"
        for plan in _STYLES
    )
    trees = mean(row.replaced for row in rows if row.plan == "changed" and row.epoch).value
    return [
        Claim(
            "Drift over time",
            f"After {last} steps, above a tree per message: {said}. "
            f"A step that changes what pays replaces {trees:.1f} trees.",
            "ours",
        )
    ]


def _drawn(rows: Sequence[Drifted]) -> Any:
    drawn, axes = figure(1, width=6.6, height=3.8)
    for plan, style in _STYLES.items():
        mine = [row for row in rows if row.plan == plan]
        curve(axes, means(mine, lambda row: row.epoch, lambda row: row.above), style)
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    dress(axes, "Interests that drift", "steps of drift", "% above a tree per message")
    name_ends(axes)
    return drawn
