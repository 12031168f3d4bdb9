"""A certified lower bound on what any tree costs that joins some terminals to a root.

Every link is taken as two arcs, and a tree as arcs that lead away from the root. Such a tree enters every set of
nodes that holds a terminal and not the root: every *cut*. Give cuts duals ≥ 0 so that no arc enters cuts of more
dual than the arc costs; then no tree costs less than the sum of the duals. Whoever has cuts and duals can check
this without knowing how they were found.

They are found by dual ascent (Wong 1984), and then improved: all duals are lowered by a share, which gives
every arc some room, and the ascent goes on from there in another, random order. What is not worse is kept. The
duals become fractional by this, which with unit costs is what a single ascent lacks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.trees import ascent_kernels
from semcast.trees.graph import FloatArray, Graph, IntArray

ROUNDS = 32
_SHARE = 0.25
_NOISE = 50.0
_ZERO = 1e-9  # of a mean link cost: below it an arc counts as saturated, which is safe at any value
_ROUNDING = 1e-9  # relative, far above what a few thousand roundings of doubles add up to


@dataclass(frozen=True, eq=False)
class LowerBound:
    """No tree that joins the terminals to the root costs less than ``value``."""

    root: int
    value: float
    """The sum of the duals less what rounding may have added; where all costs are integers, the next integer."""
    reduced: FloatArray
    """Per arc what its cost leaves after the duals of the cuts it enters."""
    duals: FloatArray
    """Of each cut; a cut may occur more than once."""
    sizes: IntArray
    """The number of nodes of each cut."""
    members: IntArray
    """The nodes of all cuts, one cut after the other."""

    def cuts(self) -> Iterator[tuple[float, IntArray]]:
        """The certificate: dual and nodes of each cut."""
        stops = np.cumsum(self.sizes)
        for dual, size, stop in zip(self.duals.tolist(), self.sizes.tolist(), stops.tolist(), strict=True):
            yield dual, self.members[stop - size : stop]


class _Raised(NamedTuple):
    scale: float
    duals: FloatArray
    sizes: IntArray
    members: IntArray


class DualAscent:
    """Duals that grow better from round to round. Without ``keep`` only their sum and the reduced costs are known."""

    def __init__(self, graph: Graph, root: int, terminals: IntArray, rng: np.random.Generator, *, keep: bool) -> None:
        """The first ascent: always the cut that the fewest arcs enter. ValueError if a terminal cannot be reached."""
        self._graph = graph
        self._root = root
        self._terminals = terminals[terminals != root]
        self._zero = _ZERO * float(graph.costs.mean()) if len(graph.costs) else 0.0
        self._integral = bool(np.all(graph.costs == np.rint(graph.costs)))
        self._state = generator(rng)
        self._keep = keep
        self._raised: list[_Raised] = []
        self.reduced = graph.costs.copy()
        self.sum, raised = self._ascend(self.reduced, 0.0)
        self._raised.append(raised)
        if math.isinf(self.sum):
            raise ValueError(f"no way from node {root} to some of the terminals")

    def again(self) -> FloatArray:
        """One round; returns the reduced costs that it came to, whether they were kept or not. O(m) per cut raised."""
        reduced = _SHARE * self._graph.costs + (1 - _SHARE) * self.reduced
        added, raised = self._ascend(reduced, _NOISE)
        total = (1 - _SHARE) * self.sum + added
        if total >= self.sum:
            self.sum, self.reduced = total, reduced
            self._raised = [old._replace(scale=old.scale * (1 - _SHARE)) for old in self._raised]
            self._raised.append(raised)
        return reduced

    @property
    def value(self) -> float:
        """The bound, rounded with care: see LowerBound."""
        value = self.sum * (1 - _ROUNDING)
        return float(math.ceil(value - 1e-6)) if self._integral else value

    def bound(self) -> LowerBound:
        raised = self._raised
        duals = np.concatenate([cuts.scale * cuts.duals for cuts in raised])
        sizes = np.concatenate([cuts.sizes for cuts in raised])
        members = np.concatenate([cuts.members for cuts in raised])
        return LowerBound(self._root, self.value, self.reduced, duals, sizes, members)

    def _ascend(self, reduced: FloatArray, noise: float) -> tuple[float, _Raised]:
        graph = self._graph
        total, duals, sizes, members = ascent_kernels.ascend(
            graph.indptr, graph.heads, graph.reverse, reduced, self._zero, self._root, self._terminals, noise,
            self._state, self._keep,
        )  # fmt: skip
        return total, _Raised(1.0, duals, sizes, members)


def lower_bound(
    graph: Graph,
    root: int,
    terminals: Iterable[int],
    *,
    rounds: int = ROUNDS,
    rng: np.random.Generator | None = None,
) -> LowerBound:
    """Bound from below what any tree costs that joins the terminals to the root; more rounds, never a lower bound.

    Rounds of equal ``rng`` are equal; without one, it is always the same. Does not depend on the order of the
    terminals nor on repetition. ValueError where a terminal cannot be reached.
    """
    among = canonical(graph, root, terminals)
    search = DualAscent(graph, root, among, rng or np.random.default_rng(0), keep=True)
    for _ in range(rounds if len(among) > 1 else 0):
        search.again()
    return search.bound()


def canonical(graph: Graph, root: int, terminals: Iterable[int]) -> IntArray:
    """The root and the terminals, ascending, each once; ValueError where one is no node."""
    among = np.unique(np.append(np.fromiter(terminals, np.int64), root))
    if among[0] < 0 or among[-1] >= graph.num_nodes:
        raise ValueError(f"nodes are 0 … {graph.num_nodes - 1}, not {among[0] if among[0] < 0 else among[-1]}")
    return among.astype(np.int32)


def generator(rng: np.random.Generator) -> NDArray[np.uint64]:
    """The state of a generator for compiled code, drawn from a numpy one."""
    return rng.integers(1, 1 << 63, size=1, dtype=np.uint64)
