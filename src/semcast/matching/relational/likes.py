"""Which texts match which LIKE patterns.

Arrow is quickest on many short texts, but its regular expressions cost O(text · pattern), so one hostile pattern on
one long text holds a whole node. Long texts and long patterns are left to ``profiles.relational.wildcards``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from semcast.profiles.relational.likes import matches, parts

_FEW = 16  # texts: fewer are matched sooner one by one than Arrow compiles a pattern
_LONG = 256  # bytes of a text
_MAX_PARTS = 12  # wildcards and pieces of text of a pattern that Arrow gets
_MAX_PATTERN = 64
_MANY_PATTERNS = 16
_HUGE = 1 << 16  # characters

Array = Any  # pyarrow ships no types


def matching_texts(texts: Array, patterns: Sequence[str]) -> Iterator[NDArray[np.bool_]]:
    """For each pattern which texts match it; nulls match nothing."""
    sizes = pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False)
    single = np.arange(len(texts)) if len(texts) <= _FEW else np.flatnonzero(sizes > _LONG)
    rest = np.setdiff1d(np.arange(len(texts)), single)
    short = texts.take(rest) if len(single) else texts
    values = [_Text(value, len(patterns)) for value in texts.take(single).to_pylist()]
    for pattern in patterns:
        if not len(single):
            yield _matching_short(short, pattern)
            continue
        found = np.zeros(len(texts), np.bool_)
        if len(rest):
            found[rest] = _matching_short(short, pattern)
        found[single] = [value.matches(pattern) for value in values]
        yield found


def _matching_short(texts: Array, pattern: str) -> NDArray[np.bool_]:
    if len(pattern) <= _MAX_PATTERN and len(parts(pattern)) <= _MAX_PARTS:
        return pc.match_like(texts, pattern).fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    return np.array([value is not None and matches(pattern, value) for value in texts.to_pylist()], np.bool_)


class _Text:
    """One text that many patterns are matched with.

    Which three bytes follow each other somewhere in a long text is noted once. A pattern with others is done with then:
    1,000 patterns on 4 MB take 40 ms instead of 2 s, unless the text was written to hold the pieces of all of them.
    """

    def __init__(self, value: str | None, patterns: int) -> None:
        self.value = value
        self._triples: NDArray[np.bool_] | None = None
        if value is not None and patterns >= _MANY_PATTERNS and len(value) >= _HUGE:
            data = np.frombuffer(value.encode(), np.uint8).astype(np.int32)
            self._triples = np.zeros(1 << 24, np.bool_)
            self._triples[(data[:-2] << 16) | (data[1:-1] << 8) | data[2:]] = True

    def matches(self, pattern: str) -> bool:
        if self.value is None or (self._triples is not None and not self._triples[_triples(pattern)].all()):
            return False
        return matches(pattern, self.value)


@lru_cache(maxsize=4096)
def _triples(pattern: str) -> NDArray[np.int32]:
    """All that three bytes in a row of a pattern's texts are, as numbers."""
    found: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    for _, text in parts(pattern):
        data = np.frombuffer(text.encode(), np.uint8).astype(np.int32)
        found.append((data[:-2] << 16) | (data[1:-1] << 8) | data[2:])
    return np.concatenate(found)
