"""An expression in the short notation: in one line (the canonical text) or in many (for people)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from semcast.profiles.semantic.names import DESCRIPTION, RDF, XML, split
from semcast.profiles.semantic.notation import WORDS
from semcast.profiles.semantic.syntax import (
    ANYTHING,
    NOTHING,
    And,
    Distance,
    Expression,
    Has,
    Not,
    Or,
    Range,
    Text,
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def to_notation(expression: Expression) -> str:
    """Over many lines, one condition each."""
    head, lines = _written(expression)
    return "\n".join([*head, *(("  " * depth) + line for depth, line in lines)]) + "\n"


def to_line(expression: Expression) -> str:
    """In one line, which all ways of writing a profile share."""
    head, lines = _written(expression)
    parts = ["; ".join(head) + "; "] if head else []
    depth = 0
    for at, (deep, line) in enumerate(lines):
        if at:
            parts.append(" {" if deep > depth else "}" * (depth - deep) + "; ")
        parts.append(line)
        depth = deep
    return "".join(parts) + "}" * depth


def _written(expression: Expression) -> tuple[list[str], list[tuple[int, str]]]:
    """Lines that say what prefixes mean, and the conditions' lines with their depths."""
    uris = sorted({uri for name in _names(expression) if (uri := split(name)[0]) not in ("", RDF, XML)})
    prefixes = {uri: _prefix(at) for at, uri in enumerate(uris)}
    writer = _Writer({RDF: "rdf", XML: "xml", **prefixes})
    if isinstance(expression, Has) and expression.name == DESCRIPTION:
        return [f"prefix {prefix} <{uri}>" for uri, prefix in prefixes.items()], list(
            writer.block(expression.condition, 0)
        )
    lines = [(0, "RDF"), *writer.block(expression, 1)]
    return [f"prefix {prefix} <{uri}>" for uri, prefix in prefixes.items()], lines


def _prefix(number: int) -> str:
    return _LETTERS[number % 26] + (str(number // 26) if number >= 26 else "")


def _names(expression: Expression) -> Iterator[str]:
    match expression:
        case Has(name, condition):
            yield name
            yield from _names(condition)
        case Not(item):
            yield from _names(item)
        case And(items) | Or(items):
            for item in items:
                yield from _names(item)


class _Writer:
    def __init__(self, prefixes: dict[str, str]) -> None:
        self._prefixes = prefixes

    def block(self, expression: Expression, depth: int) -> Iterator[tuple[int, str]]:
        """The conditions that stand in one block, all of which are asked for."""
        items = expression.items if isinstance(expression, And) and expression.items else (expression,)
        for item in items:
            yield from self._statement(item, depth)

    def _statement(self, expression: Expression, depth: int) -> Iterator[tuple[int, str]]:
        match expression:
            case Has(name, condition):
                test = inline(condition)
                yield depth, self._name(name) + (f" {test}" if test else "")
                if test is None and condition != ANYTHING:
                    yield from self.block(condition, depth + 1)
            case And(items) | Or(items) if items:
                if (test := inline(expression)) is not None:
                    yield depth, test
                    return
                yield depth, "and" if isinstance(expression, And) else "or"
                for item in items:
                    yield from self._statement(item, depth + 1)
            case Not(item):
                yield depth, "not"
                yield from self._statement(item, depth + 1)
            case _:
                yield depth, _test(expression)

    def _name(self, name: str) -> str:
        uri, local = split(name)
        if uri:
            return f"{self._prefixes[uri]}:{local}"
        return f"Q{{}}{local}" if local in WORDS else local


def inline(condition: Expression) -> str | None:
    """A test that fits on its element's line; None where it takes a block."""
    match condition:
        case Text() | Range() | Distance():
            return _test(condition)
        case Or(items) if items and all(isinstance(item, Text) for item in items):
            return "= " + " | ".join(_test(item)[2:] for item in items)
        case _:
            return None


def _test(expression: Expression) -> str:
    match expression:
        case Text(value):
            return f"= {json.dumps(value, ensure_ascii=False)}"
        case Range(low, high):
            ends = [(low[0], ">" if low[1] else ">="), (high[0], "<=" if high[1] else "<")]
            return " ".join(f"{sign} {value!r}" for value, sign in ends if math.isfinite(value)) or "number"
        case Distance(within_km, latitude, longitude):
            return f"within {within_km!r} km of {latitude!r}, {longitude!r}"
        case _:
            return "anything" if expression == ANYTHING else "nothing" if expression == NOTHING else ""
