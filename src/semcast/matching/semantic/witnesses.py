"""Descriptors that an interest profile matches, made from its expression from the root down.

Whatever covers a profile matches all of its descriptors. Each takes another one of the profile's alternatives, and
values at the low ends of ranges and then at the high ends. Denials are left to luck: matching decides which
descriptors count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, isinf, nextafter
from typing import Any

from lxml import etree

from semcast.matching.semantic.descriptors import descriptor
from semcast.matching.semantic.naive import evaluate
from semcast.profiles.relational.geo import northward
from semcast.profiles.semantic import InterestProfile, Node
from semcast.profiles.semantic.names import ROOT
from semcast.profiles.semantic.syntax import And, Distance, Expression, Has, Not, Or, Range, Text
from semcast.profiles.semantic.values import Cut

MAX_DESCRIPTORS = 8
_MAX_NODES = 1_024
_FILLER = "\N{SNOWMAN}"
_FAR = 1e15
_INSIDE = 1 - 1e-9  # of a distance: far more than it is rounded by


class _NoDescriptor(Exception):
    """The expression is too large, or asks for a text that was not found."""


@dataclass(eq=False, slots=True)
class _Draft:
    """A node to be, and what is asked of its own value."""

    tests: list[Expression] = field(default_factory=list)
    discs: list[Distance] = field(default_factory=list)
    children: list[tuple[str, _Draft]] = field(default_factory=list)


def descriptors_of(profile: InterestProfile) -> list[bytes]:
    """At least two attempts, and one for each of several alternatives; those that ``profile`` matches."""
    found: dict[bytes, None] = {}
    try:
        attempts = min(MAX_DESCRIPTORS, max(2, _alternatives(profile.expression)))
    except RecursionError:
        return []
    for attempt in range(attempts):
        payload = _written(profile.expression, attempt)
        if payload is not None and payload not in found and _matches(profile.expression, payload):
            found[payload] = None
    return list(found)


def _matches(expression: Expression, payload: bytes) -> bool:
    root = descriptor(payload)
    return isinstance(root, Node) and evaluate(expression, root)


def _alternatives(expression: Expression) -> int:
    """The most that stand in one place."""
    match expression:
        case Or(items):
            return max([len(items), *map(_alternatives, items)])
        case And(items):
            return max(map(_alternatives, items), default=1)
        case Has(_, condition):
            return _alternatives(condition)
        case _:
            return 1


def _written(expression: Expression, attempt: int) -> bytes | None:
    draft = _Draft()
    try:
        room = _Room()
        _ask(draft, expression, attempt, room)
        written: bytes = etree.tostring(_element(ROOT, draft, attempt % 2 == 1), encoding="utf-8")
        return written
    except (_NoDescriptor, RecursionError, ValueError):  # ValueError: a name or a character that XML does not know
        return None


class _Room:
    """How many nodes may still be made."""

    def __init__(self) -> None:
        self.left = _MAX_NODES

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _NoDescriptor


def _ask(draft: _Draft, expression: Expression, attempt: int, room: _Room) -> None:
    match expression:
        case And(items):
            for item in items:
                _ask(draft, item, attempt, room)
        case Or(items):
            if not items:
                raise _NoDescriptor
            _ask(draft, items[attempt % len(items)], attempt, room)
        case Has(name, condition):
            room.take()
            child = _Draft()
            draft.children.append((name, child))
            _ask(child, condition, attempt, room)
        case Distance():
            draft.discs.append(expression)
        case Text() | Range() | Not(Text() | Range()):
            draft.tests.append(expression)


def _element(name: str, draft: _Draft, high: bool) -> Any:
    made = etree.Element(name)
    made.text = _text(draft, high) or None
    if draft.discs:
        nearest = min(draft.discs, key=lambda disc: disc.within_km)
        km = min(nearest.within_km, 20_000.0) * _INSIDE
        latitude, longitude = northward(nearest.latitude, nearest.longitude, km if high else -km)
        made.set("latitude", f"{latitude:.12f}")
        made.set("longitude", f"{longitude:.12f}")
    for child_name, child in draft.children:
        made.append(_element(child_name, child, high))
    return made


def _text(draft: _Draft, high: bool) -> str:
    for text in _texts(draft, high):
        node = Node("", text)
        if all(evaluate(test, node) for test in draft.tests):
            return text
    raise _NoDescriptor


def _texts(draft: _Draft, high: bool) -> Iterator[str]:
    for test in draft.tests:
        match test:
            case Text(value):
                yield value
            case Range(bottom, top):
                ends = [_number(bottom, above=True), _number(top, above=False)]
                yield from map(repr, reversed(ends) if high else ends)
                yield repr(sum(ends) / 2)
    yield from (_FILLER, "") if high else ("", _FILLER)
    yield from (repr(_FAR), "0")


def _number(cut: Cut, above: bool) -> float:
    """The number next to a cut: just above or just below it."""
    value, side = cut
    if isinf(value):
        return -_FAR if value < 0 else _FAR
    if above:
        return nextafter(value, inf) if side else value
    return value if side else nextafter(value, -inf)
