"""Messages as most clients publish them most of the time, read many at once: QoS 0, no properties, a topic seen before.

What is not exactly that is left to the codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

PLAIN = 0x30
"""The first byte of a PUBLISH with QoS 0 that is neither retained nor sent again."""

Place = TypeVar("Place")


def plain_run(data: bytes, v5: bool, known: Mapping[bytes, Place]) -> tuple[list[tuple[Place, bytes]], int]:
    """The plain messages that ``data`` begins with, and where the first that is none begins, or is not all there."""
    found: list[tuple[Place, bytes]] = []
    at, size = 0, len(data)
    while at + 4 < size and data[at] == PLAIN:
        length, body = data[at + 1], at + 2
        if length & 0x80:
            more = data[body]
            if more & 0x80:
                more_still, body = data[body + 1], body + 1
                if more_still & 0x80:
                    break  # two megabytes and more: the codec has time for it
                more = more & 0x7F | more_still << 7
            length, body = length & 0x7F | more << 7, body + 1
        end = body + length
        topic_end = body + 2 + (data[body] << 8) + data[body + 1] if body + 1 < size else size
        if end > size or topic_end + v5 > end:
            break
        place = known.get(data[body + 2 : topic_end])
        if place is None or (v5 and data[topic_end]):
            break
        found.append((place, data[topic_end + v5 : end]))
        at = end
    return found, at
