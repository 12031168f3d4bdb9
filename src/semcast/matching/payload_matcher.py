"""A matcher of profiles on payloads: the segments of ``segments`` over what is read once, for however many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import pyarrow as pa

from semcast.matching.matchers import Aside, Read
from semcast.matching.matches import Matches
from semcast.matching.payloads import Payloads, payloads_of
from semcast.matching.segments import Engine, SegmentedMatcher

P = TypeVar("P")


class Content(Protocol):
    """Consecutive messages as engines look at them; ``refused`` has what was there and could not be read, by row."""

    def __init__(self, payloads: Payloads) -> None: ...

    @property
    def missing(self) -> int: ...

    @property
    def num_rows(self) -> int: ...

    @property
    def refused(self) -> Mapping[int, object]: ...


class PayloadMatcher(Generic[P]):
    """Match payloads against profiles that come and go; indices are never reused.

    ``unreadable`` counts the messages so far whose payload was there and could not be read, ``missing`` those without a
    payload. Both match nothing. A language says which engines it has, and how payloads are read for them.
    """

    engines: ClassVar[Mapping[str, Callable[[Sequence[Any]], Engine]]]
    content: ClassVar[type[Content]]
    quick: ClassVar[int]
    """How many profiles are indexed within some 5 ms."""

    def __init__(self, engine: str, profiles: Sequence[P] = (), aside: Aside | None = None) -> None:
        are_quick = partial(_at_most, self.quick)
        self._segments = SegmentedMatcher[P](self.engines[engine], profiles, aside=aside, quick=are_quick)
        self._lock = Lock()
        self.unreadable = self.missing = 0

    def __len__(self) -> int:
        return len(self._segments)

    def __getstate__(self) -> dict[str, object]:
        return {"_segments": self._segments, "unreadable": self.unreadable, "missing": self.missing}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def add(self, profile: P) -> int:
        """Add a profile and return its index; it is matched from the next batch on."""
        return self._segments.add(profile)

    def extend(self, profiles: Sequence[P]) -> range:
        """Add many profiles and return their indices."""
        return self._segments.extend(profiles)

    def remove(self, index: int) -> P:
        """Remove a profile and return it; SemcastError if there is none."""
        return self._segments.remove(index)

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        """Match the ``payload`` of every row; what cannot be read matches nothing and is counted."""
        return self.read(batch).matches

    def read(self, batch: pa.RecordBatch | pa.Table) -> Read:
        """Match, and say which rows could not be read, and why."""
        match = self._segments.frozen()
        parts: list[Matches] = []
        unreadable: dict[int, str] = {}
        row = missing = 0
        for content in map(self.content, payloads_of(batch)):  # in slices: few are in memory at a time
            parts.append(match(content))
            unreadable |= {row + at: str(why) for at, why in content.refused.items()}
            missing += content.missing
            row += content.num_rows
        with self._lock:
            self.unreadable += len(unreadable)
            self.missing += missing
        return Read(Matches.stacked(parts) if parts else Matches.none(batch.num_rows), unreadable, missing)


def _at_most(limit: int, profiles: Sequence[object]) -> bool:
    return len(profiles) <= limit
