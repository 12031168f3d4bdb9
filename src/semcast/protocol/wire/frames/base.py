"""What all frames have in common."""

from __future__ import annotations

from typing import Annotated

import msgspec

Whole = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]
"""A number of a client's: a position, a sequence number, a version. What is beyond would not fit into stores, or would
overflow where something is added to it; a frame that has it is refused when it is read."""
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Milliseconds = Annotated[float, msgspec.Meta(gt=0, le=1e12)]
Name = Annotated[str, msgspec.Meta(max_length=1024)]
"""Of a session or an origin."""
MOST_MESSAGES = 1 << 16
"""Of one frame that a pipeline appends."""
MOST_PUBLISHED = 1 << 13
"""Of one frame of a publisher."""
MOST_SESSIONS = 1 << 12
"""Of one frame in which a client speaks of many subscriptions."""
MOST_NUMBERS = 1 << 17
"""Of messages that a client has above its cursor, per source; as many as a gateway keeps track of, and twice."""
MOST_SOURCES = 1 << 12
Positions = Annotated[tuple[tuple[str, Whole], ...], msgspec.Meta(max_length=MOST_SOURCES)]
Numbers = Annotated[tuple[Whole, ...], msgspec.Meta(max_length=MOST_NUMBERS)]
Had = Annotated[tuple[tuple[str, Numbers], ...], msgspec.Meta(max_length=MOST_SOURCES)]

Key = tuple[str, int]
"""A tree: (channel, tree version)."""


class Frame(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """What a link carries; every kind is one class. None holds itself, so none needs to be looked at for cycles."""
