"""Interest profiles as expressions over the nodes of a content descriptor, always in normal form.

An expression is true or false at one node: ``Has(name, condition)`` if some child of that name fulfils the
condition, ``Text``, ``Range`` and ``Distance`` by the node's own value. A profile is true where its expression is
true at the descriptor's root. The functions below are the only ones that make expressions; they keep the normal form:

* conjunctions and disjunctions are flat, sorted and without duplicates; negations stand before single tests;
* ``Has(n, a) or Has(n, b)`` is ``Has(n, a or b)``: the trees of two interests share what they can (thesis §3.4);
* a node has one text, so its tests are merged: ranges to fewer ranges, contradictions to NOTHING.

Keys order expressions and make them equal; hashes are kept, so that a tree of 10,000 branches is not walked for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from semcast.profiles.semantic.values import Cut, holds, joined, met, number

Key = tuple[Any, ...]


class Expression:
    """What is asked of a node. Equal expressions have equal keys."""

    __slots__ = ("_hash", "key", "simple")
    key: Key
    simple: bool
    """Known to be as small as ``simplify`` makes it; a note, no part of the value."""
    _hash: int

    def _keep(self, rank: int, *parts: Any, hashed: object) -> None:
        self.key = (rank, *parts)
        self._hash = hash((rank, hashed))
        self.simple = False

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Expression) and self._hash == other._hash and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Expression) -> bool:
        return self.key < other.key

    def __repr__(self) -> str:
        parts = ", ".join(repr(getattr(self, name)) for name in self.__match_args__)  # type: ignore[attr-defined]
        return f"{type(self).__name__}({parts})"


class Text(Expression):
    """The node's text is this, runs of white space counted as one blank."""

    __slots__ = ("value",)
    __match_args__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value
        self._keep(0, value, hashed=value)

    def __reduce__(self) -> tuple[object, ...]:
        return Text, (self.value,)


class Range(Expression):
    """The node's text is a number between two cuts: (v, 0) stands just before v, (v, 1) just after it."""

    __slots__ = ("high", "low")
    __match_args__ = ("low", "high")

    def __init__(self, low: Cut, high: Cut) -> None:
        self.low, self.high = low, high
        self._keep(1, low, high, hashed=(low, high))

    def __reduce__(self) -> tuple[object, ...]:
        return Range, (self.low, self.high)


class Distance(Expression):
    """The node's place, its attributes ``latitude`` and ``longitude``, is at most so far from a centre."""

    __slots__ = ("latitude", "longitude", "within_km")
    __match_args__ = ("within_km", "latitude", "longitude")

    def __init__(self, within_km: float, latitude: float, longitude: float) -> None:
        self.within_km, self.latitude, self.longitude = within_km, latitude, longitude
        self._keep(2, latitude, longitude, within_km, hashed=(within_km, latitude, longitude))

    def __reduce__(self) -> tuple[object, ...]:
        return Distance, (self.within_km, self.latitude, self.longitude)


class Has(Expression):
    """Some child of this name, ``{namespace}local`` or ``local``, fulfils the condition; so does an attribute."""

    __slots__ = ("condition", "name")
    __match_args__ = ("name", "condition")

    def __init__(self, name: str, condition: Expression) -> None:
        self.name, self.condition = name, condition
        self._keep(3, name, condition.key, hashed=(name, condition._hash))

    def __reduce__(self) -> tuple[object, ...]:
        return Has, (self.name, self.condition)


class Not(Expression):
    __slots__ = ("item",)
    __match_args__ = ("item",)

    def __init__(self, item: Expression) -> None:
        self.item = item
        self._keep(4, item.key, hashed=item._hash)

    def __reduce__(self) -> tuple[object, ...]:
        return Not, (self.item,)


class _Many(Expression):
    __slots__ = ("items",)
    __match_args__ = ("items",)
    _rank: int

    def __init__(self, items: tuple[Expression, ...]) -> None:
        self.items = items
        self._keep(self._rank, tuple(item.key for item in items), hashed=tuple(item._hash for item in items))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.items,)


class And(_Many):
    __slots__ = ()
    _rank = 5


class Or(_Many):
    __slots__ = ()
    _rank = 6


ANYTHING: Expression = And(())
NOTHING: Expression = Or(())
Value = Text | Range | Distance


def has(name: str, condition: Expression = ANYTHING) -> Expression:
    return NOTHING if condition == NOTHING else Has(name, condition)


def between(low: Cut, high: Cut) -> Expression:
    return Range(low, high) if low < high else NOTHING


