"""What a conjunction asks of one attribute.

A constraint is about exactly one domain: NULL, present (not NULL, of whatever kind), or the values of
one kind. Kinds never mix (no implicit casts), so a disjunction over kinds is several conjunctions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from semcast.profiles.relational import likes as patterns
from semcast.profiles.relational import ranges as sets
from semcast.profiles.relational.ranges import ALL, BEFORE, BOTTOM, EMPTY, Ranges


class Domain(StrEnum):
    """The kinds of values, and the two domains that NULL tests speak of."""

    NULL = "null"
    PRESENT = "present"
    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class Constraint(NamedTuple):
    """Values of ``domain`` in ``ranges``; strings also match all of ``likes`` and none of ``unlikes``.

    A double meets an integer literal as the nearest double, as in Spark. So where a literal is an
    integer that no double holds, doubles have ``doubles`` instead of ``ranges``.
    """

    domain: Domain
    ranges: Ranges = ALL
    likes: tuple[str, ...] = ()
    unlikes: tuple[str, ...] = ()
    doubles: Ranges | None = None


_EXACT = 2**53
NULL = Constraint(Domain.NULL)
PRESENT = Constraint(Domain.PRESENT)
_TRUTHS = {
    (True, True): ALL,
    (True, False): sets.comparison("=", False),
    (False, True): sets.comparison("=", True),
    (False, False): EMPTY,
}


def numbers(ranges_of: Callable[[Callable[[Any], Any]], Ranges], points: list[Any]) -> Constraint:
    """The numbers in ``ranges_of(reading)``, where a reading is how ``points`` look to a column's type."""
    ranges = ranges_of(lambda point: point)
    if (min(points) >= -_EXACT and max(points) <= _EXACT) or all(float(point) == point for point in points):
        return Constraint(Domain.NUMBER, ranges)
    return Constraint(Domain.NUMBER, ranges, doubles=ranges_of(float))


def like(pattern: str) -> Constraint:
    ranges, exact = patterns.bounds(pattern)
    return Constraint(Domain.STRING, ranges) if exact else Constraint(Domain.STRING, ALL, (pattern,))


def negated(constraint: Constraint) -> Constraint:
    """The values of the same domain that a *leaf's* constraint leaves out; NULL and present swap."""
    if constraint.domain is Domain.NULL:
        return PRESENT
    if constraint.domain is Domain.PRESENT:
        return NULL
    if constraint.likes:
        return Constraint(Domain.STRING, ALL, (), constraint.likes)
    return _componentwise(sets.complement, constraint)


def settled(constraint: Constraint) -> Constraint | None:
    """The one form of what ``constraint`` holds, or None where it holds nothing."""
    if constraint.domain is Domain.STRING:
        return _settled_string(constraint)
    if constraint.domain is Domain.BOOLEAN:
        held = constraint.ranges
        constraint = Constraint(Domain.BOOLEAN, _TRUTHS[held.holds(False), held.holds(True)])
    return constraint if constraint.ranges.sides or constraint.doubles else None


def _settled_string(constraint: Constraint) -> Constraint | None:
    ranges = constraint.ranges
    if ranges.is_single_point and not constraint.likes and not constraint.unlikes:
        return constraint
    for pattern in constraint.likes:
        ranges = sets.intersect(ranges, patterns.bounds(pattern)[0])
    if ranges.sides[:2] == (BOTTOM, BEFORE) and ranges.points[0] == "":
        ranges = Ranges(ranges.sides[2:], ranges.points[1:])  # nothing is below the empty string
    elif ranges.sides[:1] == (BEFORE,) and ranges.points[0] == "":
        ranges = Ranges((BOTTOM, *ranges.sides[1:]), ranges.points[1:])
    if not constraint.likes and not constraint.unlikes:
        return Constraint(Domain.STRING, ranges) if ranges else None
    if ranges.is_points_only:
        ranges = sets.finite([p for p in ranges.points if _fits(p, constraint.likes, constraint.unlikes)])
        return Constraint(Domain.STRING, ranges) if ranges else None
    if any(patterns.implies(yes, no) for yes in constraint.likes for no in constraint.unlikes):
        return None
    if not ranges:
        return None
    return Constraint(
        Domain.STRING, ranges, tuple(sorted(set(constraint.likes))), tuple(sorted(set(constraint.unlikes)))
    )


