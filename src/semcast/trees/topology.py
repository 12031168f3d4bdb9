"""The overlay of brokers: who is there, who is linked to whom, and what a link costs.

A topology keeps its brokers and links in one canonical order, so that nothing computed on it depends on the
order in which a file or a generator named them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from semcast.model import SemcastError

if TYPE_CHECKING:
    from semcast.trees.graph import Graph

GATEWAY = "gateway"
_LEAST, _MOST = 0.001, 1_000_000


class TopologyError(SemcastError):
    """A topology that cannot be accepted; its text says which broker or link is wrong."""


class Broker(msgspec.Struct, frozen=True, omit_defaults=False):
    """One broker; where it stands matters for drawing only."""

    id: str
    x: float | None = None
    y: float | None = None
    roles: tuple[str, ...] = ()


class Link(msgspec.Struct, frozen=True):
    """An undirected link. ``cost`` is what trees are made cheap by, ``delay_ms`` what staleness bounds count."""

    a: str
    b: str
    cost: float = 1.0
    delay_ms: float = 1.0


class _File(msgspec.Struct):
    brokers: list[Broker]
    links: list[Link]


@dataclass(frozen=True)
class Topology:
    """Brokers in natural order of their ids (b2 before b10), links by their ends; connected, no loop, no double."""

    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]

    def with_delays(self, delays_ms: Mapping[tuple[str, str], float]) -> Topology:
        """The same with other delays of links, by their ends in order of their names; itself where nothing changes."""
        links = [
            msgspec.structs.replace(
                link, delay_ms=delays_ms.get((min(link.a, link.b), max(link.a, link.b)), link.delay_ms)
            )
            for link in self.links
        ]
        return self if links == list(self.links) else Topology.of(self.brokers, links)

    @staticmethod
    def of(brokers: Iterable[Broker], links: Iterable[Link]) -> Topology:
        """Order and check what may come from anywhere; TopologyError says what is wrong."""
        ordered = tuple(sorted(brokers, key=lambda broker: natural(broker.id)))
        numbers = _numbers(ordered)
        made = Topology(ordered, tuple(sorted((_link(link, numbers) for link in links), key=_ends(numbers))))
        made._check()
        return made

    @staticmethod
    def from_json(text: str | bytes) -> Topology:
        """Read a topology file (DESIGN §3)."""
        try:
            file = msgspec.json.decode(text, type=_File)
        except msgspec.DecodeError as error:
            raise TopologyError(f"not a topology: {error}") from None
        return Topology.of(file.brokers, file.links)

    def to_json(self) -> str:
        """The topology file, a broker or link a line."""
        brokers = ",\n    ".join(msgspec.json.encode(broker).decode() for broker in self.brokers)
        links = ",\n    ".join(msgspec.json.encode(link).decode() for link in self.links)
        return f'{{\n  "brokers": [\n    {brokers}\n  ],\n  "links": [\n    {links}\n  ]\n}}\n'

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Broker id → its node in ``graph``."""
        return {broker.id: number for number, broker in enumerate(self.brokers)}

    @cached_property
    def graph(self) -> Graph:
        """The same as arrays; node i is ``brokers[i]``, link i is ``links[i]``."""
        # Brokers and clients ask who is linked to whom; only who computes on paths loads compiled code for it.
        from semcast.trees.graph import Graph

        ends = [(self.numbers[link.a], self.numbers[link.b]) for link in self.links]
        costs = [link.cost for link in self.links]
        return Graph.of(len(self.brokers), ends, costs, [link.delay_ms for link in self.links])

    @cached_property
    def gateways(self) -> tuple[int, ...]:
        """The nodes of the brokers that serve clients, ascending."""
        return tuple(number for number, broker in enumerate(self.brokers) if GATEWAY in broker.roles)

    def node(self, broker: str) -> int:
        """The node of a broker; TopologyError where there is none of that name."""
        found = self.numbers.get(broker)
        if found is None:
            raise TopologyError(f"there is no broker {broker!r}{_among(self.brokers)}")
        return found

    def ids(self, nodes: Iterable[int]) -> list[str]:
        return [self.brokers[node].id for node in nodes]

    @property
    def degree(self) -> float:
        """The mean number of links of a broker."""
        return 2 * len(self.links) / len(self.brokers)

    def _check(self) -> None:
        if not self.brokers:
            raise TopologyError("a topology needs at least one broker")
        for one, other in zip(self.links, self.links[1:], strict=False):
            if (one.a, one.b) == (other.a, other.b):
                raise TopologyError(f"brokers {one.a!r} and {one.b!r} are linked twice")
        for broker in self.brokers:
            if not all(value is None or math.isfinite(value) for value in (broker.x, broker.y)):
                raise TopologyError(f"broker {broker.id!r} has no place: x and y must be finite")
        apart = self.graph.unreached(0)
        if len(apart):
            names = ", ".join(map(repr, self.ids(apart[:3].tolist()))) + (" …" if len(apart) > 3 else "")
            count = f"{len(apart)} of {len(self.brokers)} brokers"
            raise TopologyError(f"not connected: no way from {self.brokers[0].id!r} to {names} ({count})")


def natural(text: str) -> tuple[list[tuple[int, int, str]], str]:
    """An order in which b2 is before b10; the text itself decides between 'b1' and 'b01'."""
    parts = re.split(r"([0-9]+)", text)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts if part], text


def _numbers(brokers: Sequence[Broker]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, broker in enumerate(brokers):
        if not broker.id:
            raise TopologyError("a broker without an id")
        if broker.id in numbers:
            raise TopologyError(f"two brokers are named {broker.id!r}")
        numbers[broker.id] = number
    return numbers


def _link(link: Link, numbers: dict[str, int]) -> Link:
    for end in (link.a, link.b):
        if end not in numbers:
            raise TopologyError(f"the link {link.a!r}–{link.b!r} names {end!r}, which is no broker")
    if link.a == link.b:
        raise TopologyError(f"broker {link.a!r} is linked to itself")
    # Within these a path over all brokers still grows with every link, for all the rounding of floats: shortest
    # paths are trees, and a broker is always farther from the root than its parent.
    if not (_LEAST <= link.cost <= _MOST and _LEAST <= link.delay_ms <= _MOST):
        raise TopologyError(f"the link {link.a!r}–{link.b!r} needs a cost and a delay from {_LEAST} to {_MOST:,}")
    if numbers[link.a] < numbers[link.b]:
        return link
    return Link(link.b, link.a, link.cost, link.delay_ms)


def _ends(numbers: dict[str, int]) -> Callable[[Link], tuple[int, int]]:
    return lambda link: (numbers[link.a], numbers[link.b])


def _among(brokers: Sequence[Broker]) -> str:
    if len(brokers) == 1:
        return f"; there is only {brokers[0].id!r}"
    return f"; there are {len(brokers)}, from {brokers[0].id!r} to {brokers[-1].id!r}"
