"""Numbers for what profiles speak of: names and value tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semcast.matching.xpath.arrays import Ints, ints, packed
from semcast.matching.xpath.kernels import texts
from semcast.profiles.xpath.values import Test

_TEXT = {
    "=": texts.EQUAL_TEXT,
    "!=": texts.OTHER_TEXT,
    "contains": texts.CONTAINS,
    "starts-with": texts.STARTS_WITH,
}
_NUMBER = {
    "=": texts.EQUAL,
    "!=": texts.OTHER,
    "<": texts.BELOW,
    "<=": texts.UP_TO,
    ">": texts.ABOVE,
    ">=": texts.FROM,
}


class Vocabulary:
    """Symbols of names and numbers of tests. Symbol 0 is any name that no profile speaks of."""

    def __init__(self) -> None:
        self._symbols: dict[bytes, int] = {}
        self._tests: dict[Test, int] = {}

    def symbol(self, name: str) -> int:
        """-1 for ``*``; ``{uri}*`` has a symbol too, which stands for the names of that namespace without one."""
        return -1 if name == "*" else self._symbols.setdefault(name.encode(), len(self._symbols) + 1)

    def test(self, test: Test) -> int:
        return self._tests.setdefault(test, len(self._tests))

    def translated(self, names: Sequence[bytes]) -> Ints:
        """The symbols of names; one more at the end, for the document node, which has none."""
        known = self._symbols
        found = [known.get(name, 0) for name in names]
        for at, name in enumerate(names):
            if not found[at] and name.startswith(b"{"):
                found[at] = known.get(name[: name.index(b"}") + 1] + b"*", 0)
        return ints([*found, 0])

    def wild(self) -> Ints:
        """For each symbol that of its namespace's ``{uri}*``, or -1."""
        found = [-1]
        for name in self._symbols:
            is_in = name.startswith(b"{") and not name.endswith(b"}*")
            found.append(self._symbols.get(name[: name.index(b"}") + 1] + b"*", -1) if is_in else -1)
        return ints(found)

    def tests(self) -> texts.Tests:
        literals = [_literal(test) for test in self._tests]
        limits = [test.limit() for test in self._tests]
        data, begins, ends = packed(literals)
        return texts.Tests(
            operator=ints(operator_of(test) for test in self._tests),
            limit=np.array([np.nan if limit is None else limit for limit in limits], np.float64),
            begin=begins,
            end=ends,
            literals=data,
            borders=ints(border for literal in literals for border in _borders(literal)),
            found=np.zeros((len(literals), 3), np.int64),
            runs=texts.no_runs(),
            counts=np.zeros(2, np.int64),
        )


def operator_of(test: Test) -> int:
    return _TEXT[test.operator] if test.limit() is None else _NUMBER[test.operator]


def _literal(test: Test) -> bytes:
    return test.literal.encode() if test.limit() is None and isinstance(test.literal, str) else b""


def _borders(literal: bytes) -> list[int]:
    """For each prefix the length of the longest proper prefix that it also ends with."""
    found = [0] * len(literal)
    length = 0
    for at in range(1, len(literal)):
        while length and literal[at] != literal[length]:
            length = found[length - 1]
        length += literal[at] == literal[length]
        found[at] = length
    return found
