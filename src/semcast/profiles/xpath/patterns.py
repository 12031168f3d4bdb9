"""Expressions as tree patterns: what a document must contain, node by node.

A disjunction becomes several patterns. What a pattern cannot say (a negation, a look into the first node
of a path) stays with its node as an *opaque* condition, which only follows from itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeVar

from semcast.profiles.xpath.syntax import (
    And,
    Axis,
    Call,
    Compare,
    Exists,
    Expression,
    Not,
    Or,
    Path,
    Step,
    conjunction,
    disjunction,
    negation,
)
from semcast.profiles.xpath.values import Test

T = TypeVar("T")
MAX_ALTERNATIVES = 32
"""Patterns of one profile; more are not compared but for equality."""


class TooMany(Exception):
    """The disjunctions of an expression multiply beyond MAX_ALTERNATIVES."""


@dataclass(eq=False, slots=True)
class Node:
    """A node that must be there; ``deep``: somewhere below its parent, not right below."""

    axis: Axis | None  # None: the document node, or the context node of a predicate
    name: str = "*"
    deep: bool = False
    tests: list[Test] = field(default_factory=list)
    opaque: list[Expression] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)

    def below(self) -> Iterator[Node]:
        """All nodes under this one."""
        for child in self.children:
            yield child
            yield from child.below()


@dataclass(eq=False, slots=True)
class Pattern:
    """Two places to start from: absolute paths hang at ``document``, relative ones at ``context``."""

    document: Node
    context: Node

    def nodes(self) -> Iterator[Node]:
        for root in {id(x): x for x in (self.document, self.context)}.values():
            yield root
            yield from root.below()


def patterns(expression: Expression, at_document: bool) -> list[Pattern]:
    """The patterns of which a document must contain one; raises TooMany."""
    found: list[Pattern] = []
    for items in _alternatives(expression):
        document = Node(None)
        pattern = Pattern(document, document if at_document else Node(None))
        for item in items:
            _attach(pattern, pattern.context, item)
        found.append(pattern)
    return found


def _attach(pattern: Pattern, node: Node, item: Expression) -> None:
    match item:
        case Exists(path):
            grown(pattern, node, path)
        case Compare(path, operator, literal):
            grown(pattern, node, path).tests.append(Test(operator, literal))
        case Call(function, Path(False, ()) as path, literal):
            grown(pattern, node, path).tests.append(Test(function, literal))
        case And(items):
            for part in items:
                _attach(pattern, node, part)
        case Call() | Or() | Not():
            node.opaque.append(item)


def grown(pattern: Pattern, node: Node, path: Path) -> Node:
    """Have ``path`` hang at ``node``, or at the document, and return where it ends."""
    if path.absolute:
        node = pattern.document
    for step in path.steps:
        child = Node(step.axis, step.name, step.deep)
        node.children.append(child)
        for predicate in step.predicates:
            _attach(pattern, child, predicate)
        node = child
    return node


def _alternatives(expression: Expression) -> list[tuple[Expression, ...]]:
    """The disjunctive normal form, also of the predicates inside paths."""
    match expression:
        case Or(items):
            return _bounded([found for item in items for found in _alternatives(item)])
        case And(items):
            return _joined([_alternatives(item) for item in items])
        case Not(Or(items)):
            return _alternatives(conjunction(map(negation, items)))
        case Not(And(items)):
            return _alternatives(disjunction(map(negation, items)))
        case Exists(path):
            return [(Exists(variant),) for variant in _variants(path)]
        case Compare(path, operator, literal):
            return [(Compare(variant, operator, literal),) for variant in _variants(path)]
        case Call() | Not():
            return [(expression,)]


def _variants(path: Path) -> list[Path]:
    choices: list[list[Step]] = []
    for step in path.steps:
        ways = _joined([_alternatives(predicate) for predicate in step.predicates])
        choices.append([step._replace(predicates=way) for way in ways])
    return [Path(path.absolute, steps) for steps in _products(choices)]


def _joined(parts: Sequence[list[tuple[Expression, ...]]]) -> list[tuple[Expression, ...]]:
    return [tuple(item for part in chosen for item in part) for chosen in _products(parts)]


def _products(parts: Sequence[list[T]]) -> list[tuple[T, ...]]:
    total = 1
    for part in parts:
        total *= len(part)
        if total > MAX_ALTERNATIVES:
            raise TooMany
    return list(product(*parts))


def _bounded(found: list[tuple[Expression, ...]]) -> list[tuple[Expression, ...]]:
    if len(found) > MAX_ALTERNATIVES:
        raise TooMany
    return found
