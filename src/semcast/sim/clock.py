"""Time that passes only when something happens, and chance that repeats.

The agenda is the one true clock; every party reads a clock of its own, which may run ahead, behind, fast or slow.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import numpy as np

_BLOCK = 512


class Agenda:
    """What is to happen, in order of time; what falls on one moment happens in the order in which it was put in."""

    __slots__ = ("_heap", "_put", "now")

    def __init__(self) -> None:
        self.now = 0.0
        """True time, in seconds."""
        self._heap: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._put = 0

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, when: float, action: Callable[[Any], None], what: Any = None) -> None:
        """Call ``action(what)`` at ``when``; the past is now."""
        self._put += 1
        heappush(self._heap, (when if when > self.now else self.now, self._put, action, what))

    def run(self, until: float) -> None:
        """Let everything happen through ``until``; what is put in meanwhile too."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, action, what = heappop(heap)
            action(what)
        self.now = max(self.now, until)


class Clock:
    """A party's own clock: it drifts and may jump ahead, and never goes back."""

    __slots__ = ("_own", "_rate", "_true")

    def __init__(self, offset_s: float = 0.0, rate: float = 1.0) -> None:
        self._true, self._own, self._rate = 0.0, offset_s, rate

    def read(self, true: float) -> float:
        return self._own + (true - self._true) * self._rate

    def wait(self, own_s: float) -> float:
        """How long, in true seconds, until this clock has gone on by ``own_s``."""
        return own_s / self._rate

    def skew(self, true: float, rate: float, jump_s: float = 0.0) -> None:
        """From now on run at ``rate`` seconds a second, after a jump ahead."""
        self._own, self._true = self.read(true) + max(0.0, jump_s), true
        self._rate = rate


class Chance:
    """Uniform numbers from [0, 1), drawn in blocks: one at a time numpy takes ten times as long."""

    __slots__ = ("_left", "_rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._left: list[float] = []

    def __call__(self) -> float:
        if not self._left:
            self._left = self._rng.random(_BLOCK).tolist()
        return self._left.pop()

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self()

    def happens(self, probability: float) -> bool:
        """Draws nothing where there is no doubt."""
        return probability > 0 and (probability >= 1 or self() < probability)


def chances(seed: int, *concerns: str) -> dict[str, np.random.Generator]:
    """A generator per concern: what one draws never shifts what another will."""
    return {
        name: np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *name.encode()]))) for name in concerns
    }
