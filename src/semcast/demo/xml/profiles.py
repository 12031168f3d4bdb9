"""XPath profiles drawn from a schema, with the parameters of YFilter's evaluation.

Diao, Altinel, Franklin, Zhang and Fischer, "Path Sharing and Predicate Evaluation for High-Performance
XML Filtering", TODS 28(4), 2003, §6: depth, probability of ``*`` and of ``//`` at a step, predicates per
path, nested paths per profile, distinct or not. Every profile is a walk down the schema, so that some
document can match it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from semcast.demo.xml.schema import Element, Schema
from semcast.demo.xml.values import Kind

_OPERATORS = {"=": 6.0, "!=": 0.2, "<": 1.0, "<=": 1.0, ">": 1.0, ">=": 1.0, "contains": 4.0, "starts-with": 1.0}
_TRIES = 20  # walks until one has room for what is asked for
_NESTED_DEPTH = 3
_SKIP = 0.5  # that a ``//`` goes one level further down


@dataclass(frozen=True)
class Shape:
    """How profiles look; numbers per path are means: 1.5 is one or two, equally often."""

    min_depth: int = 3
    max_depth: int = 6  # YFilter's D
    wildcard: float = 0.1  # its W: probability of ``*`` at a step
    descendant: float = 0.1  # its DS: probability of ``//`` before a step
    predicates: float = 1.5  # its P: value predicates on a path
    nested: float = 0.4  # its RP: nested paths in a profile
    nested_value: float = 0.5  # probability that a nested path ends in a comparison
    operators: Mapping[str, float] = field(default_factory=lambda: _OPERATORS)  # weights


class _Step(NamedTuple):
    deep: bool
    name: str  # of the element walked to, also where ``*`` is written
    written: str
    conditions: list[str]


_Subject = tuple[str, Kind]


class ProfileGenerator:
    """Texts of profiles over one schema."""

    def __init__(self, schema: Schema, shape: Shape) -> None:
        self.schema = schema
        self.shape = shape

    def profile(self, random: np.random.Generator) -> str:
        predicates, nested = _count(self.shape.predicates, random), _count(self.shape.nested, random)
        steps = self._path(predicates, random)
        places = [(step, subject) for step in steps for subject in _subjects(self.schema.elements[step.name])]
        for at in random.permutation(len(places))[:predicates].tolist():  # no subject twice: they would contradict
            step, subject = places[at]
            step.conditions.append(self._condition(subject, random))
        inner = [step for step in steps if self.schema.elements[step.name].children]
        for _ in range(nested if inner else 0):
            step = inner[int(random.integers(len(inner)))]
            step.conditions.append(self._nested(step.name, random))
        return _written(steps, "/")

    def profiles(self, random: np.random.Generator, distinct: bool = True) -> Iterator[str]:
        """Profiles without end; where ``distinct``, none comes twice. Fails where the schema has no more."""
        seen: set[str] = set()
        repeated = 0
        while True:
            text = self.profile(random)
            if distinct and text in seen:
                repeated += 1
                if repeated > 1000 + 50 * len(seen):
                    raise ValueError(f"there are hardly more than {len(seen):,} distinct profiles of this shape")
                continue
            seen.add(text)
            yield text

    def _path(self, predicates: int, random: np.random.Generator) -> list[_Step]:
        """A walk from the root, with room for a value predicate if one is asked for."""
        shape = self.shape
        for _ in range(_TRIES):
            depth = int(random.integers(shape.min_depth, shape.max_depth + 1))
            steps = self._walk(None, depth, random)
            roomy = any(_subjects(self.schema.elements[step.name]) for step in steps)
            if len(steps) >= shape.min_depth and (roomy or not predicates):
                break
        return steps

    def _walk(self, above: str | None, depth: int, random: np.random.Generator) -> list[_Step]:
        steps: list[_Step] = []
        while len(steps) < depth:
            deep = random.random() < self.shape.descendant
            name = self._below(above, random)
            while deep and name is not None and random.random() < _SKIP:
                further = self._below(name, random)
                if further is None:
                    break
                name = further
            if name is None:
                break
            steps.append(_Step(deep, name, "*" if random.random() < self.shape.wildcard else name, []))
            above = name
        return steps

    def _below(self, name: str | None, random: np.random.Generator) -> str | None:
        if name is None:
            return self.schema.root
        children = self.schema.elements[name].children
        return children[int(random.integers(len(children)))].name if children else None

    def _nested(self, name: str, random: np.random.Generator) -> str:
        steps = self._walk(name, int(random.integers(1, _NESTED_DEPTH + 1)), random)
        last = self.schema.elements[steps[-1].name]
        subjects = _subjects(last)
        if subjects and random.random() < self.shape.nested_value:
            steps[-1].conditions.append(self._condition(subjects[int(random.integers(len(subjects)))], random))
        return _written(steps, "")

    def _condition(self, subject: _Subject, random: np.random.Generator) -> str:
        path, kind = subject
        operator = self._operator(kind, random)
        literal = kind.literal(random, operator)
        if kind.quoted:
            literal = f"'{literal}'"
        if operator in ("contains", "starts-with"):
            return f"{operator}({path}, {literal})"
        return f"{path} {operator} {literal}"

    def _operator(self, kind: Kind, random: np.random.Generator) -> str:
        weights = {operator: x for operator, x in self.shape.operators.items() if operator in kind.operators}
        left = random.random() * sum(weights.values())
        for operator, weight in weights.items():
            left -= weight
            if left < 0:
                return operator
        return "="


def _subjects(element: Element) -> list[_Subject]:
    """What of an element can be compared, as seen from it."""
    found: list[_Subject] = [(f"@{attribute.name}", attribute.kind) for attribute in element.attributes]
    return [*found, (".", element.text)] if element.text is not None else found


def _count(mean: float, random: np.random.Generator) -> int:
    return int(mean) + int(random.random() < mean % 1)


def _written(steps: list[_Step], start: str) -> str:
    """The path; conditions in order, so that one set of them is written in one way."""
    parts = []
    for at, step in enumerate(steps):
        slash = "//" if step.deep else "/"
        if at == 0 and not start:
            slash = ".//" if step.deep else ""
        parts.append(slash + step.written + "".join(f"[{text}]" for text in sorted(set(step.conditions))))
    return "".join(parts)
