"""How far Steiner trees are above the certified bound, and what a tree takes.

Graphs come as an argument; each is asked for trees from random roots to random terminals. Times are CPU times of
this process, warm, and so depend on what else the machine does only through its caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import process_time
from typing import NamedTuple

import numpy as np

from semcast.trees.dual_ascent import lower_bound
from semcast.trees.graph import Graph
from semcast.trees.steiner import QUICK, SteinerTree, local_search, shortest_path_tree, takahashi_matsuyama

Algorithm = Callable[[Graph, int, list[int]], SteinerTree]

ALGORITHMS: dict[str, Algorithm] = {
    "shortest paths": shortest_path_tree,
    "Takahashi–Matsuyama": takahashi_matsuyama,
    "local search, quick": lambda graph, root, terminals: local_search(graph, root, terminals, QUICK),
    "local search": local_search,
}


class Tried(NamedTuple):
    """One tree. ``gap`` is how far it is above the bound, as a share of the bound."""

    graph: str
    terminals: int
    algorithm: str
    cost: float
    bound: float
    ms: float
    bound_ms: float

    @property
    def gap(self) -> float:
        return self.cost / self.bound - 1


class Cell(NamedTuple):
    """The trees of one algorithm for one kind of graph and number of terminals."""

    graph: str
    terminals: int
    algorithm: str
    trees: int
    mean_gap: float
    worst_gap: float
    optimal: float
    """The share of trees that cost no more than the bound."""
    mean_ms: float
    worst_ms: float


def tries(graphs: Iterable[tuple[str, Graph]], terminals: Sequence[int], trees: int, seed: int = 0) -> Iterator[Tried]:
    """Per graph and number of terminals ``trees`` roots, each with all algorithms and the bound."""
    for name, graph in graphs:
        warm(graph)
        for count in terminals:
            rng = np.random.default_rng((seed, count))
            for _ in range(trees):
                root, *among = rng.choice(graph.num_nodes, count + 1, replace=False).tolist()
                begin = process_time()
                bound = lower_bound(graph, root, among).value
                bound_ms = (process_time() - begin) * 1e3
                for algorithm, make in ALGORITHMS.items():
                    begin = process_time()
                    cost = make(graph, root, among).cost
                    yield Tried(name, count, algorithm, cost, bound, (process_time() - begin) * 1e3, bound_ms)


def warm(graph: Graph) -> None:
    """Compute what a graph keeps, and load what was compiled."""
    lower_bound(graph, 0, range(5), rounds=1)
    for make in ALGORITHMS.values():
        make(graph, 0, [*range(5)])


def cells(tried: Iterable[Tried]) -> list[Cell]:
    """Sum up by graph name, number of terminals and algorithm, in order of appearance."""
    groups: dict[tuple[str, int, str], list[Tried]] = {}
    for one in tried:
        groups.setdefault((one.graph, one.terminals, one.algorithm), []).append(one)
    return [_cell(*key, group) for key, group in groups.items()]


def _cell(graph: str, terminals: int, algorithm: str, group: list[Tried]) -> Cell:
    gaps = np.array([one.gap for one in group])
    ms = np.array([one.ms for one in group])
    mean, worst, optimal = float(gaps.mean()), float(gaps.max()), float((gaps <= 0).mean())
    return Cell(graph, terminals, algorithm, len(group), mean, worst, optimal, float(ms.mean()), float(ms.max()))
