"""What routers do with interest profiles: unite them, make them small, let them leak (thesis §3.4 and §3.5).

``aggregate`` is the union of interests; ``simplify`` says the same in fewer nodes, so that most profiles that come
or go change an aggregate little or not at all; ``truncate`` asks less, and so lets more through, never less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from semcast.profiles.semantic.containment import disjoint, implies
from semcast.profiles.semantic.syntax import (
    ANYTHING,
    NOTHING,
    And,
    Expression,
    Has,
    Not,
    Or,
    Text,
    conjunction,
    disjunction,
    has,
    negation,
)


def affinity(a: Expression, b: Expression) -> float:
    """Common nodes over all nodes: 1 for equal profiles, 0 for profiles that share nothing but the root."""
    mine, other = set(_nodes(a, ())), set(_nodes(b, ()))
    return len(mine & other) / len(mine | other) if mine | other else 1.0


def measured(pairs: Iterable[tuple[bool, bool]]) -> float:
    """Packets that match both over packets that match either; each pair says so of one packet. 0 where none matches."""
    both = either = 0
    for one, other in pairs:
        both += one and other
        either += one or other
    return both / either if either else 0.0


def _nodes(expression: Expression, way: tuple[Any, ...], root: bool = True) -> Iterator[tuple[Any, ...]]:
    """All nodes of the tree but those right below the root, which all profiles share."""
    match expression:
        case Has(name, condition):
            if not root:
                yield (*way, name)
            yield from _nodes(condition, (*way, name), False)
        case Not(item):
            yield (*way, "not", item.key)
        case And(items) | Or(items):
            for item in items:
                yield from _nodes(item, way, root)
        case _:
            yield (*way, expression.key)


_EFFORT = 400  # comparisons of nodes to find out whether one branch covers another
_ROUNDS = 8  # what merges may merge again; two rounds suffice for profiles as people write them
_CROWD = 48  # branches that are compared each with each; of more, only those that have a value in common

Fact = tuple[tuple[str, ...], str]


def aggregate(expressions: Iterable[Expression]) -> Expression:
    """The union of interests, simplified: true at a node where any of ``expressions`` is."""
    return simplify(disjunction(expressions))


def simplify(expression: Expression) -> Expression:
    """The same meaning in fewer nodes: what is covered vanishes, what branches share is said once.

    ``a or (a and b)`` is ``a``, ``a and (a or b)`` is ``a``, and ``(a and b) or (a and c)`` is ``a and (b or c)``.
    Branches that were simple before are left alone, so that adding one to many costs its own way down only.
    """
    found = expression
    for _ in range(_ROUNDS):
        if found.simple:
            return found
        before, found = found, _simpler(found)
        if found == before:
            break
    found.simple = True
    return found


def _simpler(expression: Expression) -> Expression:
    match expression:
        case Has(name, condition):
            return has(name, simplify(condition))
        case Not(item):
            return negation(simplify(item))
        case And(items):
            return _all_of([simplify(item) for item in items])
        case Or(items):
            return _any_of([simplify(item) for item in items])
        case _:
            return expression


def size(expression: Expression) -> int:
    """How many nodes and tests there are: what a filter takes, and what an update carries."""
    match expression:
        case Has(_, condition):
            return 1 + size(condition)
        case Not(item):
            return 1 + size(item)
        case And(items) | Or(items):
            return sum(map(size, items)) + (len(items) > 1)
        case _:
            return 1


def truncate(expression: Expression, depth: int) -> Expression:
    """The same without the nodes deeper than ``depth`` levels below a description: a parent covers its children.

    What matched still matches; what it lets through beyond that is *leakage*, for a router further on to filter.
    """
    return simplify(_cut(expression, depth + 1, True))


def _cut(expression: Expression, levels: int, wider: bool) -> Expression:
    """Without what lies deeper; ``wider``: true wherever it was, else (below a denial) only where it was."""
    match expression:
        case Has(name, condition):
            if levels == 0:
                return ANYTHING if wider else NOTHING
            return has(name, _cut(condition, levels - 1, wider))
        case Not(item):
            return negation(_cut(item, levels, not wider))
        case And(items):
            return conjunction(_cut(item, levels, wider) for item in items)
        case Or(items):
            return disjunction(_cut(item, levels, wider) for item in items)
        case _:
            return expression


def _all_of(items: list[Expression]) -> Expression:
    """Without what another part implies; nothing, where two contradict each other."""
    found = conjunction(items)
    if not isinstance(found, And) or len(found.items) > _CROWD:
        return found
    parts = found.items
    if any(disjoint(a, b, _EFFORT) for at, a in enumerate(parts) for b in parts[:at]):
        return NOTHING
    kept = [_possible(part, parts) for part in parts]
    for part in reversed(kept[:]):
        if any(other is not part and _covered(other, part) for other in kept):
            kept = [other for other in kept if other is not part]
    return conjunction(kept)


def _possible(part: Expression, parts: Sequence[Expression]) -> Expression:
    """Alternatives without those that another part rules out: ``a and (not a or b)`` is ``a and b``."""
    if not isinstance(part, Or) or len(part.items) > _CROWD:
        return part
    others = [other for other in parts if other is not part and not isinstance(other, Or)]
    return disjunction(item for item in part.items if not any(disjoint(item, other, _EFFORT) for other in others))


def _any_of(items: list[Expression]) -> Expression:
    found = disjunction(items)
    for step in (_absorbed, _factored, _absorbed):
        if not isinstance(found, Or):
            break
        found = disjunction(step(found.items))
    return found


def _factored(items: Sequence[Expression]) -> list[Expression]:
    """Branches that share a condition, as that condition once and the rest of each below it.

    Each branch goes with the most frequent of its conditions: one pass, whatever the number of branches.
    """
    often = Counter(part for item in items for part in _parts(item))
    groups: dict[Expression, list[Expression]] = {}
    for item in items:
        groups.setdefault(min(_parts(item), key=lambda part: (-often[part], part.key)), []).append(item)
    found: list[Expression] = []
    for shared, branches in groups.items():
        if len(branches) == 1:
            found += branches
            continue
        rests = [conjunction(part for part in _parts(branch) if part != shared) for branch in branches]
        found.append(_all_of([shared, simplify(disjunction(rests))]))
    return found


def _parts(expression: Expression) -> tuple[Expression, ...]:
    return expression.items if isinstance(expression, And) and expression.items else (expression,)


def _absorbed(items: Sequence[Expression]) -> list[Expression]:
    """Without branches that another branch covers; of two that cover each other, the first stays.

    A branch that lacks a text which another needs is not covered by it, so most pairs are not compared at all.
    """
    facts = [frozenset(_facts(item)) for item in items]
    others = _rivals(facts)
    gone: set[int] = set()
    for at in reversed(range(len(items))):
        for other in others(at):
            if other != at and other not in gone and facts[other] <= facts[at] and _covered(items[at], items[other]):
                gone.add(at)
                break
    return [item for at, item in enumerate(items) if at not in gone]


def _rivals(facts: Sequence[frozenset[Fact]]) -> Callable[[int], Iterable[int]]:
    """Which branches may cover a branch: all, or in a crowd those whose rarest text it has."""
    if len(facts) <= _CROWD:
        return lambda _: range(len(facts))
    often = Counter(fact for known in facts for fact in known)
    by_fact: dict[Fact, list[int]] = {}
    for at, known in enumerate(facts):
        if known:
            by_fact.setdefault(min(known, key=lambda fact: (often[fact], fact)), []).append(at)
    return lambda at: sorted({other for fact in facts[at] for other in by_fact.get(fact, ())})


def _covered(narrow: Expression, wide: Expression) -> bool:
    return implies(narrow, wide, _EFFORT, by_cases=False)


def _facts(expression: Expression, way: tuple[str, ...] = ()) -> Iterator[Fact]:
    """Texts that must be there, with the way to them: who lacks one of a wider branch's is not covered by it."""
    match expression:
        case Text(value):
            yield way, value
        case Has(name, condition):
            yield from _facts(condition, (*way, name))
        case And(items):
            for item in items:
                yield from _facts(item, way)
