"""How many profiles brokers must filter by: what is left at each of them where others contain some (2005 §5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.trees.steiner import shortest_path_tree
from semcast_experiments.figures.dissemination import Case
from semcast_experiments.figures.dissemination.population import Population
from semcast_experiments.figures.dissemination.trial import drawn as population


class Filters(NamedTuple):
    """Profiles in filtering tables, in per cent of those at the root of the shortest-path tree."""

    degree: float
    seed: int
    overlap: float
    root: int
    """How many profiles the root has: those that no other contains."""
    hop1: float
    hop2: float
    gateway: float
    broker: float
    """The same spread over all brokers, gateways or not."""


class Point(NamedTuple):
    """What is drawn."""

    degree: float
    brokers: int
    clients: int
    distinct: int
    probability: float
    seed: int


def measure(point: Point) -> list[Filters]:
    """Draw, and count the profiles that are left at every broker of the tree."""
    case = Case(
        "random", point.degree, point.brokers, point.clients, point.distinct, "independent", point.probability,
        point.seed, (), sample=4_000, counted=1_000, sources=1,
    )  # fmt: skip
    people = population(case)
    return [filters(people, point.degree, point.seed)]


def filters(people: Population, degree: float, seed: int) -> Filters:
    """What the tables hold; see ``Filters``."""
    topology = people.topology
    wanted = people.subscriptions.clients.T > 0  # gateway × profile
    above = _containers(people)
    source = topology.node(people.sources[0])
    tree = shortest_path_tree(topology.graph, source, list(topology.gateways)).tree
    place = {node: number for number, node in enumerate(topology.gateways)}
    behind: dict[int, NDArray[np.bool_]] = {}
    for parent, child in [(-1, source), *tree.links.tolist()][::-1]:
        own = wanted[place[child]] if child in place else np.zeros(wanted.shape[1], np.bool_)
        behind[child] = behind[child] | own if child in behind else own
        if parent >= 0:
            behind[parent] = behind[parent] | behind[child] if parent in behind else behind[child].copy()
    hops = tree.hops(topology.graph.num_nodes)
    kept = {node: _left(rows, above) for node, rows in behind.items()}
    root = max(1, kept[source])
    at = {hop: [100 * kept[node] / root for node in kept if hops[node] == hop] for hop in (1, 2)}
    gateway = 100 * float(wanted.sum(axis=1).mean()) / root
    every = gateway * len(topology.gateways) / len(topology.brokers)
    return Filters(degree, seed, people.aggregated_overlap, root, _mean(at[1]), _mean(at[2]), gateway, every)


def _containers(people: Population) -> list[NDArray[np.int64]]:
    """Per profile those that matched all its messages of the sample and more: with one of them, it is not needed."""
    starts, messages = people.sample.by_profile
    matches = people.sample.matches
    count = people.sample.profiles
    found: list[NDArray[np.int64]] = []
    sizes_ = np.diff(starts)
    for profile in range(count):
        mine = messages[starts[profile] : starts[profile + 1]]
        if not len(mine):
            found.append(np.empty(0, np.int64))
            continue
        times = np.bincount(np.concatenate([matches.of(int(row)) for row in mine]), minlength=count)
        found.append(np.flatnonzero((times == len(mine)) & (sizes_ > len(mine))))
    return found


def _left(rows: NDArray[np.bool_], above: Sequence[NDArray[np.int64]]) -> int:
    return sum(not rows[above[profile]].any() for profile in np.flatnonzero(rows).tolist())


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
