"""The domains of a transit-stub graph: how many, how large, who is in which, and where they stand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from semcast.trees.graph import FloatArray, IntArray
from semcast.trees.topology import TopologyError

STUBS, STUB_NODES = 3, 8  # of GT-ITM's own examples
_GOLDEN = math.pi * (3 - math.sqrt(5))


@dataclass(frozen=True)
class TransitStub:
    """GT-ITM's parameters. Sizes are means, as there; what is not given follows from the number of brokers."""

    transit_domains: int | None = None
    transit_nodes: int | None = None
    """Per transit domain."""
    stubs: int | None = None
    """Stub domains per transit node."""
    stub_nodes: int | None = None
    """Per stub domain."""
    extra_transit_stub: int | None = None
    extra_stub_stub: int | None = None
    top_edges: float | None = None
    """Probability of a link between two transit domains."""
    transit_edges: float | None = None
    """Probability of a link between two nodes of a transit domain."""
    stub_edges: float | None = None
    """Probability of a link between two nodes of a stub domain."""

    def __post_init__(self) -> None:
        for name in ("transit_domains", "transit_nodes", "stubs", "stub_nodes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise TopologyError(f"{_said(name)} must be 1 or more, not {value}")
        for name in ("extra_transit_stub", "extra_stub_stub"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise TopologyError(f"{_said(name)} must be 0 or more, not {value}")
        for name in ("top_edges", "transit_edges", "stub_edges"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise TopologyError(f"{_said(name)} is a probability, from 0 to 1, not {value:g}")

    @property
    def has_probabilities(self) -> bool:
        return not self.top_edges is self.transit_edges is self.stub_edges is None

    def sizes(self, brokers: int) -> tuple[int, int, int]:
        """Transit domains, transit nodes and stub domains in all; the nodes per stub follow, so that all fit."""
        domains, transit = self._transit(brokers)
        if transit > brokers:
            raise TopologyError(f"{transit} transit nodes are more than {brokers} brokers")
        rest = brokers - transit
        if self.stubs is None and None not in (self.transit_domains, self.transit_nodes):
            stubs = max(1, round(rest / (self.stub_nodes or STUB_NODES)))
        else:
            stubs = transit * (self.stubs or STUBS)
        self._check(brokers, transit, stubs)
        return domains, transit, min(stubs, rest)

    def _transit(self, brokers: int) -> tuple[int, int]:
        if self.transit_domains is not None and self.transit_nodes is not None:
            return self.transit_domains, self.transit_domains * self.transit_nodes
        below = (self.stubs or STUBS) * (self.stub_nodes or STUB_NODES)
        transit = max(1, round(brokers / (1 + below)))
        if self.transit_domains is not None:
            return self.transit_domains, max(transit, self.transit_domains)
        if self.transit_nodes is not None:
            domains = max(1, round(transit / self.transit_nodes))
            return domains, domains * self.transit_nodes
        return math.ceil(math.sqrt(transit) / 2), transit

    def _check(self, brokers: int, transit: int, stubs: int) -> None:
        if self.stubs is not None and stubs > brokers - transit:
            raise TopologyError(
                f"{stubs} stub domains need at least one broker each: {brokers} brokers leave {brokers - transit}"
            )
        four = (self.transit_domains, self.transit_nodes, self.stubs, self.stub_nodes)
        fits = transit + stubs * (self.stub_nodes or 0)
        if None not in four and fits != brokers:
            raise TopologyError(f"these domains hold {fits} brokers, not {brokers}: leave one of the four sizes out")


@dataclass(frozen=True, eq=False)
class Domains:
    """Who is where. Transit nodes come first: 0 … t-1, domain by domain; then the stub nodes, stub by stub."""

    transit: tuple[IntArray, ...]
    """The nodes of each transit domain."""
    stubs: tuple[IntArray, ...]
    """The nodes of each stub domain."""
    hosts: IntArray
    """The transit node that each stub hangs at."""

    @staticmethod
    def draw(brokers: int, sizes: tuple[int, int, int], rng: np.random.Generator) -> Domains:
        """Domains of about the same size: from half to one and a half times the mean, up to whole nodes."""
        domains, transit, stubs = sizes
        nodes = np.arange(brokers, dtype=np.int32)
        hosts = np.repeat(nodes[:transit], _split(stubs, transit, rng, least=min(1, stubs // transit)))
        return Domains(
            _cut(nodes[:transit], _split(transit, domains, rng)),
            _cut(nodes[transit:], _split(brokers - transit, stubs, rng)),
            hosts,
        )

    @property
    def num_transit(self) -> int:
        return sum(map(len, self.transit))

    def stub_of(self) -> IntArray:
        """Per node its stub; -1 for transit nodes."""
        sizes = [len(stub) for stub in self.stubs]
        return np.concatenate((np.full(self.num_transit, -1), np.repeat(np.arange(len(sizes)), sizes))).astype(np.int32)

    def place(self, rng: np.random.Generator) -> FloatArray:
        """Stubs around their transit node, transit nodes around their domain's middle: higher links are longer."""
        at = np.empty((self.num_transit + sum(map(len, self.stubs)), 2))
        wide = 1.0 / math.sqrt(len(self.transit))
        for middle, nodes in zip(_disc(len(self.transit), 1.0, rng), self.transit, strict=True):
            at[nodes] = middle + _disc(len(nodes), wide, rng)
            room = 0.75 * wide / math.sqrt(len(nodes))
            for node in nodes:
                hung = np.flatnonzero(self.hosts == node)
                turns = (np.arange(len(hung)) + rng.random()) * math.tau / max(1, len(hung))
                for stub, turn in zip(hung, turns, strict=True):
                    stub_middle = at[node] + room * np.array([math.cos(turn), math.sin(turn)])
                    at[self.stubs[stub]] = stub_middle + _disc(len(self.stubs[stub]), room * 0.45, rng)
        at -= at.min(axis=0)
        return np.asarray(at / (at.max() or 1.0))


def _disc(count: int, radius: float, rng: np.random.Generator) -> FloatArray:
    """Points spread evenly over a disc, like the seeds of a sunflower, each moved a little."""
    number = np.arange(count)
    away = radius * np.sqrt((number + 0.5) / count) if count > 1 else np.zeros(count)
    turn = number * _GOLDEN + rng.random() * math.tau
    moved = rng.normal(0, 0.18 * radius / math.sqrt(max(1, count)), (count, 2)) if count > 1 else 0.0
    return np.stack((away * np.cos(turn), away * np.sin(turn)), axis=1) + moved


def _split(total: int, parts: int, rng: np.random.Generator, least: int = 1) -> IntArray:
    """Cut ``total`` into parts of at least ``least``, each drawn around the mean."""
    if not parts:
        return np.empty(0, np.int32)
    weights = rng.uniform(0.5, 1.5, parts)
    sizes = least + np.floor((total - least * parts) * weights / weights.sum()).astype(np.int32)
    sizes[rng.choice(parts, total - int(sizes.sum()), replace=False)] += 1
    return np.asarray(sizes, np.int32)


def _cut(nodes: IntArray, sizes: IntArray) -> tuple[IntArray, ...]:
    ends = [0, *np.cumsum(sizes).tolist()]
    return tuple(nodes[start:stop] for start, stop in pairwise(ends))


def _said(name: str) -> str:
    return "--" + name.replace("_", "-")
