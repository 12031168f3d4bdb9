"""What was found for topics seen before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Found = NDArray[np.int64]
_ENTRY = 32  # an entry's own weight, in the unit of an index: the topic's text, the array, their places


class Cache:
    """Topics and what they match, up to a weight; the longest unused go first.

    Two generations: when the young one holds half the weight it becomes the old one, and the old one is
    forgotten. That costs one look-up more than a plain dict; an exact order of use would cost a write per hit.
    """

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self.clear()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def clear(self) -> None:
        self._young: dict[str, Found] = {}
        self._old: dict[str, Found] = {}
        self._weight = 0

    def get(self, topic: str) -> Found | None:
        found = self._young.get(topic)
        if found is None and (found := self._old.pop(topic, None)) is not None:
            self.put(topic, found)
        return found

    def put(self, topic: str, found: Found) -> None:
        weight = _ENTRY + len(topic) // 8 + len(found)
        if weight > self._half:
            return
        if self._weight + weight > self._half:
            self._old, self._young, self._weight = self._young, {}, 0
        self._young[topic] = found
        self._weight += weight
