"""What a client has, in one line: it can go on with that at any gateway, and after any crash.

``b0:17,b1:4`` says everything through 17 of b0 and 4 of b1. Where messages come in no order, what is had above that
follows as distances: ``b0:17~2.1.5`` has 19, 20 and 25 too. A session that was not named by its client stands behind
a semicolon. All of it may stand in a URL as it is, if names may.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from semcast.model import SemcastError

_MOST_BYTES = 64 << 10


@dataclass(frozen=True)
class Cursor:
    """Per source: all through a number, and what is had above it."""

    through: dict[str, int] = field(default_factory=dict)
    have: dict[str, tuple[int, ...]] = field(default_factory=dict)
    session: str = ""

    @staticmethod
    def read(text: str) -> Cursor:
        """SemcastError where it is none."""
        places, _, session = text.partition(";")
        through: dict[str, int] = {}
        have: dict[str, tuple[int, ...]] = {}
        if len(text) > _MOST_BYTES:
            raise SemcastError(f"a cursor of {len(text):,} characters; {_MOST_BYTES:,} are the most")
        for part in filter(None, places.split(",")):
            source, _, numbers = part.rpartition(":")
            first, _, distances = numbers.partition("~")
            if not source or not all(number.isdecimal() for number in (first, *filter(None, distances.split(".")))):
                raise SemcastError(f"{part!r} is no part of a cursor, which looks like b0:17 or b0:17,b1:4")
            through[source] = int(first)
            have[source] = tuple(accumulate(map(int, filter(None, distances.split("."))), initial=int(first)))[1:]
        return Cursor(through, {source: numbers for source, numbers in have.items() if numbers}, session)

    def __str__(self) -> str:
        return written(self.through, self.have, self.session)


def written(through: Mapping[str, int], have: Mapping[str, Collection[int]], session: str = "") -> str:
    """A cursor's line; sources in the order of their names."""
    parts = []
    for source in sorted(through.keys() | have.keys()):
        first = through.get(source, 0)
        above = sorted(number for number in have.get(source, ()) if number > first)
        distances = ".".join(str(number - before) for before, number in zip([first, *above], above, strict=False))
        parts.append(f"{source}:{first}~{distances}" if distances else f"{source}:{first}")
    return ",".join(parts) + (f";{session}" if session else "")
