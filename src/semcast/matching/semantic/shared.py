"""The engine: the trees of all profiles laid over each other, and a descriptor mapped onto them once (thesis §3.5).

A *scope* is a place in the shared prefix tree: a way of names from the root. All conditions that profiles ask for at
that place are numbered there, equal ones once. A descriptor's node is looked at in one scope, from its children
upwards: its values are looked up in tables (texts in a hash table, ranges in a sorted one, places in a grid), its
children say which of their conditions hold; these *wake* the conditions they are part of, level by level. A conjunction
waits for one of its parts only, the one that seems rarest, so what a packet costs grows with what holds at its nodes
and not with the number of profiles. A denial that cannot wait for anything else is looked at wherever its scope is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Generic, TypeVar

from semcast.matching.semantic.engine import SemanticEngine
from semcast.matching.semantic.tables import Grid, RangeTable
from semcast.profiles.semantic import InterestProfile, Node, truncate
from semcast.profiles.semantic.syntax import And, Distance, Expression, Has, Not, Or, Range, Text

Port = TypeVar("Port", bound=Hashable)


class Prefilter(Generic[Port]):
    """The filters of all ports, cut to a depth and laid over each other, tagged with the ports they are of.

    A packet is mapped onto the common tree once. A port that it does not reach cannot match: cutting a filter only lets
    more through. Without a depth nothing is cut, and the ports that are reached are those that match.
    """

    def __init__(self, filters: Mapping[Port, Expression], depth: int | None = None) -> None:
        self.depth = depth
        self._ports = list(filters)
        cut = filters.values() if depth is None else [truncate(item, depth) for item in filters.values()]
        self._engine = SharedEngine([InterestProfile.of(item) for item in cut])

    def candidates(self, root: Node) -> list[Port]:
        """The ports that cannot be excluded, in the order in which they were given."""
        return [self._ports[number] for number in self._engine.found(root)]


_RARER = 0.999  # a node that must be there, over the same asked where it is


class SharedEngine(SemanticEngine):
    """Match a descriptor against many profiles at once."""

    def __init__(self, profiles: Sequence[InterestProfile]) -> None:
        self._root = Scope()
        self._answers: dict[int, list[int]] = {}
        for number, profile in enumerate(profiles):
            wanted = self._root.number(profile.expression)
            self._root.wanted.add(wanted)
            self._answers.setdefault(wanted, []).append(number)
        self._root.finish()

    def found(self, root: Node) -> list[int]:
        answers = self._answers
        return sorted(number for wanted in self._root.holding(root) for number in answers[wanted])


class Scope:
    """All conditions asked for at one place of the tree.

    While it is built, ``number`` numbers conditions; ``finish`` makes the tables; from then on it does not change.
    """

    def __init__(self) -> None:
        self.children: dict[str, tuple[Scope, dict[int, int]]] = {}
        """By name: the scope below, and for each condition there that is asked for, its number here."""
        self.wanted: set[int] = set()
        """Conditions that the scope above, or the engine, wants to hear of."""
        self.expressions: list[Expression] = []
        self._numbers: dict[Expression, int] = {}
        self._asked: dict[int, int] = {}
        self._level: list[int] = []
        self._parts: list[tuple[int, ...]] = []
        self._without: list[tuple[int, ...]] = []
        self._wakes: list[list[int]] = []
        self._always: list[int] = []
        self._texts: dict[str, int] = {}
        self._ranges: RangeTable | None = None
        self._discs: Grid | None = None
        self._levels = 0

    def number(self, expression: Expression) -> int:
        """The number of a condition; equal ones have one."""
        known = self._numbers.get(expression)
        if known is not None:
            return known
        parts: tuple[int, ...] = ()
        without: tuple[int, ...] = ()
        below: int | None = None
        match expression:
            case Has(name, condition):
                scope, _ = self.children.setdefault(name, (Scope(), {}))
                below = scope.number(condition)
                scope.wanted.add(below)
            case Or(items):
                parts = tuple(self.number(item) for item in items)
            case And(items):
                parts = tuple(self.number(item) for item in items if not isinstance(item, Not))
                without = tuple(self.number(item.item) for item in items if isinstance(item, Not))
            case Not(item):
                without = (self.number(item),)
            case _:
                pass
        return self._add(expression, parts, without, below)

    def _add(self, expression: Expression, parts: tuple[int, ...], without: tuple[int, ...], below: int | None) -> int:
        number = self._numbers[expression] = len(self.expressions)
        self.expressions.append(expression)
        self._parts.append(parts)
        self._without.append(without)
        self._wakes.append([])
        is_test = isinstance(expression, Has | Text | Range | Distance)
        self._level.append(0 if is_test else 1 + max((self._level[part] for part in parts + without), default=0))
        if isinstance(expression, Has) and below is not None:
            self.children[expression.name][1][below] = number
            self._asked[number] = below
        return number

    def finish(self) -> list[float]:
        """Make the tables; return for each condition how often it seems to hold."""
        below = {name: scope.finish() for name, (scope, _) in self.children.items()}
        self._texts = {item.value: n for n, item in enumerate(self.expressions) if isinstance(item, Text)}
        ranges = [(item, n) for n, item in enumerate(self.expressions) if isinstance(item, Range)]
        discs = [(item, n) for n, item in enumerate(self.expressions) if isinstance(item, Distance)]
        self._ranges = RangeTable(ranges) if ranges else None
        self._discs = Grid(discs) if discs else None
        self._levels = max(self._level, default=0)
        often = self._often(below, ranges)
        for number, expression in enumerate(self.expressions):
            self._watch(number, expression, often)
        self._numbers = {}
        return often

    def _watch(self, number: int, expression: Expression, often: list[float]) -> None:
        """Say what wakes a condition: for ``Or`` any part, for ``And`` its rarest."""
        parts = self._parts[number]
        if isinstance(expression, Or):
            for part in parts:
                self._wakes[part].append(number)
        elif isinstance(expression, And) and parts:
            self._wakes[min(parts, key=lambda part: (often[part], part))].append(number)
        elif isinstance(expression, And | Not):
            self._always.append(number)

    def _often(self, below: dict[str, list[float]], ranges: list[tuple[Range, int]]) -> list[float]:
        """A guess from the profiles alone, since no packet has come yet: a value that is one of many is rare."""
        cuts = sorted(cut for item, _ in ranges for cut in (item.low, item.high))
        places = {cut: at for at, cut in enumerate(cuts)}
        found: list[float] = []
        for number, expression in enumerate(self.expressions):
            parts = [found[part] for part in self._parts[number]]
            denied = prod(1 - found[part] for part in self._without[number])
            match expression:
                case Text():
                    found.append(1 / (1 + len(self._texts)))
                case Range(low, high):
                    found.append((places[high] - places[low]) / (1 + len(cuts)))
                case Distance(within_km):
                    found.append(min(1.0, within_km / 1000))
                case Has(name):
                    found.append(_RARER * below[name][self._asked[number]])
                case Or():
                    found.append(min(1.0, sum(parts)))
                case _:
                    found.append(prod(parts) * denied)
        return found

    def holding(self, node: Node) -> list[int]:
        """Those of the wanted conditions that hold at ``node``."""
        true: set[int] = set(self._values(node))
        for child in node.children:
            below = self.children.get(child.name)
            if below is not None:
                scope, numbers = below
                for held in scope.holding(child):
                    true.add(numbers[held])
        if self._levels:
            self._wake(true)
        wanted = self.wanted
        return [number for number in true if number in wanted]

    def _values(self, node: Node) -> list[int]:
        """The tests of its own value that a node stands."""
        found = []
        if self._texts and (equal := self._texts.get(node.text)) is not None:
            found.append(equal)
        if self._ranges is not None and node.number is not None:
            found += self._ranges.holding(node.number)
        if self._discs is not None and node.place is not None:
            found += self._discs.holding(node.place)
        return found

    def _wake(self, true: set[int]) -> None:
        """Add the combined conditions that hold; when a level is looked at, all below it are decided."""
        waiting: list[list[int]] = [[] for _ in range(self._levels + 1)]
        level_of, wakes, parts, without = self._level, self._wakes, self._parts, self._without
        for number in self._always:
            waiting[level_of[number]].append(number)
        for number in true:
            for woken in wakes[number]:
                waiting[level_of[woken]].append(woken)
        for level in waiting[1:]:
            for number in level:
                if number in true or not true.isdisjoint(without[number]):
                    continue
                if isinstance(self.expressions[number], Or) or true.issuperset(parts[number]):
                    true.add(number)
                    for woken in wakes[number]:
                        waiting[level_of[woken]].append(woken)
