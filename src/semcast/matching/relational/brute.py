"""The slow oracle: evaluate what was written, row by row, in three-valued logic.

It shares the parser with the fast engine and nothing else: no normal form, no codes, no kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import pyarrow as pa

from semcast.matching.matches import Matches
from semcast.model import Kind
from semcast.profiles.relational import Profile
from semcast.profiles.relational.geo import distance_km
from semcast.profiles.relational.parser import parse_syntax
from semcast.profiles.relational.syntax import (
    And,
    Attribute,
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

Row = Mapping[str, Any]
_OPERATORS = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BruteForceEngine:
    """Tests every profile on every row."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        self.nodes = [parse_syntax(profile.text) for profile in profiles]

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        found = [[at for at, node in enumerate(self.nodes) if truth(node, row) is True] for row in batch.to_pylist()]
        return Matches.of_rows(found)

    def prepare(self) -> None:
        """The first match does nothing that others do not."""


def truth(node: Node, row: Row) -> bool | None:
    """TRUE, FALSE or NULL (None)."""
    match node:
        case Constant(value):
            return value
        case Not(item):
            inner = truth(item, row)
            return None if inner is None else not inner
        case And(items):
            values = [truth(item, row) for item in items]
            return False if False in values else None if None in values else True
        case Or(items):
            values = [truth(item, row) for item in items]
            return True if True in values else None if None in values else False
        case IsNull(attribute):
            return _value(attribute, row) is None
        case Like(attribute, pattern):
            text = _value(attribute, row)
            return like(pattern, text) if isinstance(text, str) else None
        case Compare(attribute, op, literal):
            return _compare(_value(attribute, row), op, literal)
        case In(attribute, literals):
            value = _value(attribute, row)
            found = [_compare(value, "=", literal) for literal in literals]
            return True if True in found else None if None in found else False
        case NullSafeEqual(attribute, literal):
            value = _value(attribute, row)
            if value is None or literal.kind is None:
                return value is None and literal.kind is None
            return _compare(value, "=", literal)


def like(pattern: str, text: str) -> bool:
    """Does ``text`` match? Letter by letter of the pattern, with all places that can be reached: O(text · pattern)."""
    reached = [True] + [False] * len(text)
    letters = iter(pattern)
    for letter in letters:
        if letter == "%":
            first = reached.index(True) if True in reached else len(reached)
            reached = [place >= first for place in range(len(reached))]
            continue
        any_one = letter == "_"
        if letter == "\\":
            letter = next(letters, letter)
        reached = [False] + [ok and (any_one or letter == x) for ok, x in zip(reached, text, strict=False)]
    return reached[-1]


def _value(attribute: Attribute, row: Row) -> Any:
    if isinstance(attribute, Distance):
        place = [_value(name, row) for name in (attribute.latitude, attribute.longitude)]
        if any(isinstance(x, bool) or not isinstance(x, int | float | Decimal) for x in place):
            return None
        return distance_km(float(place[0]), float(place[1]), *attribute[2:])
    if attribute in row:
        return row[attribute]
    outer, _, inner = attribute.partition(".")
    nested = row.get(outer)
    return _value(inner, nested) if inner and isinstance(nested, Mapping) else None


def _compare(value: Any, op: str, literal: Literal) -> bool | None:
    constant: Any = literal.value
    if value is None or constant is None or _kind(value) is not literal.kind:
        return None
    if isinstance(value, date):
        value = _micros(value)
    if isinstance(value, float):
        if value != value:  # NaN is above every number, and no literal is NaN
            return op in (">", ">=", "<>")
        constant = float(constant)
    elif isinstance(value, Decimal) and isinstance(constant, float):
        constant = Decimal(repr(constant))
    return bool(_OPERATORS[op](value, constant))


def _kind(value: Any) -> Kind | None:
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, int | float | Decimal):
        return Kind.NUMBER
    if isinstance(value, str):
        return Kind.STRING
    return Kind.TIMESTAMP if isinstance(value, date) else None


def _micros(value: date) -> Any:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    nanosecond = getattr(value, "nanosecond", 0)  # pandas' timestamps, which Arrow gives for ns columns
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    micros = (moment - _EPOCH) // timedelta(microseconds=1)
    return micros + Decimal(nanosecond) / 1000 if nanosecond else micros
