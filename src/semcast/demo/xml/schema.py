"""What documents of one kind look like: which elements stand in which, how often, and what they say.

A schema is data. Documents and profiles are both drawn from it, so that profiles can match.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from semcast.demo.xml.values import Kind


class Child(NamedTuple):
    """An element below another: ``least`` times, and ``more`` times on average beyond that.

    ``once``: at most once, with the probability ``more``; else ``more`` is what the size of a document scales.
    """

    name: str
    least: int
    more: float
    once: bool


class Attribute(NamedTuple):
    name: str
    kind: Kind
    chance: float = 1.0


class Element(NamedTuple):
    """``text`` beside children is mixed content: before the first child and behind each."""

    children: tuple[Child, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    text: Kind | None = None


class Schema(NamedTuple):
    """Elements by name; every child is an element too, and no element must contain itself."""

    name: str
    root: str
    elements: Mapping[str, Element]

    def expected(self, scale: float, max_depth: int) -> float:
        """The mean number of elements of a document whose repeated children come ``scale`` times as often."""
        level, total = {self.root: 1.0}, 1.0
        for depth in range(1, len(self.elements) + max_depth):
            below: dict[str, float] = {}
            for name, count in level.items():
                for child in self.elements[name].children:
                    mean = child.least + (0.0 if depth >= max_depth else child.more * (1 if child.once else scale))
                    if mean:
                        below[child.name] = below.get(child.name, 0.0) + count * mean
            level = below
            total += sum(below.values())
        return total

    def scale_for(self, elements: int, max_depth: int) -> float:
        """The scale at which a document has ``elements`` on average, by bisection; the nearest there is."""
        low, high = 0.0, 64.0
        for _ in range(60):
            middle = (low + high) / 2
            if self.expected(middle, max_depth) < elements:
                low = middle
            else:
                high = middle
        return high


def one(*names: str) -> tuple[Child, ...]:
    return tuple(Child(name, 1, 0.0, True) for name in names)


def maybe(chance: float, *names: str) -> tuple[Child, ...]:
    return tuple(Child(name, 0, chance, True) for name in names)


def some(more: float, *names: str, least: int = 0) -> tuple[Child, ...]:
    return tuple(Child(name, least, more, False) for name in names)
