"""The expressions that XPath profiles are made of, and their text.

Everything here is an immutable value that knows no other way of writing the same: conjunctions and
disjunctions are flat, sorted and without repetition, so equal profiles compare equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from semcast.profiles.xpath.numbers import number


class Axis(StrEnum):
    """What a step leads to."""

    CHILD = "child"
    ATTRIBUTE = "attribute"
    TEXT = "text"


class Number(NamedTuple):
    """A number as written: libxml2 rounds long ones in its own way, so digits are kept and not a double."""

    digits: str

    @property
    def value(self) -> float:
        return number(self.digits)


class Step(NamedTuple):
    """One step of a path; ``deep`` where ``//`` stands before it.

    ``name`` is ``*``, ``{uri}*``, ``local`` or ``{uri}local``; predicates all have to hold.
    """

    axis: Axis
    deep: bool
    name: str
    predicates: tuple[Expression, ...] = ()


class Path(NamedTuple):
    """Steps from the document node (``absolute``) or from the context node; no steps: that node itself."""

    absolute: bool
    steps: tuple[Step, ...]


class Exists(NamedTuple):
    path: Path


class Compare(NamedTuple):
    """True if any node of ``path`` compares so; ``operator`` stands between the node and the literal."""

    path: Path
    operator: str
    literal: str | Number


class Call(NamedTuple):
    """``contains`` or ``starts-with`` on the *first* node of ``path`` in document order; no node: on ''."""

    function: str
    path: Path
    literal: str


class And(NamedTuple):
    items: tuple[Expression, ...]
    kind: str = "and"  # NamedTuples compare as tuples: this keeps And and Or apart


class Or(NamedTuple):
    items: tuple[Expression, ...]
    kind: str = "or"


class Not(NamedTuple):
    item: Expression
    kind: str = "not"


Atom: TypeAlias = Exists | Compare | Call
Expression: TypeAlias = Exists | Compare | Call | And | Or | Not


def conjunction(items: Iterable[Expression]) -> Expression:
    found = conjuncts(items)
    return found[0] if len(found) == 1 else And(found)


def conjuncts(items: Iterable[Expression]) -> tuple[Expression, ...]:
    flat = [part for item in items for part in (item.items if isinstance(item, And) else (item,))]
    return _sorted(flat)


def disjunction(items: Iterable[Expression]) -> Expression:
    flat = [part for item in items for part in (item.items if isinstance(item, Or) else (item,))]
    found = _sorted(flat)
    return found[0] if len(found) == 1 else Or(found)


def _sorted(items: list[Expression]) -> tuple[Expression, ...]:
    return tuple(items) if len(items) < 2 else tuple(sorted(dict.fromkeys(items), key=text_of))


def negation(item: Expression) -> Expression:
    return item.item if isinstance(item, Not) else Not(item)


Naming: TypeAlias = Callable[[str], str]


@lru_cache(maxsize=1 << 11)
def text_of(expression: Expression) -> str:
    """Canonical text: namespaces stand in the names, as ``Q{uri}local``, so it needs no prefix map."""
    return render(expression, _qualified)


def _qualified(name: str) -> str:
    return "Q" + name if name.startswith("{") else name


def render(expression: Expression, naming: Naming) -> str:
    """The text of an expression, with names written by ``naming``."""
    match expression:
        case Exists(path):
            return _path(path, naming)
        case Compare(path, operator, literal):
            value = literal.digits if isinstance(literal, Number) else _quoted(literal)
            return f"{_path(path, naming)} {operator} {value}"
        case Call(function, path, literal):
            return f"{function}({_path(path, naming)}, {_quoted(literal)})"
        case Not(item):
            return f"not({render(item, naming)})"
        case And(items):
            return _conjunction(items, naming)
        case Or(items):
            return " or ".join(render(x, naming) for x in items)


def _conjunction(items: tuple[Expression, ...], naming: Naming) -> str:
    return " and ".join(f"({render(x, naming)})" if isinstance(x, Or) else render(x, naming) for x in items)


def _path(path: Path, naming: Naming) -> str:
    if not path.steps:
        return "/." if path.absolute else "."
    parts: list[str] = []
    for at, step in enumerate(path.steps):
        if at or path.absolute:
            parts.append("//" if step.deep else "/")
        elif step.deep:
            parts.append(".//")
        parts.append(_step(step, naming))
    return "".join(parts)


def _step(step: Step, naming: Naming) -> str:
    match step.axis:
        case Axis.CHILD:
            test = naming(step.name)
        case Axis.ATTRIBUTE:
            test = "@" + naming(step.name)
        case Axis.TEXT:
            test = "text()"
    predicates = _conjunction(step.predicates, naming)
    return f"{test}[{predicates}]" if predicates else test


def _quoted(literal: str) -> str:
    return f'"{literal}"' if "'" in literal else f"'{literal}'"
