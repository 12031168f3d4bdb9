"""What was seen while messages were matched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from semcast.matching.matchers import Read

FIRST_SHOWN = 5


@dataclass
class Tally:
    """What a task, or all of them, saw.

    ``bad`` rows are no messages (no JSON, a CSV row of another width), of which ``too_long`` are lines beyond
    MAX_LINE. ``unreadable`` messages have a payload that cannot be read, ``missing`` ones have none; both match
    nothing.
    """

    messages: int = 0
    matched: int = 0
    pairs: int = 0
    bad: int = 0
    first_bad: list[int] = field(default_factory=list)
    too_long: int = 0
    unfit: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0
    first_unreadable: list[int] = field(default_factory=list)
    unreadable_why: dict[str, int] = field(default_factory=dict)
    missing: int = 0

    def add(self, other: Tally) -> None:
        self.messages += other.messages
        self.matched += other.matched
        self.pairs += other.pairs
        self.bad += other.bad
        self.first_bad = sorted(self.first_bad + other.first_bad)[:FIRST_SHOWN]
        self.too_long += other.too_long
        self.unfit = _sum(self.unfit, other.unfit)
        self.unreadable += other.unreadable
        self.first_unreadable = sorted(self.first_unreadable + other.first_unreadable)[:FIRST_SHOWN]
        self.unreadable_why = _sum(self.unreadable_why, other.unreadable_why)
        self.missing += other.missing

    def saw(self, first: int, rows: int, bad: list[int], read: Read) -> None:
        """Count a batch that begins at row ``first``; a bad row is without a payload, and is not missing one."""
        why = Counter(read.unreadable.values())
        self.add(
            Tally(
                messages=rows,
                bad=len(bad),
                first_bad=[first + at for at in bad[:FIRST_SHOWN]],
                unreadable=len(read.unreadable),
                first_unreadable=[first + at for at in sorted(read.unreadable)[:FIRST_SHOWN]],
                unreadable_why=dict(why),
                missing=max(0, read.missing - len(bad)),
            )
        )


def _sum(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(a) + Counter(b)).items()))
