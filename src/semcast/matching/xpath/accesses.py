"""Access paths: what must be somewhere in a document before a profile can match it.

An access is a path without predicates (a *spine*) and at most one test on the text at its end. A profile
gets the accesses of which a document must have one; where having one is also enough, the access is exact
and nothing is left to verify. ``/a/b[@x = 1]`` is exact: it says the same as ``/a/b/@x = 1``.

Every expression or its negation has accesses: an atom has, and where a conjunction has none each part's
negation has some, so their union is the negation's. So no profile has to be tried on every document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from semcast.profiles.xpath.syntax import And, Axis, Call, Compare, Exists, Expression, Not, Or, Path, Step
from semcast.profiles.xpath.values import Test

Spine = tuple[tuple[Axis, bool, str], ...]  # axis, deep, name of each step from the document node

# How few documents have it, as far as the operator tells; names on the way weigh less than any test.
_RARITY = {"=": 100, "starts-with": 60, "contains": 50, "<": 30, "<=": 30, ">": 30, ">=": 30, "!=": 2}
_MAX_OTHERS = 4  # conditions beside the first that are asked for: more cost more than they spare
_MAX_WAYS = 32  # as many as a profile may have contains(): all are searched for at once, and not one by one


class Access(NamedTuple):
    spine: Spine
    test: Test | None
    exact: bool


def accesses(expression: Expression, at: Spine = ()) -> list[Access] | None:
    """Of which the document must have one if ``expression`` holds at a node of ``at``; None if that is unknown."""
    match expression:
        case Exists(path) | Compare(path) | Call(_, path):
            return _of_atom(expression, path, at)
        case And(items):
            return _inexact(_best(accesses(item, at) for item in items))
        case Or(items):
            return _union(accesses(item, at) for item in items)
        case Not(item):
            return refutations(item, at)


def refutations(expression: Expression, at: Spine = ()) -> list[Access] | None:
    """The accesses of the negation."""
    match expression:
        case Not(item):
            return accesses(item, at)
        case And(items):
            return _union(refutations(item, at) for item in items)
        case Or(items):
            return _inexact(_best(refutations(item, at) for item in items))
        case Call(_, _, ""):
            return []  # every text contains '', so this never fails
        case Exists() | Compare() | Call():
            return None


def requirements(expression: Expression, at: Spine = ()) -> list[list[Access]]:
    """All that is known of what the document must have: one access of each list."""
    match expression:
        case And(items):
            return [found for item in items for found in requirements(item, at)]
        case Call(_, _, ""):
            return []  # always true, whether its path leads anywhere or not
        case Exists(path) | Compare(path) | Call(_, path) if any(step.predicates for step in path.steps):
            plain = Path(path.absolute, tuple(step._replace(predicates=()) for step in path.steps))
            found = requirements(expression._replace(path=plain), at)
            base = () if path.absolute else at
            for number, step in enumerate(path.steps):
                spine = base + _spine(path.steps[: number + 1])
                found += [more for predicate in step.predicates for more in requirements(predicate, spine)]
            return found
        case _:
            one = accesses(expression, at)
            return [] if one is None else [one]


def others(expression: Expression, first: list[Access]) -> list[tuple[Access, ...]]:
    """What else must be met before it is worth to verify an ``expression`` whose first accesses were."""
    found = sorted((way for way in requirements(expression) if len(way) <= _MAX_WAYS), key=_merit, reverse=True)
    kept: dict[tuple[Access, ...], None] = {}
    known = [first]
    for way in found:
        plain = [access._replace(exact=False) for access in way]
        if len(kept) < _MAX_OTHERS and not any(_met_with(plain, other) for other in known):
            kept[tuple(plain)] = None
            known.append(plain)
    return list(kept)


def _met_with(way: list[Access], other: list[Access]) -> bool:
    """Is ``way`` met wherever ``other`` is? It is if it only asks for where ``other`` passes by."""
    if len(way) != 1 or len(other) != 1:
        return way == other
    spine, test, _ = way[0]
    passed = other[0].spine[: len(spine)] == spine
    return passed and (test is None or (test == other[0].test and len(spine) == len(other[0].spine)))


def _spine(steps: Iterable[Step]) -> Spine:
    return tuple((step.axis, step.deep, step.name) for step in steps)


def _of_atom(atom: Exists | Compare | Call, path: Path, at: Spine) -> list[Access] | None:
    if isinstance(atom, Call) and not atom.literal:
        return [Access(at, None, True)]
    base = () if path.absolute else at
    if path.steps and base and base[-1][0] is not Axis.CHILD:
        return []  # nothing lies below an attribute or a text
    spine = base + _spine(path.steps)
    guarded = [number for number, step in enumerate(path.steps) if step.predicates]
    # An absolute path in a predicate says nothing of the node that the predicate is on.
    exact = not guarded and (not path.absolute or not at) and (not isinstance(atom, Call) or _one_node(path))
    test = _test(atom)
    ways: list[list[Access] | None] = [[Access(spine, test, exact)]]
    only_last = test is None and guarded == [len(path.steps) - 1] and (not path.absolute or not at)
    for number in guarded:
        found = _of_predicates(path.steps[number], spine[: len(base) + number + 1])
        ways.append(found if only_last else _inexact(found))
    return _best(ways)


def _of_predicates(step: Step, at: Spine) -> list[Access] | None:
    found = _best(accesses(predicate, at) for predicate in step.predicates)
    return found if len(step.predicates) == 1 else _inexact(found)


def _test(atom: Exists | Compare | Call) -> Test | None:
    match atom:
        case Exists():
            return None
        case Compare(_, operator, literal):
            return Test(operator, literal)
        case Call(function, _, literal):
            return Test(function, literal)


def _one_node(path: Path) -> bool:
    """Can the path have no second node, so that looking into the first is looking into any?"""
    if not path.steps:
        return True
    step = path.steps[0]
    return len(path.steps) == 1 and step.axis is Axis.ATTRIBUTE and not step.deep and not step.name.endswith("*")


def _inexact(found: Sequence[Access] | None) -> list[Access] | None:
    return None if found is None else [access._replace(exact=False) for access in found]


def _union(parts: Iterable[list[Access] | None]) -> list[Access] | None:
    found: list[Access] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _best(ways: Iterable[list[Access] | None]) -> list[Access] | None:
    known = [way for way in ways if way is not None]
    return max(known, key=_merit, default=None)


def _merit(way: list[Access]) -> tuple[int, bool]:
    """The least rare access decides; of equally rare ways an exact one is better."""
    rarity = min((_rarity(access) for access in way), default=1 << 30)
    return rarity - len(way), all(access.exact for access in way)


def _rarity(access: Access) -> int:
    steps = sum((0 if name.endswith("*") else 2) - deep for _, deep, name in access.spine)
    return min(steps, 20) + (0 if access.test is None else _RARITY[access.test.operator])
