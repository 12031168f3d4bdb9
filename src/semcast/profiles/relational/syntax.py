"""The parsed form of a relational profile: what was written, before any rewriting.

The brute-force oracle evaluates these nodes as they stand; the normal form is computed from them.
So an error in the normal form cannot hide in the oracle.
"""

from __future__ import annotations

from typing import NamedTuple

from semcast.model import Kind

Value = bool | int | float | str
"""A literal: numbers are exact integers or doubles, timestamps are integers (µs since 1970, UTC)."""


class Distance(NamedTuple):
    """A derived number attribute: kilometres from (latitude, longitude) of a message to a fixed point."""

    latitude: str
    longitude: str
    center_latitude: float
    center_longitude: float

    def __str__(self) -> str:
        names = f"{quoted(self.latitude)}, {quoted(self.longitude)}"
        return f"geo_distance_km({names}, {self.center_latitude!r}, {self.center_longitude!r})"


Attribute = str | Distance


class Axes(NamedTuple):
    """The two attributes of a Distance, without its centre: what many profiles share."""

    latitude: str
    longitude: str


class Literal(NamedTuple):
    """A constant and its kind; a NULL has no kind."""

    kind: Kind | None
    value: Value | None


class Constant(NamedTuple):
    """TRUE, FALSE or NULL as a condition."""

    value: bool | None


class Compare(NamedTuple):
    """``attribute op literal`` with op one of ``= <> < <= > >=``; NULL where the kinds differ."""

    attribute: Attribute
    op: str
    literal: Literal


class NullSafeEqual(NamedTuple):
    """``attribute <=> literal``: as ``=``, but NULL equals NULL and nothing else."""

    attribute: Attribute
    literal: Literal


class In(NamedTuple):
    """``attribute IN (literal, …)``; a NULL in the list leaves what is not found unknown."""

    attribute: Attribute
    literals: tuple[Literal, ...]


class Like(NamedTuple):
    """``attribute LIKE pattern``; the pattern's escapes are resolved to the one escape ``\\``."""

    attribute: Attribute
    pattern: str


class IsNull(NamedTuple):
    """``attribute IS NULL``: missing counts as NULL."""

    attribute: Attribute


class Not(NamedTuple):
    item: Node


class And(NamedTuple):
    items: tuple[Node, ...]


class Or(NamedTuple):
    items: tuple[Node, ...]


Node = Constant | Compare | NullSafeEqual | In | Like | IsNull | Not | And | Or

RESERVED = frozenset(
    [
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "like",
        "between",
        "true",
        "false",
        "escape",
        "case",
        "when",
        "then",
        "else",
        "end",
        "cast",
        "distinct",
        "from",
        "exists",
        "rlike",
        "regexp",
        "ilike",
        "any",
        "some",
        "all",
        "unknown",
        "select",
    ]
)


def quoted(name: str) -> str:
    """An attribute's name as it must be written in a profile."""
    parts = name.split(".")
    if all(p.isidentifier() and p.lower() not in RESERVED for p in parts):
        return name
    return "`" + name.replace("`", "``") + "`"
