"""Kinds of values, and a stream's declaration of which attribute holds which kind.

There are few kinds on purpose: an int64 and a double are both numbers and compare by value, a date is
the timestamp of its midnight. Values of different kinds never compare (DESIGN §4: no implicit casts).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum

from semcast.model.errors import SemcastError


class Kind(StrEnum):
    """What an attribute's value is, as far as profiles can tell."""

    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


_TYPE_NAMES: dict[str, Kind] = {
    **dict.fromkeys(
        ["number", "byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint", "halffloat"],
        Kind.NUMBER,
    ),
    **dict.fromkeys(["float", "real", "double", "decimal", "dec", "numeric"], Kind.NUMBER),
    **dict.fromkeys([f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)], Kind.NUMBER),
    **dict.fromkeys(["float16", "float32", "float64", "decimal128", "decimal256"], Kind.NUMBER),
    **dict.fromkeys(["string", "str", "utf8", "large_string", "varchar", "char", "text"], Kind.STRING),
    **dict.fromkeys(["boolean", "bool"], Kind.BOOLEAN),
    **dict.fromkeys(
        ["timestamp", "timestamp_ltz", "timestamp_ntz", "date", "date32", "date64", "datetime"],
        Kind.TIMESTAMP,
    ),
}
_FIELD = re.compile(r"\s*(`(?:[^`]|``)+`|[^\s:`,]+)\s*[:\s]\s*(\w+)\s*(?:\([^)]*\)|\[[^\]]*\])?\s*(?:,|$)")


class Schema(Mapping[str, Kind]):
    """The attributes of a stream and their kinds; names are case-sensitive, nested ones dotted."""

    def __init__(self, fields: Mapping[str, Kind | str]) -> None:
        self._fields = {name: kind_of(kind, name) for name, kind in fields.items()}
        self.key = tuple(sorted(self._fields.items()))
        """Equal for schemas that declare the same."""

    @classmethod
    def from_ddl(cls, text: str) -> Schema:
        """Read ``"symbol STRING, price DOUBLE"``, as Spark writes a schema (flat fields only)."""
        fields: dict[str, str] = {}
        position = 0
        while position < len(text):
            field = _FIELD.match(text, position)
            if field is None:
                raise SemcastError(
                    f"cannot read the schema at {text[position : position + 30].strip()!r}: "
                    "write it as 'name TYPE, name TYPE', for example 'symbol STRING, price DOUBLE'"
                )
            name = field[1]
            if name.startswith("`"):
                name = name[1:-1].replace("``", "`")
            fields[name] = field[2]
            position = field.end()
        return cls(fields)

    def __getitem__(self, name: str) -> Kind:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{name} {kind}' for name, kind in self._fields.items())})"

    def nearest(self, name: str) -> str | None:
        """The declared attribute that a misspelt ``name`` most likely means."""
        folded = {known.casefold(): known for known in self._fields}
        close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
        return folded[close[0]] if close else None


def kind_of(kind: Kind | str, name: str) -> Kind:
    """The kind that a SQL or Arrow type name stands for."""
    if isinstance(kind, Kind):
        return kind
    known = _TYPE_NAMES.get(re.split(r"[(\[]", kind, maxsplit=1)[0].strip().lower())
    if known is None:
        raise SemcastError(
            f"attribute {name!r} has type {kind!r}, which profiles cannot compare; "
            "use a number, string, boolean, timestamp or date type"
        )
    return known
