"""Channel expressions: which messages a channel carries, said in profiles (2005 §3.2.6).

Data, not code: printed and read back (``p1 | p2``, ``(p1 | p2) & !p3``), simplified, and evaluated for many
messages at once over the bits of who matched. The papers' three forms are disjunctions of profiles, conjunctions
of those, and conjunctions without others; anything built of ``|``, ``&`` and ``!`` is understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import msgspec
import numpy as np

from semcast.model import SemcastError
from semcast.model.bits import Bits


@dataclass(frozen=True)
class Atom:
    """A profile, by its number."""

    profile: int


class _Hashed:
    """Hashed once: merged channels have the same large parts over and over, and each is looked up at every level."""

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, *vars(self).values()))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class Or(_Hashed):
    """Any of them; of nothing: false."""

    parts: tuple[Expression, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True)
class And(_Hashed):
    """All of them; of nothing: true."""

    parts: tuple[Expression, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True)
class Not(_Hashed):
    part: Expression
    __hash__ = _Hashed.__hash__


Expression: TypeAlias = Atom | Or | And | Not


def any_of(profiles: Iterable[int]) -> Expression:
    """A hierarchy's root expression: P1 ∨ … ∨ Pk."""
    return disjunction(Atom(profile) for profile in sorted(set(profiles)))


def disjunction(parts: Iterable[Expression]) -> Expression:
    """Any of ``parts``, flattened, each once, absorbed where one says less than another (a | a & b is a)."""
    return _joined(Or, parts)


def conjunction(parts: Iterable[Expression]) -> Expression:
    """All of ``parts``, flattened, each once, absorbed where one says less than another (a & (a | b) is a)."""
    return _joined(And, parts)


def without(wanted: Expression, unwanted: Expression) -> Expression:
    """A noise channel's: what the one matches and the other does not."""
    return conjunction([wanted, negation(unwanted)])


def negation(part: Expression) -> Expression:
    return part.part if isinstance(part, Not) else Not(part)


def profiles_of(expression: Expression) -> set[int]:
    """Every profile that it names."""
    match expression:
        case Atom(profile):
            return {profile}
        case Not(part):
            return profiles_of(part)
        case Or(parts) | And(parts):
            return set().union(*map(profiles_of, parts))


def served(expression: Expression) -> set[int]:
    """The profiles that a channel is there for: those it names outside of negations."""
    match expression:
        case Atom(profile):
            return {profile}
        case Not():
            return set()
        case Or(parts) | And(parts):
            return set().union(*map(served, parts))


def renumbered(
    expression: Expression, number: Mapping[int, int], known: dict[Expression, Expression] | None = None
) -> Expression:
    """The same with profile p called ``number[p]``; ``known`` are those that were renumbered already."""
    known = {} if known is None else known
    found = known.get(expression)
    if found is None:
        match expression:
            case Atom(profile):
                found = Atom(number[profile])
            case Not(part):
                found = Not(renumbered(part, number, known))
            case Or(parts):
                found = Or(tuple(renumbered(part, number, known) for part in parts))
            case And(parts):
                found = And(tuple(renumbered(part, number, known) for part in parts))
        known[expression] = found
    return found


def substituted(expression: Expression, profile: int, by: Expression) -> Expression:
    """The same with ``by`` wherever it names a profile, simplified; what is always false or true shrinks away."""
    match expression:
        case Atom(own):
            return by if own == profile else expression
        case Not(part):
            return negation(substituted(part, profile, by))
        case Or(parts):
            return _trimmed(Or, [substituted(part, profile, by) for part in parts])
        case And(parts):
            return _trimmed(And, [substituted(part, profile, by) for part in parts])


def holds(expression: Expression, matched: set[int]) -> bool:
    """For one message, by the profiles that match it."""
    match expression:
        case Atom(profile):
            return profile in matched
        case Not(part):
            return not holds(part, matched)
        case Or(parts):
            return any(holds(part, matched) for part in parts)
        case And(parts):
            return all(holds(part, matched) for part in parts)


def evaluated(expression: Expression, row: Callable[[int], Bits], everything: Bits) -> Bits:
    """For many messages: bit m of ``row(p)`` says that p matches message m; ``everything`` has all their bits."""
    match expression:
        case Atom(profile):
            return row(profile)
        case Not(part):
            return everything & ~evaluated(part, row, everything)
        case Or(parts):
            found = np.zeros_like(everything)
            for part in parts:
                found |= evaluated(part, row, everything)
            return found
        case And(parts):
            found = everything.copy()
            for part in parts:
                found &= evaluated(part, row, everything)
            return found


def text(expression: Expression, name: Callable[[int], str], *, quote: bool = True) -> str:
    """As people and plans write it; a name that is no plain word is quoted as in JSON, so that it can be read back."""
    match expression:
        case Atom(profile):
            return _quoted(name(profile)) if quote else name(profile)
        case Not(part):
            return "!" + _inner(part, name, quote)
        case Or(parts) | And(parts):
            if not parts:
                return "false" if isinstance(expression, Or) else "true"
            between = " | " if isinstance(expression, Or) else " & "
            return between.join(_inner(part, name, quote) for part in parts)


