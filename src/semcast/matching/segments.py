"""A matcher that can change while it is used.

Engines are immutable: a change builds new ones aside and swaps them in by one assignment, so a batch
that is being matched sees the profiles of one moment. Profiles sit in segments of falling size (as in
a log-structured merge tree): adding one profile to a million rebuilds only the small segments, and
removed profiles are masked until they are a quarter of their segment. A profile with very many values
has a segment of its own, whose engine may have been built before, elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.matching.matches import Matches
from semcast.model import SemcastError

P = TypeVar("P")
_GROWTH = 4  # a segment is merged into the one before it unless that is this much larger
ALONE = 16
"""Profiles of this size and above have a segment of their own: no other one has them indexed again."""


class Engine(Protocol):
    """An immutable matcher of a fixed list of profiles."""

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches: ...


class _Segment(NamedTuple, Generic[P]):
    engine: Engine
    numbers: NDArray[np.int64]  # ascending; all above those of the segment before
    profiles: list[P]
    alive: NDArray[np.bool_]
    masked: int
    size: int

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        matches = self.engine.match(batch)
        if self.masked:
            matches = matches.only(self.alive)
        plain = self.numbers[-1] == len(self.numbers) - 1
        return matches if plain else matches.renumbered(self.numbers)

    def members(self) -> list[tuple[int, P]]:
        found = zip(self.numbers.tolist(), self.profiles, self.alive.tolist(), strict=True)
        return [(number, profile) for number, profile, alive in found if alive]


class SegmentedMatcher(Generic[P]):
    """Match batches against profiles that come and go; indices are never reused."""

    def __init__(
        self,
        build: Callable[[Sequence[P]], Engine],
        profiles: Sequence[P] = (),
        size: Callable[[P], int] | None = None,
    ) -> None:
        """``size`` of a profile: what it adds to the work of building an engine; all are alike without it."""
        self._build = build
        self._size = size
        self._lock = Lock()
        self._segments: tuple[_Segment[P], ...] = ()
        self._waiting: dict[int, P] = {}
        self._next = 0
        self.extend(profiles)
        self._settle()

    def __len__(self) -> int:
        with self._lock:
            return sum(len(s.numbers) - s.masked for s in self._segments) + len(self._waiting)

    def __getstate__(self) -> dict[str, object]:
        return {"_build": self._build, "_size": self._size, "_segments": self._settle(), "_next": self._next}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock, self._waiting = Lock(), {}

    def add(self, profile: P) -> int:
        """Add a profile and return its index; it is matched from the next batch on."""
        return self.extend([profile])[0]

    def extend(self, profiles: Sequence[P]) -> range:
        """Add many profiles and return their indices."""
        with self._lock:
            numbers = range(self._next, self._next + len(profiles))
            self._waiting.update(zip(numbers, profiles, strict=True))
            self._next = numbers.stop
        return numbers

    def remove(self, index: int) -> None:
        """Remove a profile; it is not matched from the next batch on."""
        with self._lock:
            if index in self._waiting:
                del self._waiting[index]
                return
            for i, segment in enumerate(self._segments):
                at = int(np.searchsorted(segment.numbers, index))
                if at < len(segment.numbers) and segment.numbers[at] == index and segment.alive[at]:
                    alive = segment.alive.copy()
                    alive[at] = False
                    changed = segment._replace(alive=alive, masked=segment.masked + 1)
                    self._segments = (*self._segments[:i], *self._compacted(changed), *self._segments[i + 1 :])
                    return
        raise SemcastError(f"there is no profile with index {index}")

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        """Match every row of ``batch`` against every profile."""
        return self.frozen()(batch)

    def frozen(self) -> Callable[[pa.RecordBatch | pa.Table], Matches]:
        """``match`` with the profiles of this moment, for a batch that is matched in several parts."""
        segments = self._settle() if self._waiting else self._segments

        def match(batch: pa.RecordBatch | pa.Table) -> Matches:
            if not segments:
                return Matches.none(batch.num_rows)
            return Matches.side_by_side([segment.match(batch) for segment in segments])

        return match

    def _settle(self) -> tuple[_Segment[P], ...]:
        """Take what waits into a new segment, merged with the small ones before it."""
        with self._lock:
            if not self._waiting:
                return self._segments
            segments = list(self._segments)
            for alone, run in groupby(self._waiting.items(), lambda item: self._is_alone(item[1])):
                for members in ([item] for item in run) if alone else [list(run)]:
                    self._append(segments, members)
            self._segments, self._waiting = tuple(segments), {}
            return self._segments

    def _append(self, segments: list[_Segment[P]], members: list[tuple[int, P]]) -> None:
        """Add a segment, merged with the small ones before it; one that stands alone is merged with none."""
        size = self._total([profile for _, profile in members])
        alone = self._is_alone(members[0][1])
        while not alone and segments and segments[-1].size < _GROWTH * size:
            if self._is_alone(segments[-1].profiles[0]):
                break
            size += segments[-1].size
            members = segments.pop().members() + members
        segments.append(self._segment(members))

    def _is_alone(self, profile: P) -> bool:
        return self._size is not None and self._size(profile) >= ALONE

    def _compacted(self, segment: _Segment[P]) -> tuple[_Segment[P], ...]:
        """Rebuild a segment of which too much is masked; an empty one vanishes."""
        if segment.masked * _GROWTH < len(segment.numbers):
            return (segment,)
        members = segment.members()
        return (self._segment(members),) if members else ()

    def _segment(self, members: list[tuple[int, P]]) -> _Segment[P]:
        profiles = [profile for _, profile in members]
        numbers = np.fromiter((number for number, _ in members), np.int64, len(members))
        alive = np.ones(len(members), np.bool_)
        return _Segment(self._build(profiles), numbers, profiles, alive, 0, self._total(profiles))

    def _total(self, profiles: Collection[P]) -> int:
        return len(profiles) if self._size is None else sum(map(self._size, profiles))
