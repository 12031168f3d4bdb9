"""The normal form: a disjunction of conjunctions of constraints, one constraint per attribute.

Three-valued logic is dissolved on the way: a node yields where it is TRUE or, under NOT, where it is
FALSE; where it is NULL it yields nothing. Conjunctions that one covers, or that differ in one
attribute and can be united, are joined until nothing changes, so that the form is a fixed point.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

from semcast.model import Kind, ProfileError
from semcast.profiles.relational import constraints as c
from semcast.profiles.relational.constraints import Constraint, Domain
from semcast.profiles.relational.ranges import BOTTOM, Ranges, comparison, finite
from semcast.profiles.relational.syntax import (
    And,
    Attribute,
    Axes,
    Compare,
    Constant,
    Distance,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    NullSafeEqual,
    Or,
)

MAX_CONJUNCTIONS = 512
MAX_UNITING = 1 << 21
"""Attributes of a disjunction × conditions in it: each attribute may be the one in which two conjunctions differ."""
_MAX_SHARED = 256  # points of a box whose shape is remembered

Conjunction = dict[Attribute, Constraint]
_DOMAINS = {kind: Domain(kind.value) for kind in Kind}


class Slot(NamedTuple):
    """The part of a constraint that many profiles share: everything but its points and patterns."""

    attribute: str | Axes
    domain: Domain
    sides: tuple[int, ...]
    likes: int
    unlikes: int
    double_sides: tuple[int, ...] | None

    @property
    def center(self) -> int:
        """How many points come first to say where a distance is measured from."""
        return 2 if isinstance(self.attribute, Axes) else 0

    @property
    def cuts(self) -> int:
        return len(self.sides) - (self.sides[:1] == (BOTTOM,))

    @property
    def double_cuts(self) -> int:
        return 0 if self.double_sides is None else len(self.double_sides) - (self.double_sides[:1] == (BOTTOM,))

    @property
    def width(self) -> int:
        """How many of the box's points are this slot's: centre, cuts, patterns, cuts for doubles."""
        return self.center + self.cuts + self.likes + self.unlikes + self.double_cuts


class Box(NamedTuple):
    """A conjunction in its stored form; slots are in order of their attributes."""

    shape: tuple[Slot, ...]
    points: tuple[Any, ...]

    def constraints(self) -> Conjunction:
        found: Conjunction = {}
        at = 0
        points = self.points
        for slot in self.shape:
            attribute: Attribute
            if isinstance(slot.attribute, Axes):
                attribute = Distance(*slot.attribute, points[at], points[at + 1])
                at += 2
            else:
                attribute = slot.attribute
            likes = at + slot.cuts
            ranges = Ranges(slot.sides, points[at:likes])
            unlikes = likes + slot.likes
            doubles = unlikes + slot.unlikes
            at = doubles + slot.double_cuts
            exact = None if slot.double_sides is None else Ranges(slot.double_sides, points[doubles:at])
            found[attribute] = Constraint(slot.domain, ranges, points[likes:unlikes], points[unlikes:doubles], exact)
        return found


def normal_form(node: Node, text: str) -> tuple[Box, ...]:
    """The boxes of ``node``, each matching something, none within another, in a canonical order."""
    boxes = [boxed(conjunction) for conjunction in _where(node, True, text)]
    # Each range of a distance is matched by itself, and so is each combination of ranges of several distances.
    if sum(prod(_ranges_of(slot) for slot in box.shape) for box in boxes) > MAX_CONJUNCTIONS:
        raise _too_large(text)
    return tuple(sorted(boxes, key=_order)) if len(boxes) > 1 else tuple(boxes)


def _ranges_of(slot: Slot) -> int:
    return (len(slot.sides) + 1) // 2 if isinstance(slot.attribute, Axes) else 1


@lru_cache(maxsize=1 << 16)
def _shared(shape: tuple[Slot, ...]) -> tuple[Slot, ...]:
    """One object per shape: profiles are many, shapes are few."""
    return shape


def boxed(conjunction: Conjunction) -> Box:
    items = sorted(conjunction.items(), key=_by_name) if len(conjunction) > 1 else conjunction.items()
    shape: list[Slot] = []
    points: list[Any] = []
    attribute: Attribute | Axes
    for attribute, (domain, ranges, likes, unlikes, doubles) in items:
        if isinstance(attribute, Distance):
            points += attribute[2:]
            attribute = Axes(*attribute[:2])
        double_sides = None if doubles is None else doubles.sides
        shape.append(Slot(attribute, domain, ranges.sides, len(likes), len(unlikes), double_sides))
        points += ranges.points
        points += likes
        points += unlikes
        if doubles is not None:
            points += doubles.points
    shared = tuple(shape)
    # A long list is seldom asked for twice, and what is remembered stays.
    return Box(_shared(shared) if len(points) <= _MAX_SHARED else shared, tuple(points))


def _by_name(item: tuple[Attribute, Constraint]) -> str:
    return str(item[0])


def _order(box: Box) -> tuple[Any, ...]:
    # Points of one slot are of one kind, so equal shapes compare by their points.
    shape = tuple((str(s.attribute), s.domain, s.sides, s.likes, s.unlikes, s.double_sides or ()) for s in box.shape)
    return shape, box.points


def _where(node: Node, truth: bool, text: str) -> list[Conjunction]:
    """The conjunctions under which ``node`` is TRUE (or FALSE, if not ``truth``)."""
    match node:
        case Compare() | In() | Like() | IsNull() | NullSafeEqual():
            settled = map(c.settled, _leaf(node, truth))
            return [{node.attribute: constraint} for constraint in settled if constraint is not None]
        case And(items) | Or(items):
            branches = (_where(item, truth, text) for item in items)
            if isinstance(node, And) is truth:
                return _product(branches, text)
            return _joined([conjunction for branch in branches for conjunction in branch], text)
        case Not(item):
            return _where(item, not truth, text)
        case Constant(value):
            return [{}] if value is truth else []


def _leaf(node: Compare | NullSafeEqual | In | Like | IsNull, truth: bool) -> list[Constraint]:
    match node:
        case Compare(_, op, literal):
            if literal.kind is None:
                return []
            held = _compared(literal, op)
            return [held if truth else c.negated(held)]
        case NullSafeEqual(_, literal):
            if literal.kind is None:
                return [c.NULL if truth else c.PRESENT]
            held = _compared(literal, "=")
            return [held] if truth else [c.negated(held), c.NULL]
        case In():
            return _in(node, truth)
        case Like(_, pattern):
            return [c.like(pattern) if truth else c.negated(c.like(pattern))]
        case IsNull():
            return [c.NULL if truth else c.PRESENT]


def _compared(literal: Literal, op: str) -> Constraint:
    assert literal.kind is not None
    if literal.kind is Kind.NUMBER:
        return c.numbers(lambda reading: comparison(op, reading(literal.value)), [literal.value])
    return Constraint(_DOMAINS[literal.kind], comparison(op, literal.value))


def _in(node: In, truth: bool) -> list[Constraint]:
    kinds = {literal.kind for literal in node.literals}
    if not truth and (len(kinds) != 1 or None in kinds):
        return []  # compared with a literal of another kind, every value gives NULL
    held = []
    for kind in kinds - {None}:
        assert kind is not None
        points = [literal.value for literal in node.literals if literal.kind is kind]
        if kind is Kind.NUMBER:
            held.append(c.numbers(lambda reading, points=points: finite([reading(p) for p in points]), points))  # type: ignore[misc]
        else:
            held.append(Constraint(_DOMAINS[kind], finite(points)))
    return held if truth else [c.negated(constraint) for constraint in held]


def _product(branches: Iterable[list[Conjunction]], text: str) -> list[Conjunction]:
    product: list[Conjunction] = [{}]
    for branch in branches:
        if len(product) == 1 and len(branch) == 1:
            if not _conjoin(product[0], branch[0]):
                return []
        else:
            if len(product) * len(branch) > 64 * MAX_CONJUNCTIONS:
                raise _too_large(text)
            pairs = (conjoined(x, y) for x in product for y in branch)
            product = _joined([pair for pair in pairs if pair is not None], text)
        if not product:
            return []
    return product


def conjoined(a: Conjunction, b: Conjunction) -> Conjunction | None:
    """The conjunction of both; None where they contradict each other."""
    result = dict(a)
    return result if _conjoin(result, b) else None


def _conjoin(a: Conjunction, b: Conjunction) -> bool:
    """Add ``b`` to ``a`` in place; False where they contradict each other."""
    for attribute, constraint in b.items():
        mine = a.get(attribute)
        merged = constraint if mine is None else c.both(mine, constraint)
        if merged is None:
            return False
        a[attribute] = merged
    return True


def _joined(conjunctions: list[Conjunction], text: str) -> list[Conjunction]:
    """Unite what differs in one attribute and drop what another covers, until nothing changes."""
    if len(conjunctions) < 2:
        return conjunctions
    while True:
        before = len(conjunctions)
        attributes = {a for conjunction in conjunctions for a in conjunction}
        if len(attributes) * sum(map(len, conjunctions)) > MAX_UNITING:
            raise _too_many_attributes(len(attributes), text)
        for attribute in sorted(attributes, key=str):
            conjunctions = _united(conjunctions, attribute)
        if len(conjunctions) > MAX_CONJUNCTIONS:
            raise _too_large(text)
        if len(conjunctions) > 1:
            conjunctions = _absorbed(conjunctions)
        if len(conjunctions) == before:
            return conjunctions


def _united(conjunctions: list[Conjunction], attribute: Attribute) -> list[Conjunction]:
    groups: dict[frozenset[tuple[Attribute, Constraint]], list[Conjunction]] = {}
    for conjunction in conjunctions:
        rest = frozenset(item for item in conjunction.items() if item[0] != attribute)
        groups.setdefault(rest, []).append(conjunction)
    result: list[Conjunction] = []
    for group in groups.values():
        if any(attribute not in conjunction for conjunction in group):
            result.append(next(x for x in group if attribute not in x))
            continue
        united = _any_of([conjunction[attribute] for conjunction in group])
        result += [{**group[0], attribute: constraint} for constraint in united]
    return result


def _any_of(constraints: list[Constraint]) -> list[Constraint]:
    """The fewest constraints that hold just where any of the given does."""
    alike: dict[tuple[object, ...], list[Constraint]] = {}
    for constraint in constraints:
        alike.setdefault((constraint.domain, constraint.likes, constraint.unlikes), []).append(constraint)
    kept: list[Constraint] = []
    for group in alike.values():
        _add(kept, c.any_of(group))
    return kept


def _add(kept: list[Constraint], constraint: Constraint) -> None:
    """Unite ``constraint`` with what it can be united with."""
    for i, other in enumerate(kept):
        merged = c.either(other, constraint)
        if merged is not None:
            del kept[i]
            _add(kept, merged)
            return
    kept.append(constraint)


def _absorbed(conjunctions: list[Conjunction]) -> list[Conjunction]:
    kept: list[Conjunction] = []
    for conjunction in sorted(conjunctions, key=len):
        if not any(lies_within(conjunction, other) for other in kept):
            kept = [other for other in kept if not lies_within(other, conjunction)]
            kept.append(conjunction)
    return kept


def lies_within(narrow: Conjunction, wide: Conjunction) -> bool:
    """True only if ``wide`` holds wherever ``narrow`` does, attribute by attribute."""
    for attribute, constraint in wide.items():
        mine = narrow.get(attribute)
        if mine is None or not c.holds_within(mine, constraint):
            return False
    return True


def _too_many_attributes(count: int, text: str) -> ProfileError:
    return ProfileError(
        f"the alternatives of the profile name {count:,} attributes", text, 0, length=len(text),
        hint="split them into several profiles",
    )  # fmt: skip


def _too_large(text: str) -> ProfileError:
    return ProfileError(
        f"the profile multiplies out to more than {MAX_CONJUNCTIONS} conjunctions", text, 0, length=len(text),
        hint="use IN for alternatives of one attribute, or several profiles",
    )  # fmt: skip
