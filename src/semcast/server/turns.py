"""How long the event loop works without coming round.

While it works, nothing else happens: no heartbeat leaves, no message is read. A timer notices how late it is, and how
much of that time the loop's own thread was computing: a machine that is busy with others does not count.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from weakref import WeakKeyDictionary

_EVERY_S = 0.02
EDGES_S = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Upper edges of the histogram's buckets."""

_known: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


class Turns:
    """Turns of one event loop that kept others waiting, by their CPU time."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.total_s = 0.0
        self.counts = [0] * (len(EDGES_S) + 1)
        self._loop = asyncio.get_running_loop()
        self._wait()

    @staticmethod
    def of_this_loop() -> Turns:
        """All members of one process share a loop, and so its turns."""
        loop = asyncio.get_running_loop()
        if loop not in _known:
            _known[loop] = Turns()
        return _known[loop]

    def _wait(self) -> None:
        self._due, self._cpu = self._loop.time() + _EVERY_S, time.thread_time()
        self._loop.call_at(self._due, self._came_round)

    def _came_round(self) -> None:
        late_s = max(0.0, min(self._loop.time() - self._due, time.thread_time() - self._cpu))
        self.counts[bisect_left(EDGES_S, late_s)] += 1
        self.total_s += late_s
        self.longest_s = max(self.longest_s, late_s)
        self._wait()
