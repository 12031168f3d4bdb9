"""Covers and overlaps of interest profiles, by their expressions.

``implies(narrow, wide)`` walks both trees from the root down, as matching does. What it says is always right; it
says no where it cannot tell: beyond its budget, where several branches cover something only together (unless they are
alternatives of one node), and where a denial follows from something else than a denial or another value.
"""

from __future__ import annotations

from semcast.profiles.semantic.profile import InterestProfile
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
    conjunction,
    has,
)
from semcast.profiles.semantic.values import SLACK_KM, distance_km, holds, number

BUDGET = 20_000
"""Comparisons of two nodes; two profiles as people write them take some dozens."""
_MAX_CASES = 64


def covers(a: InterestProfile, b: InterestProfile) -> bool:
    """True only if every descriptor that matches ``b`` matches ``a``."""
    return implies(b.expression, a.expression)


def overlaps(a: InterestProfile, b: InterestProfile) -> bool:
    """False only if no descriptor can match both.

    A descriptor may have any number of nodes of one name, so two profiles that ask for different values of it
    overlap; they do not where one denies what the other asks for, or where one contradicts itself.
    """
    return not disjoint(a.expression, b.expression)


def implies(narrow: Expression, wide: Expression, budget: int = BUDGET, by_cases: bool = True) -> bool:
    """Does ``wide`` hold wherever ``narrow`` does? ``by_cases``: take alternatives apart where all else fails."""
    prover = _Prover(budget, by_cases)
    try:
        return prover.implies(narrow, wide) or (by_cases and prover.contradicts(narrow))
    except (_Spent, RecursionError):
        return False


def disjoint(a: Expression, b: Expression, budget: int = BUDGET) -> bool:
    """Is there no node at which both hold?"""
    try:
        return _Prover(budget).disjoint(a, b)
    except (_Spent, RecursionError):
        return False


class _Spent(Exception):
    pass


class _Prover:
    def __init__(self, budget: int, by_cases: bool = True) -> None:
        self._budget = budget
        self._apart = by_cases
        self._known: dict[tuple[Expression, Expression], bool] = {}

    def implies(self, narrow: Expression, wide: Expression) -> bool:
        if narrow in (wide, NOTHING) or wide == ANYTHING:
            return True
        pair = narrow, wide
        if pair not in self._known:
            self._spend()
            self._known[pair] = self._implies(narrow, wide)
        return self._known[pair]

    def _implies(self, narrow: Expression, wide: Expression) -> bool:
        if isinstance(narrow, Or):
            return all(self.implies(item, wide) for item in narrow.items)
        if isinstance(wide, And):
            return all(self.implies(narrow, item) for item in wide.items)
        if isinstance(wide, Or) and any(self.implies(narrow, item) for item in wide.items):
            return True
        if isinstance(narrow, And) and any(self.implies(item, wide) for item in narrow.items):
            return True
        if _single(narrow, wide) or self._node(narrow, wide):
            return True
        return self._apart and isinstance(wide, Or | Has) and self._by_cases(narrow, wide)

    def _node(self, narrow: Expression, wide: Expression) -> bool:
        match narrow, wide:
            case Has(name, condition), Has(other, asked):
                return name == other and self.implies(condition, asked)
            case Not(item), Not(other):
                return self.implies(other, item)
            case _, Not(item):
                return self.disjoint(narrow, item)
            case _:
                return False

    def _by_cases(self, narrow: Expression, wide: Expression) -> bool:
        """Each alternative on its own: ``a and (b or c)`` is covered where ``a and b`` and ``a and c`` are."""
        items = narrow.items if isinstance(narrow, And) else (narrow,)
        for at, item in enumerate(items):
            cases = _cases(item)
            if 0 < len(cases) <= _MAX_CASES:
                others = items[:at] + items[at + 1 :]
                wholes = [conjunction([case, *others]) for case in cases]
                return all(self.implies(whole, wide) or self.contradicts(whole) for whole in wholes)
        return False

    def disjoint(self, a: Expression, b: Expression) -> bool:
        if NOTHING in (a, b):
            return True
        self._spend()
        if isinstance(a, Or):
            return all(self.disjoint(item, b) for item in a.items)
        if isinstance(b, Or):
            return all(self.disjoint(a, item) for item in b.items)
        if isinstance(a, And):
            return any(self.disjoint(item, b) for item in a.items) or self.contradicts(a)
        if isinstance(b, And):
            return any(self.disjoint(a, item) for item in b.items) or self.contradicts(b)
        match a, b:
            case Not(item), _:
                return self.implies(b, item)
            case _, Not(item):
                return self.implies(a, item)
            case Has(_, condition), Has(_, other):
                return self.contradicts(condition) or self.contradicts(other)
            case _:
                return _apart(a, b)

    def contradicts(self, expression: Expression) -> bool:
        """Can it hold nowhere?"""
        match expression:
            case And(items):
                return any(self.disjoint(a, b) for at, a in enumerate(items) for b in items[at + 1 :]) or any(
                    map(self.contradicts, items)
                )
            case Or(items):
                return all(map(self.contradicts, items))
            case Has(_, condition):
                return self.contradicts(condition)
            case _:
                return False

    def _spend(self) -> None:
        self._budget -= 1
        if self._budget < 0:
            raise _Spent


def _cases(item: Expression) -> list[Expression]:
    match item:
        case Or(items):
            return list(items)
        case Has(name, condition):
            return [has(name, case) for case in _inner_cases(condition)]
        case _:
            return []


def _inner_cases(condition: Expression) -> list[Expression]:
    if isinstance(condition, And):
        for at, item in enumerate(condition.items):
            cases = _cases(item)
            if cases:
                others = condition.items[:at] + condition.items[at + 1 :]
                return [conjunction([case, *others]) for case in cases]
        return []
    return _cases(condition)


def _single(narrow: Expression, wide: Expression) -> bool:
    """One test of a node's own value and another."""
    match narrow, wide:
        case Text(value), Range(low, high):
            given = number(value)
            return given is not None and holds(low, high, given)
        case Range(low, high), Range(bottom, top):
            return bottom <= low and high <= top
        case Distance(), Distance():
            gap = _gap(narrow, wide)
            return narrow.within_km + gap + (SLACK_KM if gap else 0.0) <= wide.within_km
        case _:
            return False


def _apart(a: Expression, b: Expression) -> bool:
    match a, b:
        case Text(value), Text(other):
            return value != other
        case Text(value), Range(low, high):
            given = number(value)
            return given is None or not holds(low, high, given)
        case Range(), Text():
            return _apart(b, a)
        case Range(low, high), Range(bottom, top):
            return min(high, top) <= max(low, bottom)
        case Distance(), Distance():
            return _gap(a, b) > a.within_km + b.within_km + SLACK_KM
        case _:
            return False


def _gap(a: Distance, b: Distance) -> float:
    if (a.latitude, a.longitude) == (b.latitude, b.longitude):
        return 0.0
    gap = distance_km(a.latitude, a.longitude, b.latitude, b.longitude)
    assert gap is not None  # no centre is off the globe
    return max(gap, SLACK_KM)
