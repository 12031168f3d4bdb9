"""What every language's matcher can do, whatever it is made of.

Relational profiles sit in immutable segments that are swapped (``segments``); topic profiles sit in tables
that are changed in place (``topic``), since adding and removing one subscription cheaply is their point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import pyarrow as pa

from semcast.matching.matches import Matches

P_contra = TypeVar("P_contra", contravariant=True)


class Matcher(Protocol[P_contra]):
    """Match batches against profiles that come and go.

    Safe to change while other threads match: a batch sees the profiles of one moment. It can be pickled,
    which is how workers get it.
    """

    def add(self, profile: P_contra) -> int:
        """Add a profile and return its index, which is never reused."""

    def extend(self, profiles: Sequence[P_contra]) -> range:
        """Add many profiles and return their indices."""

    def remove(self, index: int) -> None:
        """Remove a profile; SemcastError if there is none."""

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        """Match every row of ``batch`` against every profile."""

    def __len__(self) -> int:
        """The number of profiles."""
