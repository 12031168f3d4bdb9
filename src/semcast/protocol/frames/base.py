"""What all frames have in common."""

from __future__ import annotations

import msgspec

Key = tuple[str, int]
"""A tree: (channel, tree version)."""


class Frame(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What a link carries; every kind is one class."""
