"""Which of many profiles covers a new one, without comparing it with each.

A profile that covers another matches every message that the other matches. So the new profile's *witnesses*, rows
that it matches for certain, go through a matcher of all known profiles: only those that match every one of them
can cover it, and ``covers`` decides among these, until one is found. A profile without a witness counts as
uncovered, which is always safe.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from semcast.matching.languages import Language
from semcast.model import SemcastError

if TYPE_CHECKING:
    import pyarrow as pa

    from semcast.matching.matchers import Aside, Matcher
    from semcast.matching.matches import Matches

P = TypeVar("P", bound=Hashable)
Name = TypeVar("Name", bound=Hashable)
Places = NDArray[np.integer]

_ROWS = 16  # matched at a time at first: of nested profiles each row may match all, and the pairs take memory
_MOST_ROWS = 512
_MANY_PAIRS = 1 << 21
_MANY = 256  # candidates: where there are so many, the one that covers is likely to cover others too
_MOST_WIDE = 1_024


class CoverIndex(Generic[P, Name]):
    """Profiles of one language by name; ``find`` gives one that covers another.

    Equal profiles are indexed once. Where a profile has a witness, ``find`` finds a coverer if, and only if,
    ``Language.covers`` says so of any profile in the index. O(matching of the witnesses + candidates) per profile.
    """

    def __init__(self, language: Language[P], aside: Aside | None = None) -> None:
        """``aside`` runs a function in a thread: with it no change of a few profiles takes the caller long."""
        self._language = language
        self._matcher: Matcher[P] = language.matcher([], aside=aside)
        self._profiles: dict[Name, P] = {}
        self._places: dict[P, int] = {}
        self._names: dict[int, tuple[Name, ...]] = {}
        """By place. Equal profiles are few, where names stand for texts."""
        self._wide = _Wide(language)

    def __len__(self) -> int:
        return len(self._profiles)

    def __contains__(self, name: Name) -> bool:
        return name in self._profiles

    def add(self, name: Name, profile: P) -> None:
        """Add a profile, or replace what the name stood for."""
        self.extend([(name, profile)])

    def extend(self, items: Iterable[tuple[Name, P]]) -> None:
        """Add many, or replace what their names stood for."""
        added = dict(items)
        for name in added:
            if name in self._profiles:
                self.remove(name)
        new = list(dict.fromkeys(profile for profile in added.values() if profile not in self._places))
        for profile, place in zip(new, self._matcher.extend(new), strict=True):
            self._places[profile], self._names[place] = place, ()
        for name, profile in added.items():
            self._names[self._places[profile]] += (name,)
        self._profiles |= added

    def remove(self, name: Name) -> None:
        """Remove a profile; SemcastError if there is none of that name."""
        if name not in self._profiles:
            raise SemcastError(f"there is no profile called {name!r}")
        profile = self._profiles.pop(name)
        place = self._places[profile]
        self._names[place] = tuple(other for other in self._names[place] if other != name)
        if not self._names[place]:
            del self._places[profile], self._names[place]
            self._matcher.remove(place)
            self._wide.discard(place)

    def find(self, profiles: Sequence[P], without: Collection[Name] = ()) -> list[Name | None]:
        """Per profile the name of one that covers it, and is not in ``without``; None where none is found."""
        barred = frozenset(without)
        found = [self._equal(profile, barred) for profile in profiles]
        open_ = [at for at, name in enumerate(found) if name is None]
        if open_ and self._places:
            rows, owners = self._language.witnesses_of([profiles[at] for at in open_])
            groups = [(open_[owner], len(list(group))) for owner, group in groupby(owners)]
            size, begin = _ROWS, 0
            while groups:
                taken = _first(groups, size)
                count = sum(length for _, length in groups[:taken])
                pairs = self._search(profiles, rows.slice(begin, count), groups[:taken], barred, found)
                begin, groups = begin + count, groups[taken:]
                size = max(size // 2, 1) if pairs > _MANY_PAIRS else min(2 * size, _MOST_ROWS)
        return found

    def _search(
        self,
        profiles: Sequence[P],
        rows: pa.RecordBatch,
        groups: Sequence[tuple[int, int]],
        barred: frozenset[Name],
        found: list[Name | None],
    ) -> int:
        """Look for what covers the profiles of some rows, and return how many pairs were matched.

        ``groups``: places of profiles, each with how many rows it has. The few that have covered much come first.
        """
        if self._wide:
            places = self._wide.places
            for at, parts in _parts(self._wide.match(rows), groups):
                found[at] = self._coverer(profiles[at], (places[number] for number in _common(parts)), barred)
            open_ = np.repeat([found[at] is None for at, _ in groups], [length for _, length in groups])
            groups = [(at, length) for at, length in groups if found[at] is None]
            if not groups:
                return 0
            rows = rows if open_.all() else rows.take(np.flatnonzero(open_))
        matches = self._matcher.match(rows)
        for at, parts in _parts(matches, groups):
            name = found[at] = self._coverer(profiles[at], _common(parts), barred)
            if name is not None and len(parts[0]) > _MANY:
                profile = self._profiles[name]
                self._wide.add(self._places[profile], profile)
        return len(matches)

    def _equal(self, profile: P, barred: frozenset[Name]) -> Name | None:
        place = self._places.get(profile)
        return None if place is None else self._allowed(place, barred)

    def _allowed(self, place: int, barred: frozenset[Name]) -> Name | None:
        return next((name for name in self._names[place] if name not in barred), None)

    def _coverer(self, profile: P, places: Iterable[int], barred: frozenset[Name]) -> Name | None:
        for place in places:
            name = self._allowed(place, barred)
            if name is not None and self._language.covers(self._profiles[name], profile):
                return name
        return None


class _Wide(Generic[P]):
    """Profiles that were found to cover one of which there were many candidates.

    Where profiles are nested, ``price > 1``, ``price > 2``, …, each witness is matched by half of them. A few of them
    cover nearly all others: these are asked first, which takes a thousandth of the time.
    """

    def __init__(self, language: Language[P]) -> None:
        self._matcher = language.matcher([])
        self._numbers: dict[int, int] = {}
        self.places: dict[int, int] = {}
        """By the numbers that ``match`` gives: the places in the whole index."""

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, place: int, profile: P) -> None:
        if place not in self._numbers and len(self._numbers) < _MOST_WIDE:
            number = self._numbers[place] = self._matcher.add(profile)
            self.places[number] = place

    def discard(self, place: int) -> None:
        number = self._numbers.pop(place, None)
        if number is not None:
            self._matcher.remove(number)
            del self.places[number]

    def match(self, rows: pa.RecordBatch) -> Matches:
        return self._matcher.match(rows)


def _first(groups: Sequence[tuple[int, int]], size: int) -> int:
    """How many of the groups, but at least one, have together at most ``size`` rows."""
    total = 0
    for at, (_, count) in enumerate(groups):
        total += count
        if at and total > size:
            return at
    return len(groups)


def _parts(matches: Matches, groups: Sequence[tuple[int, int]]) -> Iterator[tuple[int, list[Places]]]:
    """For each profile what its rows match, the row with the fewest first."""
    ends, row = matches.indptr.tolist(), 0
    for at, length in groups:
        parts = [matches.indices[ends[number] : ends[number + 1]] for number in range(row, row + length)]
        yield at, sorted(parts, key=len)
        row += length


def _common(parts: Sequence[Places]) -> Iterator[int]:
    """What is in all parts, a few at a time, since the first is often enough."""
    fewest, others = parts[0], parts[1:]
    begin, size = 0, 64
    while begin < len(fewest):
        chunk = fewest[begin : begin + size]
        for part in others:  # ascending, and none is empty where the one with the fewest is not
            chunk = chunk[part[np.minimum(np.searchsorted(part, chunk), len(part) - 1)] == chunk]
        yield from chunk.tolist()
        begin, size = begin + size, 4 * size
