"""A short cut for profiles that differ from earlier ones in their literals only.

Applications write their profiles with a format string, so a million profiles have a handful of
skeletons (the text without its literals). A skeleton that the parser found to be a plain conjunction
of comparisons is remembered with what each literal bounds; the next profile of that skeleton needs one
regular expression and a few comparisons: five to eight times faster than parsing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from semcast.model import Kind, Schema
from semcast.profiles.relational.constraints import Domain
from semcast.profiles.relational.literals import number
from semcast.profiles.relational.normal import Box, Slot
from semcast.profiles.relational.ranges import AFTER, BEFORE, BOTTOM
from semcast.profiles.relational.syntax import And, Compare, Node

MAX_TEMPLATES = 4096
_LITERAL = re.compile(
    r"""('[^'\\]*'(?!') | (?<![\w.]) (?:\d+(?:\.\d*)?|\.\d+) (?:[eE][+-]?\d+)? (?![\w.]))""", re.VERBOSE
)
_EXACT = 2**53
# Where a comparison puts the lower and the upper end, if it has one.
_ENDS: dict[str, tuple[int | None, int | None]] = {
    "=": (BEFORE, AFTER),
    ">": (AFTER, None),
    ">=": (BEFORE, None),
    "<": (None, BEFORE),
    "<=": (None, AFTER),
}


class Bound(NamedTuple):
    """What one literal does to its attribute."""

    literal: int  # its position among the text's literals
    sign: int  # -1, 1, or 0 for a string
    low: int | None
    high: int | None


class Template:
    """The plan of one skeleton: for each attribute, in order, the bounds that literals set."""

    __slots__ = ("attributes", "shapes", "strings")

    def __init__(self, attributes: list[tuple[str, Domain, list[Bound]]], strings: list[bool]) -> None:
        self.attributes = attributes
        self.strings = strings
        self.shapes: dict[tuple[tuple[int, ...], ...], tuple[Slot, ...]] = {}

    def boxes(self, literals: list[str]) -> tuple[Box, ...] | None:
        """The normal form with these literals, or None where they need the parser after all."""
        if [literal[0] == "'" for literal in literals] != self.strings:
            return None
        all_sides: list[tuple[int, ...]] = []
        points: list[Any] = []
        for _, _, bounds in self.attributes:
            low = high = None
            for at, sign, low_side, high_side in bounds:
                value: Any = literals[at][1:-1] if sign == 0 else number(literals[at])
                if sign:
                    if value is None or value > _EXACT:
                        return None
                    value = value if sign > 0 else -value
                elif not value:
                    return None  # nothing is below the empty string, so its ends need settling
                if low_side is not None and (low is None or (value, low_side) > low):
                    low = (value, low_side)
                if high_side is not None and (high is None or (value, high_side) < high):
                    high = (value, high_side)
            if low is None:
                assert high is not None
                all_sides.append((BOTTOM, high[1]))
                points.append(high[0])
            elif high is None:
                all_sides.append((low[1],))
                points.append(low[0])
            elif low < high:
                all_sides.append((low[1], high[1]))
                points.append(low[0])
                points.append(high[0])
            else:
                return ()
        sides = tuple(all_sides)
        shape = self.shapes.get(sides)
        if shape is None:
            shape = self.shapes[sides] = tuple(
                Slot(name, domain, mine, 0, 0, None)
                for (name, domain, _), mine in zip(self.attributes, sides, strict=True)
            )
        return (Box(shape, tuple(points)),)


class Templates:
    """Skeletons seen so far; None marks one that always needs the parser."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Template | None] = {}

    def find(self, text: str, schema: Schema | None) -> tuple[Template | None, list[str], tuple[object, ...]]:
        """The template of ``text`` if one is known, the text's literals, and the key to remember it by."""
        pieces = _LITERAL.split(text)
        key = (None if schema is None else schema.key, *pieces[::2])
        return self._known.get(key), pieces[1::2], key

    def remember(self, key: tuple[object, ...], literals: list[str], node: Node) -> None:
        """Learn the skeleton of a text that was parsed to ``node``."""
        if key in self._known:
            return
        if len(self._known) >= MAX_TEMPLATES:
            self._known = {}
        self._known[key] = _template(key[1:], literals, node)


def _template(pieces: tuple[Any, ...], literals: list[str], node: Node) -> Template | None:
    compares = list(_comparisons(node))
    if any(quote in piece for piece in pieces for quote in "'\"`") or len(compares) != len(literals):
        return None
    attributes: dict[str, tuple[str, Domain, list[Bound]]] = {}
    for at, (compare, piece, written) in enumerate(zip(compares, pieces, literals, strict=False)):
        if compare is None or not isinstance(compare.attribute, str) or compare.op not in _ENDS:
            return None
        value = compare.literal.value
        sign = 0 if written[0] == "'" else -1 if piece.rstrip().endswith("-") else 1
        expected: Any = written[1:-1] if sign == 0 else (number(written) or 0) * sign
        if compare.literal.kind is not (Kind.NUMBER if sign else Kind.STRING) or value != expected:
            return None
        domain = Domain.NUMBER if sign else Domain.STRING
        entry = attributes.setdefault(compare.attribute, (compare.attribute, domain, []))
        if entry[1] is not domain:
            return None
        entry[2].append(Bound(at, sign, *_ENDS[compare.op]))
    if not attributes:
        return None
    return Template([attributes[name] for name in sorted(attributes)], [written[0] == "'" for written in literals])


def _comparisons(node: Node) -> Iterator[Compare | None]:
    """The comparisons of a conjunction, in the order of the text; None for anything else."""
    match node:
        case And(items):
            for item in items:
                yield from _comparisons(item)
        case Compare():
            yield node
        case _:
            yield None
