"""Topic profiles as a closed algebra: what a profile is, covers, overlaps.

A wildcard takes any value, and there are endlessly many values, so no set of named attributes ever adds
up to a wildcard: comparing attribute by attribute decides covers and overlaps exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

WILDCARD = "*"
END = "$"


@dataclass(frozen=True, slots=True)
class TopicProfile:
    """A consumer's interest in a part of the hierarchy, kept as its canonical text.

    No two texts without a leading ``/`` mean the same, so the text is the normal form: it is the key of
    the subscriptions table, and a tuple of attributes beside it would double what a profile takes.
    """

    text: str

    @property
    def attributes(self) -> tuple[str, ...]:
        """What each of a topic's first attributes must be; WILDCARD is any value."""
        parts = self.text.split("/")
        return tuple(parts[:-1] if parts[-1] == END else parts)

    @property
    def ends(self) -> bool:
        """Must the topic end where the profile does? If not, there is an implicit wildcard at the end."""
        return self.text.endswith("/" + END)

    def __str__(self) -> str:
        return self.text


def attributes(topic: str) -> list[str]:
    """The attributes of a message's topic, one leading ``/`` dropped.

    Any text is a topic. Attributes may be empty (``a//b`` has three), and ``*`` and ``$`` are values like
    others: values that no profile can name, but that a wildcard takes.
    """
    return topic.removeprefix("/").split("/")


def covers(a: TopicProfile, b: TopicProfile) -> bool:
    """True if, and only if, every topic that matches ``b`` matches ``a``."""
    wide, narrow = a.attributes, b.attributes
    if a.ends and not (b.ends and len(wide) == len(narrow)):
        return False
    return len(wide) <= len(narrow) and all(starmap(_takes, zip(wide, narrow, strict=False)))


def overlaps(a: TopicProfile, b: TopicProfile) -> bool:
    """True if, and only if, some topic matches both."""
    short, long = sorted((a, b), key=lambda profile: len(profile.attributes))
    mine, other = short.attributes, long.attributes
    if short.ends and len(mine) < len(other):
        return False
    return all(_takes(x, y) or _takes(y, x) for x, y in zip(mine, other, strict=False))


def _takes(wanted: str, given: str) -> bool:
    return wanted in (WILDCARD, given)
