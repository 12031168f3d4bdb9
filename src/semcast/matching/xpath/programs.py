"""Expressions → fronts and small programs, with what several profiles share made once (hash-consing).

A front is a path from some step on, with the test at its end (see ``kernels.verify``); a program is a condition on
one node, over fronts. The same path in a thousand profiles is one front, and the document decides it once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from semcast.matching.xpath.arrays import Ints
from semcast.matching.xpath.kernels import verify as kernel
from semcast.matching.xpath.vocabulary import Vocabulary
from semcast.profiles.xpath.syntax import And, Axis, Call, Compare, Exists, Expression, Not, Or, Path, Step
from semcast.profiles.xpath.values import Test

_KINDS = {Axis.CHILD: kernel.ELEMENT_NODE, Axis.ATTRIBUTE: kernel.ATTRIBUTE_NODE, Axis.TEXT: kernel.TEXT_NODE}
_ITSELF = Path(False, ())
Instruction = tuple[int, int, int, int, int]


class Program(NamedTuple):
    """Where its code begins, and the fronts that it and they need, each behind those that it is made from.

    Where one of ``required`` leads nowhere in a document, it is false at all nodes; it is false at those from which
    ``driver``, if that is not -1, leads nowhere.
    """

    entry: int
    fronts: tuple[int, ...]
    required: tuple[int, ...]
    driver: int = -1


class _Part(NamedTuple):
    code: list[Instruction]
    fronts: tuple[int, ...] = ()
    required: tuple[int, ...] = ()
    driver: int = -1


class Programs:
    """All programs of an engine."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._code: list[Instruction] = []
        self._fronts: list[tuple[int, ...]] = []
        self._needed: list[tuple[int, ...]] = []  # by front, itself last
        self._required: list[tuple[int, ...]] = []
        self._front_numbers: dict[tuple[int, ...], int] = {}
        self._programs: dict[tuple[Expression, bool], Program] = {}

    def program(self, expression: Expression, on_element: bool = True) -> Program:
        """For nodes that are elements (or the document node), or that have nothing below."""
        found = self._programs.get((expression, on_element))
        if found is None:
            code, fronts, required, driver = self._compiled(expression, on_element)
            entry = len(self._code)
            jumps = (kernel.UNLESS, kernel.WHERE)
            self._code += [(i[0], entry + i[1], *i[2:]) if i[0] in jumps else i for i in code]
            self._code.append((kernel.DONE, 0, 0, 0, 0))
            found = self._programs[expression, on_element] = Program(entry, _once(fronts), required, driver)
        return found

    def fronts(self) -> Ints:
        return np.array(self._fronts, np.int32).reshape(-1, 8)

    def code(self) -> Ints:
        return np.array(self._code, np.int32).reshape(-1, 5)

    def _compiled(self, expression: Expression, on_element: bool) -> _Part:
        match expression:
            case Exists(path):
                return self._atom(path, None, False, on_element)
            case Compare(path, operator, literal):
                return self._atom(path, Test(operator, literal), False, on_element)
            case Call(function, path, literal):
                return self._atom(path, Test(function, literal), True, on_element)
            case And(items):
                return self._joined(items, kernel.UNLESS, on_element)
            case Or(items):
                return self._joined(items, kernel.WHERE, on_element)
            case Not(item):
                code, fronts, _, _ = self._compiled(item, on_element)
                return _Part([*code, (kernel.NEGATE, 0, 0, 0, 0)], fronts)

    def _joined(self, items: Iterable[Expression], jump: int, on_element: bool) -> _Part:
        """One after the other, until one decides."""
        parts = [self._compiled(item, on_element) for item in items]
        length = sum(len(part.code) + 1 for part in parts)
        joined: list[Instruction] = []
        for part in parts:
            begin = len(joined)
            for kind, first, *others in part.code:
                is_jump = kind in (kernel.UNLESS, kernel.WHERE)
                joined.append((kind, begin + first if is_jump else first, others[0], others[1], others[2]))
            joined.append((jump, length, 0, 0, 0))
        fronts = _once(front for part in parts for front in part.fronts)
        if jump == kernel.WHERE:
            return _Part(joined, fronts)
        driver = next((part.driver for part in parts if part.driver >= 0), -1)
        return _Part(joined, fronts, _once(front for part in parts for front in part.required), driver)

    def _atom(self, path: Path, test: Test | None, of_first: bool, on_element: bool) -> _Part:
        if of_first and test is not None and test.literal == "":
            return _Part([(kernel.ALWAYS, 0, 0, 0, 0)])  # every text contains '', also that of no node
        if not path.steps:
            if test is None:
                return _Part([(kernel.ALWAYS, 0, 0, 0, 0)])
            return _Part([(kernel.ITSELF, 0, int(path.absolute), self._vocabulary.test(test), 0)])
        if not path.absolute and not on_element:
            return _Part([(kernel.NEVER, 0, 0, 0, 0)])
        front = self._front(path.steps, None if of_first else test)
        asked = -1 if test is None else self._vocabulary.test(test)
        kind = kernel.FIRST_NODE if of_first else kernel.FRONT
        code = (kind, front, int(path.absolute), asked, _KINDS[path.steps[-1].axis])
        return _Part([code], self._needed[front], self._required[front], -1 if path.absolute else front)

    def _front(self, steps: tuple[Step, ...], test: Test | None) -> int:
        """The front of a path; made from its end, so that paths that end alike share what they can."""
        rest = -1
        for step in reversed(steps):
            rest = self._step(step, rest, test if rest < 0 else None)
        return rest

    def _step(self, step: Step, rest: int, test: Test | None) -> int:
        on_element = step.axis is Axis.CHILD
        needed, required = (self._needed[rest], self._required[rest]) if rest >= 0 else ((), ())
        asked = () if test is None else (Compare(_ITSELF, test.operator, test.literal),)
        program, driver, conditions = -1, rest, asked + step.predicates
        if conditions:
            asked_of_it = conditions[0] if len(conditions) == 1 else And(conditions)
            program, more, also, narrow = self.program(asked_of_it, on_element)
            needed, required, driver = needed + more, required + also, rest if rest >= 0 else narrow
        symbol = -1 if step.axis is Axis.TEXT else self._vocabulary.symbol(step.name)
        wild = int(step.name.startswith("{") and step.name.endswith("}*"))
        row = (_KINDS[step.axis], int(step.deep), symbol, wild, rest, program, driver, 0)  # the last column is empty
        number = self._front_numbers.get(row)
        if number is None:
            number = self._front_numbers[row] = len(self._fronts)
            self._fronts.append(row)
            self._needed.append((*_once(needed), number))
            self._required.append((*_once(required), number))
        return number


def _once(fronts: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(fronts))
