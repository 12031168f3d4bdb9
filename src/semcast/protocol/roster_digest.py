"""The digest by which coordinators and sources see whether they have the same roster.

It is the sum of its entries' fingerprints, so that a change costs two of them, whatever the roster's size.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from semcast.model.message import ProfileText

_MODULUS = 1 << 64


def fingerprint(name: str, profile: ProfileText, gateways: Iterable[str]) -> int:
    """One entry: a profile with its name, and the gateways that want it."""
    parts = (name, profile.stream, profile.language, profile.text, *sorted(gateways))
    return int.from_bytes(blake2b("\0".join(parts).encode(), digest_size=8).digest(), "little")


def replaced(digest: int, before: int, after: int) -> int:
    """The digest when one fingerprint takes the place of another; 0 stands for no entry."""
    return (digest - before + after) % _MODULUS