def parse(written: str, numbers: Mapping[str, int]) -> Expression:
    """Read an expression; SemcastError names what is not understood."""
    return _Reader(written, numbers).whole()


def _joined(kind: type[Or] | type[And], parts: Iterable[Expression]) -> Expression:
    flat: dict[Expression, None] = {}
    for part in parts:
        flat.update(dict.fromkeys(part.parts if isinstance(part, kind) else (part,)))
    other = And if kind is Or else Or
    # Inside a disjunction, a conjunction that has another part among its own says no more than that part.
    kept = [part for part in flat if not (isinstance(part, other) and any(inner in flat for inner in part.parts))]
    return kept[0] if len(kept) == 1 else kind(tuple(kept))


FALSE: Expression = Or(())
TRUE: Expression = And(())


def _trimmed(kind: type[Or] | type[And], parts: Iterable[Expression]) -> Expression:
    """Joined, with constants carried out."""
    zero, one = (TRUE, FALSE) if kind is Or else (FALSE, TRUE)
    held = [_constant(part) for part in parts]
    if zero in held:
        return zero
    return _joined(kind, [part for part in held if part != one])


def _constant(part: Expression) -> Expression:
    if part == Not(FALSE):
        return TRUE
    return FALSE if part == Not(TRUE) else part


_PLAIN = re.compile(r"[\w.:@/-]+\Z")
_WORDS = {"true", "false"}
_TOKEN = re.compile(r'\s*(?:([|&!()])|("(?:[^"\\]|\\.)*")|([\w.:@/-]+))')


def _quoted(name: str) -> str:
    return name if _PLAIN.match(name) and name not in _WORDS else msgspec.json.encode(name).decode()


def _inner(part: Expression, name: Callable[[int], str], quote: bool) -> str:
    written = text(part, name, quote=quote)
    compound = isinstance(part, Or | And) and len(part.parts) > 1
    return f"({written})" if compound else written


class _Reader:
    """Recursive descent over ``|``, ``&``, ``!`` and parentheses; ``&`` binds tighter.

    What stands in parentheses is read once, however often it is written: noise channels that were merged again and
    again repeat themselves a hundred thousand times.
    """

    def __init__(self, written: str, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._written = written
        self._ends: list[int] = []
        """Per token where it ends in the text."""
        self._tokens = list(self._split())
        self._at = 0
        self._closing = self._pairs()
        self._known: dict[str, Expression] = {}

    def _pairs(self) -> dict[int, int]:
        """Per token that opens a parenthesis, the one that closes it, where there is one."""
        found, opened = {}, []
        for place, token in enumerate(self._tokens):
            if token == "(":
                opened.append(place)
            elif token == ")" and opened:
                found[opened.pop()] = place
        return found

    def whole(self) -> Expression:
        found = self._any()
        if self._at < len(self._tokens):
            raise self._error(f"what is {self._tokens[self._at]!r} doing here")
        return found

    def _split(self) -> Iterator[str]:
        end = len(self._written.rstrip())
        at = 0
        while at < end:
            token = _TOKEN.match(self._written, at, end)
            if token is None:
                raise self._error(f"cannot read {self._written[at : at + 10]!r}")
            yield token.group(token.lastindex or 0)
            at = token.end()
            self._ends.append(at)

    def _any(self) -> Expression:
        parts = [self._all()]
        while self._next("|"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else disjunction(parts)

    def _all(self) -> Expression:
        parts = [self._one()]
        while self._next("&"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else conjunction(parts)

    def _one(self) -> Expression:
        if self._next("!"):
            return negation(self._one())
        if self._next("("):
            return self._group(self._at - 1)
        if self._at == len(self._tokens) or self._tokens[self._at] in "|&)":
            raise self._error("a profile is missing")
        return self._named(self._take())

    def _group(self, opening: int) -> Expression:
        """What the parenthesis holds that this token opens."""
        closing = self._closing.get(opening)
        held = "" if closing is None else self._written[self._ends[opening] : self._ends[closing]]
        found = self._known.get(held)
        if found is not None and closing is not None:
            self._at = closing + 1
            return found
        found = self._any()
        if not self._next(")"):
            raise self._error("a ')' is missing")
        self._known[held] = found
        return found

    def _named(self, token: str) -> Expression:
        if token in _WORDS:
            return Or(()) if token == "false" else And(())
        name = msgspec.json.decode(token) if token.startswith('"') else token
        if name not in self._numbers:
            raise self._error(f"there is no profile {name!r}")
        return Atom(self._numbers[name])

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _next(self, token: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += found
        return found

    def _error(self, what: str) -> SemcastError:
        shown = self._written if len(self._written) <= 80 else self._written[:80] + "…"
        return SemcastError(f"channel expression {shown!r}: {what}")
