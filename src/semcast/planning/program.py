"""All channel expressions as one program over rows of bits.

In the spirit of UNISON (2005 §3.2.6): who matched is read once, whatever the number of channels. Disjunctions of
profiles, which most expressions are made of, are *leaves*: a profile knows the leaves that name it and sets their
bits. The rest is computed from rows, 64 messages a word, equal parts once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semcast.channels.expressions import And, Atom, Expression, Not, Or
from semcast.matching.matches import Matches, pointers
from semcast.model.bits import Bits
from semcast.planning import kernels

_OR, _AND, _NOT = 0, 1, 2


class Program:
    """Expressions over profile numbers, compiled; ``rows`` gives one row of bits per expression."""

    def __init__(self, expressions: Sequence[Expression], profiles: int) -> None:
        self._numbers: dict[Expression, int] = {}
        self._named: list[list[int]] = [[] for _ in range(profiles)]
        self._steps: list[tuple[int, int, list[int]]] = []
        self._outputs = [self._row(expression) for expression in expressions]
        counts = np.array([len(leaves) for leaves in self._named], np.int64)
        self._leaf_ptr = pointers(counts)
        self._leaves = np.array([leaf for leaves in self._named for leaf in leaves], np.int32)
        self._operators = np.array([operator for operator, _, _ in self._steps], np.int8)
        self._targets = np.array([target for _, target, _ in self._steps], np.int32)
        self._source_ptr = pointers([len(sources) for _, _, sources in self._steps])
        self._sources = np.array([row for _, _, sources in self._steps for row in sources], np.int32)

    def rows(self, matches: Matches) -> Bits:
        """Bit m of row e: expression e holds for message m."""
        words = (matches.rows + 63) >> 6
        rows = np.zeros((len(self._numbers), words), np.uint64)
        indices = matches.indices.astype(np.int32, copy=False)
        indptr = matches.indptr.astype(np.int64, copy=False)
        kernels.set_leaves(indptr, indices, self._leaf_ptr, self._leaves, rows)
        everything = np.full(words, ~np.uint64(0))
        if matches.rows & 63:
            everything[-1] = (np.uint64(1) << np.uint64(matches.rows & 63)) - np.uint64(1)
        kernels.run(self._operators, self._targets, self._source_ptr, self._sources, everything, rows)
        return rows[self._outputs]

    def _row(self, expression: Expression) -> int:
        found = self._numbers.get(expression)
        if found is not None:
            return found
        atoms = _atoms(expression)
        if atoms is not None:
            number = self._numbers[expression] = len(self._numbers)
            for profile in atoms:
                self._named[profile].append(number)
            return number
        match expression:
            case Not(part):
                operator, parts = _NOT, [part]
            case Or(inner):
                operator, parts = _OR, list(inner)
            case And(inner):
                operator, parts = _AND, list(inner)
        sources = [self._row(part) for part in parts]
        number = self._numbers[expression] = len(self._numbers)
        self._steps.append((operator, number, sources))
        return number


def _atoms(expression: Expression) -> list[int] | None:
    """The profiles of a disjunction of profiles."""
    if isinstance(expression, Atom):
        return [expression.profile]
    if isinstance(expression, Or) and all(isinstance(part, Atom) for part in expression.parts):
        return [part.profile for part in expression.parts if isinstance(part, Atom)]
    return None
