"""What came to a gateway lately, with the profiles that it matched: whoever could not keep up is served from here.

Else every slow client would make a source read and match its log again, and a burst that a gateway has already
taken would come a second time, once per client.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterable, Mapping

from semcast.model.message import ProfileText

Found = dict[int, bytes]


class _Numbers:
    """Ascending; mostly the largest comes and the smallest goes, both at once."""

    __slots__ = ("_begin", "_held")

    def __init__(self) -> None:
        self._held: list[int] = []
        self._begin = 0
        """What stands before is gone: moving all others up for each took longer than all else."""

    def __len__(self) -> int:
        return len(self._held) - self._begin

    def add(self, number: int) -> None:
        if not self._held or number > self._held[-1]:
            self._held.append(number)
        else:
            insort(self._held, number, self._begin)

    def remove(self, number: int) -> None:
        place = bisect_left(self._held, number, self._begin)
        if place > self._begin:
            del self._held[place]
            return
        self._begin += 1
        if self._begin > 1024 and 2 * self._begin > len(self._held):
            del self._held[: self._begin]
            self._begin = 0

    def between(self, first: int, through: int, most: int) -> tuple[list[int], int]:
        """Those in (first, through], at most so many, and the position through which that is all."""
        begin = bisect_right(self._held, first, self._begin)
        end = bisect_right(self._held, through, begin)
        if end - begin > most:
            end = begin + max(0, most)
            through = self._held[end] - 1
        return self._held[begin:end], through


class Recent:
    """Messages of all sources, the newest of them, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._order: deque[tuple[str, int]] = deque()
        self._bodies: dict[tuple[str, int], tuple[bytes, tuple[ProfileText, ...]]] = {}
        self._numbers: dict[tuple[str, ProfileText], _Numbers] = {}
        self._gone: dict[str, int] = {}
        """Per source: what came through here may have been let go."""
        self._since: dict[ProfileText, Mapping[str, int]] = {}

    def __len__(self) -> int:
        return len(self._bodies)

    def watch(self, profile: ProfileText, tops: Mapping[str, int]) -> None:
        """It is matched from now on; ``tops`` say per source what had come, or was heard of, before."""
        self._since[profile] = tops

    def unwatch(self, profile: ProfileText) -> None:
        """It is not matched any more."""
        del self._since[profile]

    def put(self, source: str, number: int, body: bytes, profiles: Iterable[ProfileText]) -> None:
        """A message that has come for the first time."""
        held = tuple(profiles)
        self._bodies[source, number] = body, held
        self._order.append((source, number))
        for profile in held:
            numbers = self._numbers.get((source, profile))
            if numbers is None:
                numbers = self._numbers[source, profile] = _Numbers()
            numbers.add(number)
        self._bytes += len(body)
        while self._bytes > self._most:
            self._let_go()

    def _let_go(self) -> None:
        source, number = self._order.popleft()
        body, profiles = self._bodies.pop((source, number))
        self._bytes -= len(body)
        self._gone[source] = max(number, self._gone.get(source, 0))
        for profile in profiles:
            numbers = self._numbers[source, profile]
            numbers.remove(number)
            if not numbers:
                del self._numbers[source, profile]

    def has(self, source: str, profile: ProfileText, first: int) -> bool:
        """Is everything here that has come of a source behind ``first`` and matches?"""
        since = self._since.get(profile)
        return since is not None and first >= max(since.get(source, 0), self._gone.get(source, 0))

    def find(self, source: str, profile: ProfileText, first: int, through: int, most: int) -> tuple[Found, int]:
        """What matches in (first, through], at most so many, and the position through which that is all."""
        numbers = self._numbers.get((source, profile))
        if numbers is None:
            return {}, through
        found, through = numbers.between(first, through, most)
        return {number: self._bodies[source, number][0] for number in found}, through
