"""Timing that survives a busy machine: interleaved rounds, the best of each, costs by slope.

A neighbour that takes a core, or the cache, can only make a run slower, so the best of the rounds is the
nearest to the truth; and since contenders take turns, a busy minute hits all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from semcast.model import SemcastError

Keys = NDArray[np.int64]
Say = Callable[[str], None]
_GROWTH = 4
_DROWNED = 0.1  # of a run's time: a smaller difference between two runs is noise

Clocks = Mapping[str, Callable[[], float]]


class Contender(Protocol):
    """Something that matches messages: our engine, or a peer with one of its plans."""

    peer: str
    plan: str

    def run(self, count: int) -> int | None:
        """Match the first ``count`` messages; return the number of pairs where it is known at no cost."""
        ...

    def keys(self, count: int) -> Keys:
        """The pairs of the first ``count`` messages, each as row · profiles + profile, ascending."""
        ...


class Mismatch(SemcastError):
    """Two contenders disagree about what matches."""


@dataclass
class Lap:
    """A contender's times in a race: the best of all rounds, by clock and number of messages.

    With ``small`` = 0 the cost is that of ``large`` messages, start-up and all; else it is the slope
    between both, so that start-up cancels.
    """

    contender: Contender
    small: int
    large: int
    compared: int = 0
    pairs: int = 0
    best: dict[tuple[str, int], float] = field(default_factory=dict)

    def cost(self, clock: str) -> float | None:
        """Seconds per message; None where noise was larger than what was to be measured."""
        seconds = self.best[clock, self.large] - (self.best[clock, self.small] if self.small else 0.0)
        drowned = seconds <= _DROWNED * self.best[clock, self.large]
        return None if drowned else seconds / (self.large - self.small)

    def record(self, clocks: Clocks) -> dict[str, Any]:
        return {
            "peer": self.contender.peer,
            "plan": self.contender.plan,
            "messages": [self.small, self.large],
            "by_slope": self.small > 0,
            "compared": {"messages": self.compared, "pairs": self.pairs, "equal": True},
            **{f"us_per_message_{clock}": _micros(self.cost(clock)) for clock in clocks},
        }


def _micros(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e6, 4)


def compare(ours: Contender, peer: Contender, count: int, profiles: int) -> int:
    """Return the number of pairs that both find in the first ``count`` messages; raise Mismatch if they differ."""
    expected, found = ours.keys(count), peer.keys(count)
    if np.array_equal(expected, found):
        return len(expected)
    wrong = np.setxor1d(expected, found)
    row, profile = divmod(int(wrong[0] if len(wrong) else 0), profiles)
    raise Mismatch(
        f"{peer.peer} ({peer.plan}) finds {len(found):,} matches in {count:,} messages and semcast {len(expected):,}; "
        f"{len(wrong):,} are found by one only, first message {row} with profile {profile}"
    )


def sized(contender: Contender, clock: Callable[[], float], probe: int, seconds: float, most: int) -> Lap:
    """A lap whose larger run takes about ``seconds`` beyond its start-up, and at most ``most`` messages.

    Found by longer and longer runs from ``probe`` messages on, which also warm the contender up.
    """
    large = min(probe, most)
    while large < most:
        taken = _seconds(contender, clock, large) - _seconds(contender, clock, large // 8)
        if taken > seconds / _GROWTH:
            large = min(most, max(large, int(large * seconds / taken)))
            break
        large = min(most, large * _GROWTH)
    return Lap(contender, large // 8, large)


def _seconds(contender: Contender, clock: Callable[[], float], count: int) -> float:
    """The time of a second run: the first may build and load what later ones find."""
    contender.run(count)
    begin = clock()
    contender.run(count)
    return clock() - begin


def race(laps: Sequence[Lap], clocks: Clocks, rounds: int, say: Say) -> None:
    """Run all laps in turn, ``rounds`` times, and keep the best time of each."""
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}")
        for lap in laps:
            for count in (lap.small, lap.large):
                if count:
                    _time(lap, count, clocks)
    _same_pairs(laps)


def _time(lap: Lap, count: int, clocks: Clocks) -> None:
    begin = {name: clock() for name, clock in clocks.items()}
    found = lap.contender.run(count)
    for name, clock in clocks.items():
        seconds = clock() - begin[name]
        lap.best[name, count] = min(seconds, lap.best.get((name, count), seconds))
    if found is not None:
        lap.best["pairs", count] = found


def _same_pairs(laps: Sequence[Lap]) -> None:
    """Where two contenders ran over the same messages, they must have found as many pairs."""
    seen: dict[int, tuple[float, Contender]] = {}
    for lap in laps:
        for (clock, count), found in lap.best.items():
            if clock == "pairs":
                number, other = seen.setdefault(count, (found, lap.contender))
                if number != found:
                    raise Mismatch(
                        f"in {count:,} messages {other.peer} ({other.plan}) finds {number:,.0f} matches "
                        f"and {lap.contender.peer} ({lap.contender.plan}) {found:,.0f}"
                    )


def in_process() -> Clocks:
    return {"cpu": time.process_time}


def with_children() -> Clocks:
    """The wall clock and, where /proc tells it, the CPU time of this process and all below it."""
    clocks: dict[str, Callable[[], float]] = {"wall": time.perf_counter}
    if Path("/proc/self/stat").exists():
        clocks["cpu"] = _tree_seconds
    return clocks


def _tree_seconds() -> float:
    """CPU seconds of this process and its descendants, those that have ended among them."""
    parents: dict[int, tuple[int, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now; its father has its time
            continue
        parents[int(stat.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    tree = {os.getpid()}
    while more := {pid for pid, (father, _) in parents.items() if father in tree} - tree:
        tree |= more
    return sum(parents[pid][1] for pid in tree) / os.sysconf("SC_CLK_TCK")