def _fits(value: str, likes: tuple[str, ...], unlikes: tuple[str, ...]) -> bool:
    return all(patterns.matches(p, value) for p in likes) and not any(patterns.matches(p, value) for p in unlikes)


def both(a: Constraint, b: Constraint) -> Constraint | None:
    """The constraint that holds just where ``a`` and ``b`` do; None where nothing can."""
    if a.domain is not b.domain:
        if a.domain is Domain.PRESENT and b.domain is not Domain.NULL:
            return b
        if b.domain is Domain.PRESENT and a.domain is not Domain.NULL:
            return a
        return None
    met = _componentwise(sets.intersect, a, b)
    if a.likes or b.likes or a.unlikes or b.unlikes:
        return _both_with_patterns(met, a, b)
    return settled(met)


def _both_with_patterns(met: Constraint, a: Constraint, b: Constraint) -> Constraint | None:
    """``a`` and ``b`` are settled, so only what one likes and the other does not can contradict each other.

    Settling their union would compare all patterns again for each that a long chain of ANDs adds.
    """
    likes, unlikes = tuple(sorted({*a.likes, *b.likes})), tuple(sorted({*a.unlikes, *b.unlikes}))
    met = met._replace(likes=likes, unlikes=unlikes)
    if met.ranges.is_points_only:
        return _settled_string(met)
    pairs = [(a.likes, b.unlikes), (b.likes, a.unlikes)]
    if not met.ranges or any(patterns.implies(yes, no) for liked, not_ in pairs for yes in liked for no in not_):
        return None
    return met


def either(a: Constraint, b: Constraint) -> Constraint | None:
    """The constraint that holds just where ``a`` or ``b`` does, if one constraint can say so."""
    if a.domain is b.domain and (a.likes, a.unlikes) == (b.likes, b.unlikes):
        return settled(_componentwise(sets.union, a, b))
    if holds_within(a, b):
        return b
    return a if holds_within(b, a) else None


def any_of(alike: Sequence[Constraint]) -> Constraint:
    """The constraint that holds where one of ``alike`` does: all of one domain, with the same patterns."""
    united = alike[0] if len(alike) == 1 else settled(_componentwise(sets.union, *alike))
    assert united is not None  # none of them is empty
    return united


def holds_within(narrow: Constraint, wide: Constraint) -> bool:
    """True only if ``wide`` holds wherever ``narrow`` does; exact where neither keeps patterns."""
    if narrow == wide:
        return True
    if wide.domain is Domain.PRESENT:
        return narrow.domain is not Domain.NULL
    if narrow.domain is not wide.domain or not sets.is_subset(narrow.ranges, wide.ranges):
        return False
    if (narrow.doubles is not None or wide.doubles is not None) and not sets.is_subset(
        doubles_of(narrow), doubles_of(wide)
    ):
        return False
    if not wide.likes and not wide.unlikes:
        return True
    if narrow.ranges.is_points_only:
        return all(_fits(p, wide.likes, wide.unlikes) for p in narrow.ranges.points)
    return all(any(patterns.implies(p, q) for p in narrow.likes) for q in wide.likes) and all(
        any(patterns.implies(q, p) for p in narrow.unlikes) for q in wide.unlikes
    )


def outside(b: Constraint, a: Constraint) -> list[Constraint] | None:
    """What ``a`` leaves of ``b`` (``b`` minus ``a``) as constraints; None where that cannot be said."""
    if both(a, b) is None:
        return [b]
    if holds_within(b, a):
        return []
    if b.domain is not a.domain or a.likes or a.unlikes:
        return None
    left = settled(_componentwise(sets.minus, b, a))
    return [] if left is None else [left]


def doubles_of(constraint: Constraint) -> Ranges:
    return constraint.ranges if constraint.doubles is None else constraint.doubles


def _componentwise(operation: Callable[..., Ranges], *constraints: Constraint) -> Constraint:
    """``operation`` on the ranges and, where they differ, on what doubles have; patterns are the first's."""
    first = constraints[0]
    ranges = operation(*(c.ranges for c in constraints))
    doubles = None
    if any(c.doubles is not None for c in constraints):
        doubles = operation(*map(doubles_of, constraints))
        doubles = None if doubles == ranges else doubles
    return Constraint(first.domain, ranges, first.likes, first.unlikes, doubles)