def negation(item: Expression) -> Expression:
    match item:
        case Not(inner):
            return inner
        case And(items):
            return disjunction(map(negation, items))
        case Or(items):
            return conjunction(map(negation, items))
        case _:
            return Not(item)


def conjunction(items: Iterable[Expression]) -> Expression:
    """All of ``items`` at one node."""
    found = dict.fromkeys(_flat(items, And))
    if NOTHING in found or _opposed(found):
        return NOTHING
    kept = _discs(_one_absence(list(found)), nearest=True)
    ranges = [item for item in kept if isinstance(item, Range)]
    if len(ranges) > 1:
        merged = between(*met([(item.low, item.high) for item in ranges]))
        kept = [item for item in kept if not isinstance(item, Range)] + [merged]
    texts = [item for item in kept if isinstance(item, Text)]
    if texts:
        kept = _with_text(texts, kept)
    return _made(And, kept, NOTHING)


def disjunction(items: Iterable[Expression]) -> Expression:
    """Any of ``items`` at one node."""
    found = dict.fromkeys(_flat(items, Or))
    if ANYTHING in found or _opposed(found):
        return ANYTHING
    kept = _discs(_one_presence(list(found)), nearest=False)
    ranges = [item for item in kept if isinstance(item, Range)]
    if ranges:
        merged = [Range(low, high) for low, high in joined([(item.low, item.high) for item in ranges])]
        values = [item for item in kept if not isinstance(item, Range)]
        kept = [item for item in values if not (isinstance(item, Text) and _in_any(item, merged))]
        kept += merged
    return _made(Or, kept, ANYTHING)


def _flat(items: Iterable[Expression], kind: type[_Many]) -> Iterator[Expression]:
    for item in items:
        if isinstance(item, kind):
            yield from item.items
        else:
            yield item


def _made(kind: type[_Many], items: list[Expression], absorbing: Expression) -> Expression:
    if len(items) == 1:
        return items[0]
    # Merging may have brought about what is asked for and denied at once.
    return absorbing if absorbing in items or _opposed(set(items)) else kind(tuple(sorted(items)))


def _opposed(items: Collection[Expression]) -> bool:
    return any(isinstance(item, Not) and item.item in items for item in items)


def _one_presence(items: list[Expression]) -> list[Expression]:
    """Children of one name as one test: some child fulfils a or some child fulfils b, if some fulfils either."""
    by_name: dict[str, list[Expression]] = {}
    others: list[Expression] = []
    for item in items:
        if isinstance(item, Has):
            by_name.setdefault(item.name, []).append(item.condition)
        else:
            others.append(item)
    return others + [Has(name, asked[0] if len(asked) == 1 else disjunction(asked)) for name, asked in by_name.items()]


def _one_absence(items: list[Expression]) -> list[Expression]:
    """The same for children that must not be: none fulfils a and none fulfils b, if none fulfils either."""
    absent = [item.item for item in items if isinstance(item, Not) and isinstance(item.item, Has)]
    if len(absent) < 2:
        return items
    others = [item for item in items if not (isinstance(item, Not) and isinstance(item.item, Has))]
    return others + [Not(item) for item in _one_presence(list(absent))]


def _discs(items: list[Expression], nearest: bool) -> list[Expression]:
    """Of several distances to one centre, the one that counts."""
    best: dict[tuple[float, float], Distance] = {}
    for item in items:
        if isinstance(item, Distance):
            centre = item.latitude, item.longitude
            known = best.get(centre, item)
            best[centre] = known if (known.within_km <= item.within_km) == nearest else item
    if not best:
        return items
    return [item for item in items if not isinstance(item, Distance)] + list(best.values())


def _with_text(texts: list[Text], items: list[Expression]) -> list[Expression]:
    """What is left to ask where the text is known: all other tests of it are decided."""
    if len(texts) > 1:
        return [NOTHING]
    kept: list[Expression] = []
    for item in items:
        test = item.item if isinstance(item, Not) else item
        if item is texts[0] or not isinstance(test, Text | Range):
            kept.append(item)
        elif _true_of(test, texts[0].value) == isinstance(item, Not):
            return [NOTHING]
    return kept


def _true_of(test: Text | Range, text: str) -> bool:
    if isinstance(test, Text):
        return test.value == text
    value = number(text)
    return value is not None and holds(test.low, test.high, value)


def _in_any(text: Text, ranges: list[Range]) -> bool:
    value = number(text.value)
    return value is not None and any(holds(item.low, item.high, value) for item in ranges)
