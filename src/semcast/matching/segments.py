"""A matcher that can change while it is used.

Engines are immutable: a change builds new ones aside and swaps them in by one assignment, so a batch
that is being matched sees the profiles of one moment. Profiles sit in segments of falling size (as in
a log-structured merge tree): adding one profile to a million rebuilds only the small segments, and
removed profiles are masked until they are a quarter of their segment. A profile with very many values
has a segment of its own, whose engine may have been built before, elsewhere.

A caller that must not wait, an event loop, says how to run work elsewhere (``aside``). What it added is
then indexed in small segments within its own turn, and larger ones are merged and cleared of removed
profiles elsewhere, from a snapshot: the old segments answer until the new one takes their place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from threading import Lock
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.matching.matchers import Aside
from semcast.matching.matches import Matches
from semcast.model import SemcastError

P = TypeVar("P")
_GROWTH = 4  # a segment is merged into the one before it unless that is this much larger
_QUICK = 2_000  # profiles: more are never indexed within a caller's turn for the sake of a merge
_MANY = 16  # segments behind a rebuild: with more, each match costs more than a long turn now and then
ALONE = 16
"""Profiles of this size and above have a segment of their own: no other one has them indexed again."""


class Engine(Protocol):
    """An immutable matcher of a fixed list of profiles."""

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches: ...

    def prepare(self) -> None:
        """Do now what the first match would do once for all that follow."""


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

    @property
    def is_worn(self) -> bool:
        """Is so much of it masked that building it again pays?"""
        return self.masked * _GROWTH >= len(self.numbers)

    def members(self) -> list[tuple[int, P]]:
        found = zip(self.numbers.tolist(), self.profiles, self.alive.tolist(), strict=True)
        return [(number, profile) for number, profile, alive in found if alive]


class SegmentedMatcher(Generic[P]):
    """Match batches against profiles that come and go; indices are never reused.

    There are O(log n) segments, and at most ``_MANY`` more while a rebuild is under way.
    """

    def __init__(
        self,
        build: Callable[[Sequence[P]], Engine],
        profiles: Sequence[P] = (),
        size: Callable[[P], int] | None = None,
        aside: Aside | None = None,
        quick: Callable[[Sequence[P]], bool] | None = None,
    ) -> None:
        """``size`` of a profile: what it adds to the work of building an engine; all are alike without it.

        ``aside`` runs a function elsewhere, soon: all that is not ``quick`` to build is then merged there. Without
        it everything is done within the calls. What is added at once is indexed by the next match in any case.
        """
        self._build = build
        self._size = size
        self._quick = quick
        self._aside = aside
        self._lock = Lock()
        self._segments: tuple[_Segment[P], ...] = ()
        self._waiting: dict[int, P] = {}
        self._next = 0
        self._rebuilding = False  # from handing it over until nothing more is due
        self._fixed = 0  # segments of profiles below this number are being rebuilt: nobody else merges them
        self.extend(profiles)
        self._settle()

    def __len__(self) -> int:
        with self._lock:
            return sum(len(s.numbers) - s.masked for s in self._segments) + len(self._waiting)

    def __getstate__(self) -> dict[str, object]:
        carried = {"_build": self._build, "_size": self._size, "_quick": self._quick}
        return {**carried, "_segments": self._settle(), "_next": self._next}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock, self._waiting = Lock(), {}
        self._aside, self._rebuilding, self._fixed = None, False, 0

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

    def remove(self, index: int) -> P:
        """Remove a profile and return it; it is not matched from the next batch on."""
        with self._lock:
            if index in self._waiting:
                return self._waiting.pop(index)
            removed = self._mask(index)
            due = self._is_due()
        self._hand_over(due)
        return removed

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

    # -- within the caller's turn

    def _settle(self) -> tuple[_Segment[P], ...]:
        """Take what waits into a new segment, merged with the small ones before it."""
        with self._lock:
            if not self._waiting:
                return self._segments
            settled = list(self._segments)
            for alone, run in groupby(self._waiting.items(), lambda item: self._is_alone(item[1])):
                for members in ([item] for item in run) if alone else [list(run)]:
                    self._append(settled, members)
            segments = self._segments = tuple(settled)
            self._waiting = {}
            due = self._is_due()
        self._hand_over(due)
        return segments

    def _append(self, segments: list[_Segment[P]], members: list[tuple[int, P]]) -> None:
        """Add a segment, merged with the small ones before it; one that stands alone is merged with none."""
        size = self._total([profile for _, profile in members])
        alone = self._is_alone(members[0][1])
        while not alone and segments and self._is_small(segments[-1], size):
            if not self._may_merge(segments, members):
                break
            size += segments[-1].size
            members = segments.pop().members() + members
        segments.append(self._segment(members))

    def _may_merge(self, segments: list[_Segment[P]], members: list[tuple[int, P]]) -> bool:
        """May the last segment be merged with ``members`` here and now?"""
        last = segments[-1]
        if last.numbers[0] < self._fixed:
            return False
        if self._is_quick(last.profiles, members):
            return True
        # Where rebuilds do not keep up, long turns are better than ever more segments for every match.
        return sum(bool(segment.numbers[0] >= self._fixed) for segment in segments) > _MANY

    def _is_quick(self, profiles: list[P], others: list[tuple[int, P]]) -> bool:
        """Is an engine of all these built within a few milliseconds? Without ``aside`` it does not matter."""
        if self._aside is None:
            return True
        if len(profiles) + len(others) > _QUICK:
            return False
        return self._quick is None or self._quick([*profiles, *(profile for _, profile in others)])

    def _mask(self, index: int) -> P:
        for i, segment in enumerate(self._segments):
            at = int(np.searchsorted(segment.numbers, index))
            if at < len(segment.numbers) and segment.numbers[at] == index and segment.alive[at]:
                alive = segment.alive.copy()
                alive[at] = False
                changed = segment._replace(alive=alive, masked=segment.masked + 1)
                self._segments = (*self._segments[:i], *self._compacted(changed), *self._segments[i + 1 :])
                return segment.profiles[at]
        raise SemcastError(f"there is no profile with index {index}")

    def _compacted(self, segment: _Segment[P]) -> tuple[_Segment[P], ...]:
        """Rebuild a segment of which too much is masked, if that may be done here; an empty one vanishes."""
        if segment.masked == len(segment.numbers):
            return ()
        if not segment.is_worn or segment.numbers[0] < self._fixed or not self._is_quick(segment.profiles, []):
            return (segment,)
        return (self._segment(segment.members()),)

    # -- elsewhere

    def _is_due(self) -> bool:
        """Is there something to rebuild elsewhere, and nobody at it? The caller then hands it over, unlocked."""
        if self._aside is None or self._rebuilding:
            return False
        self._rebuilding = self._next_rebuild() is not None
        return self._rebuilding

    def _hand_over(self, due: bool) -> None:
        if due:
            assert self._aside is not None
            try:
                self._aside(self._rebuild)
            except BaseException:
                self._rebuilding = False
                raise

    def _next_rebuild(self) -> slice | None:
        """Neighbours that are too much alike in size, to be merged; else a segment of which too much is masked."""
        segments = self._segments
        for at in range(len(segments) - 2, -1, -1):
            begin, size = at + 1, segments[at + 1].size
            if self._is_alone(segments[begin].profiles[0]):
                continue
            while begin and self._is_small(segments[begin - 1], size):
                begin -= 1
                size += segments[begin].size
            if begin <= at:
                return slice(begin, at + 2)
        return next((slice(at, at + 1) for at, segment in enumerate(segments) if segment.is_worn), None)

    def _rebuild(self) -> None:
        """Rebuild what is due, one after the other, until nothing is. In any thread."""
        try:
            while old := self._take():
                members = [member for segment in old for member in segment.members()]
                new = self._segment(members) if members else None
                if new is not None:
                    new.engine.prepare()
                self._swap(old, new)
        except BaseException:
            with self._lock:
                self._rebuilding, self._fixed = False, 0
            raise

    def _take(self) -> tuple[_Segment[P], ...]:
        with self._lock:
            chosen = self._next_rebuild()
            if chosen is None:
                self._rebuilding = False
                return ()
            old = self._segments[chosen]
            self._fixed = int(old[-1].numbers[-1]) + 1
            return old

    def _swap(self, old: tuple[_Segment[P], ...], new: _Segment[P] | None) -> None:
        """Put ``new`` in the place of ``old``, without what was removed since ``old`` was taken."""
        low, high = old[0].numbers[0], old[-1].numbers[-1]
        with self._lock:
            # A segment that changed since has the same numbers; one whose profiles are all gone has vanished.
            current = {id(segment.numbers): segment.alive for segment in self._segments}
            alive = np.concatenate([current.get(id(s.numbers), np.zeros_like(s.alive))[s.alive] for s in old])
            before = [segment for segment in self._segments if segment.numbers[-1] < low]
            behind = [segment for segment in self._segments if segment.numbers[0] > high]
            left = int(alive.sum())
            middle = [new._replace(alive=alive, masked=len(alive) - left)] if new is not None and left else []
            self._segments = (*before, *middle, *behind)
            self._fixed = 0

    # -- segments

    def _is_small(self, segment: _Segment[P], size: int) -> bool:
        """Is ``segment`` to be merged with one of this size that follows it?"""
        return segment.size < _GROWTH * size and not self._is_alone(segment.profiles[0])

    def _is_alone(self, profile: P) -> bool:
        return self._size is not None and self._size(profile) >= ALONE

    def _segment(self, members: list[tuple[int, P]]) -> _Segment[P]:
        profiles = [profile for _, profile in members]
        numbers = np.fromiter((number for number, _ in members), np.int64, len(members))
        alive = np.ones(len(members), np.bool_)
        return _Segment(self._build(profiles), numbers, profiles, alive, 0, self._total(profiles))

    def _total(self, profiles: Collection[P]) -> int:
        return len(profiles) if self._size is None else sum(map(self._size, profiles))
