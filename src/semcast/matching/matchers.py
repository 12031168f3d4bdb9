"""What every language's matcher can do, whatever it is made of.

Relational profiles sit in immutable segments that are swapped (``segments``); topic profiles sit in tables
that are changed in place (``topic``), since adding and removing one subscription cheaply is their point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from semcast.matching.matches import Matches

Aside = Callable[[Callable[[], None]], None]
"""Runs a function elsewhere, soon: in a thread, where the caller is an event loop."""


class Read(NamedTuple):
    """The matches of a batch whose messages have to be read first, and what could not be.

    ``unreadable``: by row, why. ``missing``: how many rows have nothing to read. Neither matches anything.
    """

    matches: Matches
    unreadable: dict[int, str]
    missing: int


P = TypeVar("P")


class Matcher(Protocol[P]):
    """Match batches against profiles that come and go.

    Safe to change while other threads match: a batch sees the profiles of one moment. It can be pickled,
    which is how workers get it.
    """

    def add(self, profile: P) -> int:
        """Add a profile and return its index, which is never reused."""

    def extend(self, profiles: Sequence[P]) -> range:
        """Add many profiles and return their indices."""

    def remove(self, index: int) -> P:
        """Remove a profile and return it; SemcastError if there is none."""

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        """Match every row of ``batch`` against every profile."""

    def __len__(self) -> int:
        """The number of profiles."""


@runtime_checkable
class Reader(Protocol):
    """A matcher of documents, which can say what it could not read."""

    def read(self, batch: pa.RecordBatch | pa.Table) -> Read:
        """Match every row, and say which could not be read."""


def read(matcher: Matcher[P], batch: pa.RecordBatch | pa.Table) -> Read:
    """``matcher.match(batch)`` with what could not be read; nothing where the language reads columns as they are."""
    return matcher.read(batch) if isinstance(matcher, Reader) else Read(matcher.match(batch), {}, 0)
