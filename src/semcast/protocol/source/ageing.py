"""How far a log holds only what is older than so many seconds, without a time per message."""

from __future__ import annotations

from collections import deque

_MARKS = 16
"""In the time that is looked back on: so exact is the answer."""


class Ageing:
    """Marks of where a log ended, now and then; a log that is opened anew counts as young as the first of them."""

    def __init__(self, seconds: float, end: int) -> None:
        self.old = end
        """Everything through here is older than ``seconds``."""
        self._seconds = seconds
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, end: int, now: float) -> None:
        if not self._marks or now - self._marks[-1][0] >= self._seconds / _MARKS:
            self._marks.append((now, end))
        while self._marks and now - self._marks[0][0] >= self._seconds:
            self.old = self._marks.popleft()[1]
