"""From counters that only grow to rates, and what they were over time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

Counter = tuple[str, str]
"""What is counted, and of whom. Who asks for a kind alone asks for all of it together."""

_WINDOW_S = 6.0
"""Brokers report once a second, and not all at once: shorter windows would show that and little else."""
_KEPT = 1800
_Grown = dict[Counter | str, float]


class Rates:
    """Counters over a short window; one that goes back was begun anew, and counts from there."""

    def __init__(self, window_s: float = _WINDOW_S) -> None:
        self._window_s = window_s
        self._last: dict[Counter, float] = {}
        self._grown: _Grown = {}
        self._seen: deque[tuple[float, _Grown]] = deque([(0.0, {})])

    def take(self, at: float, counters: Mapping[Counter, float]) -> None:
        """Counters as they are at a moment; what is seen for the first time has not grown, what is missing neither."""
        for counter, value in counters.items():
            before = self._last.get(counter, value)
            step = value - before if value >= before else value
            for name in (counter, counter[0]):
                self._grown[name] = self._grown.get(name, 0.0) + step
            self._last[counter] = value
        if not self._seen[0][1]:
            self._seen.clear()
        self._seen.append((at, dict(self._grown)))
        while len(self._seen) > 2 and at - self._seen[1][0] >= self._window_s:
            self._seen.popleft()

    def growth(self, of: Counter | str) -> float:
        """By how much it grew over the window."""
        (_, before), (_, now) = self._seen[0], self._seen[-1]
        return now.get(of, 0.0) - before.get(of, 0.0)

    def per_second(self, of: Counter | str) -> float:
        passed = self._seen[-1][0] - self._seen[0][0]
        return self.growth(of) / passed if passed > 0 else 0.0


class History:
    """Points in time, the oldest first; half an hour of them."""

    def __init__(self) -> None:
        self.points: deque[dict[str, Any]] = deque(maxlen=_KEPT)

    def add(self, point: dict[str, Any]) -> None:
        self.points.append(point)
