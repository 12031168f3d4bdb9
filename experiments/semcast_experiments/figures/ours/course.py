"""One overlay over time, whose clients change their minds: what plans cost that follow, or do not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.planning import masked
from semcast.planning.demands import demand_of
from semcast.planning.masked import MaskedChannels
from semcast.trees import evaluate
from semcast.trees.choice import Choice
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Routed
from semcast.trees.oracle import Oracle
from semcast.trees.roles import SOURCE
from semcast.trees.steiner import QUICK, shortest_path_tree
from semcast.trees.topology import Topology
from semcast_experiments.figures.dissemination.population import overlay, subscribed
from semcast_experiments.figures.dissemination.profiles import Disjoint, Rng


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


class Course(NamedTuple):
    """What is drawn, and for how long it is followed."""

    kind: str
    degree: float
    brokers: int
    clients: int
    distinct: int
    channels: int
    epochs: int
    rate: float
    messages: int
    looked_at: int
    seed: int


def measure(course: Course) -> list[Drifted]:
    """Follow one overlay over time."""
    rng = np.random.default_rng([course.seed, 11])
    topology = overlay(course.kind, course.brokers, course.degree, rng)
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


def _demand(topology: Topology, held: NDArray[np.int64], at: NDArray[np.int64], course: Course, rng: Rng) -> Demand:
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
