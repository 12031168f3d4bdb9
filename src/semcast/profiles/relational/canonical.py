"""Canonical text: boxes → the shortest plain SQL that parses back to the same boxes."""

from __future__ import annotations

from typing import Any

from semcast.profiles.relational import ranges as sets
from semcast.profiles.relational.constraints import Constraint, Domain
from semcast.profiles.relational.literals import timestamp_text
from semcast.profiles.relational.normal import Box
from semcast.profiles.relational.ranges import AFTER, ALL, BEFORE, Cut, Ranges
from semcast.profiles.relational.syntax import Attribute, quoted

_ANY_VALUE = {Domain.NUMBER: 0, Domain.STRING: "", Domain.TIMESTAMP: 0}


def canonical_text(boxes: tuple[Box, ...]) -> str:
    if not boxes:
        return "FALSE"
    alternatives = [_conjunction(box, alone=len(boxes) == 1) for box in boxes]
    return " OR ".join(alternatives)


def _conjunction(box: Box, alone: bool) -> str:
    terms = [term for a, constraint in box.constraints().items() for term in _terms(a, constraint)]
    if not terms:
        return "TRUE"
    if len(terms) == 1:
        return terms[0][1:-1] if alone and terms[0].startswith("(") else terms[0]
    text = " AND ".join(terms)
    return text if alone else f"({text})"


def _terms(attribute: Attribute, constraint: Constraint) -> list[str]:
    """Conditions whose conjunction is the constraint; each fit to stand beside AND."""
    name = quoted(attribute) if isinstance(attribute, str) else str(attribute)
    match constraint.domain:
        case Domain.NULL:
            return [f"{name} IS NULL"]
        case Domain.PRESENT:
            return [f"{name} IS NOT NULL"]
        case Domain.BOOLEAN if constraint.ranges == ALL:
            return [f"{name} IN (FALSE, TRUE)"]
    patterns = [f"{name} LIKE {_string(p)}" for p in constraint.likes]
    patterns += [f"{name} NOT LIKE {_string(p)}" for p in constraint.unlikes]
    if patterns and constraint.ranges == ALL:
        return patterns
    return _ranges(name, constraint.domain, constraint.ranges) + patterns


def _ranges(name: str, domain: Domain, ranges: Ranges) -> list[str]:
    if ranges == ALL:
        value = literal(domain, _ANY_VALUE[domain])
        return [f"{name} >= ''"] if domain is Domain.STRING else [f"({name} <= {value} OR {name} > {value})"]
    if len(ranges.sides) <= 2:
        return _interval(name, domain, *next(ranges.intervals()))
    if ranges.is_points_only:
        return [_points(name, domain, ranges, "=", "IN")]
    left_out = sets.complement(ranges)
    if left_out.is_points_only:
        return [_points(name, domain, left_out, "<>", "NOT IN")]
    spans = list(ranges.intervals())
    points = [s for s in spans if _is_point(*s)]
    alternatives = [" AND ".join(_interval(name, domain, *span)) for span in spans if not _is_point(*span)]
    if points:
        only = sets.finite([low[0] for low, _ in points if low is not None])
        alternatives.append(_points(name, domain, only, "=", "IN"))
    text = " OR ".join(f"({a})" if " AND " in a else a for a in alternatives)
    return [text] if len(alternatives) == 1 else [f"({text})"]


def _points(name: str, domain: Domain, ranges: Ranges, one: str, many: str) -> str:
    points = ranges.points[::2]
    if domain is Domain.NUMBER:
        values = list(map(repr, points))
    elif domain is Domain.STRING:
        values = list(map(_string, points))
    else:
        values = [literal(domain, point) for point in points]
    return f"{name} {one} {values[0]}" if len(values) == 1 else f"{name} {many} ({', '.join(values)})"


def _interval(name: str, domain: Domain, low: Cut | None, high: Cut | None) -> list[str]:
    if low is not None and _is_point(low, high):
        return [f"{name} = {literal(domain, low[0])}"]
    terms = []
    if low is not None:
        terms.append(f"{name} {'>=' if low[1] == BEFORE else '>'} {literal(domain, low[0])}")
    if high is not None:
        terms.append(f"{name} {'<=' if high[1] == AFTER else '<'} {literal(domain, high[0])}")
    return terms


def _is_point(low: Cut | None, high: Cut | None) -> bool:
    return low is not None and high is not None and low[0] == high[0]


def literal(domain: Domain, value: Any) -> str:
    match domain:
        case Domain.STRING:
            return _string(value)
        case Domain.TIMESTAMP:
            return f"TIMESTAMP '{timestamp_text(value).removesuffix('.000000')}'"
        case Domain.BOOLEAN:
            return "TRUE" if value else "FALSE"
    return repr(value)


def _string(value: str) -> str:
    # \% and \_ keep their backslash when read, so every backslash must be written twice.
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
