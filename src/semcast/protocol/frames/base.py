"""What all frames have in common."""

from __future__ import annotations

import msgspec

Key = tuple[str, int]
"""A tree: (channel, tree version)."""


class Frame(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """What a link carries; every kind is one class. None holds itself, so none needs to be looked at for cycles."""
