"""What all topic engines share: subscriptions by index, and the destinations behind them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Hashable

from semcast.profiles.topic import END, MAX_DEPTH, WILDCARD, TopicProfile

Bucket = int | list[int]
"""The subscriptions with one constraint, ascending. Most have one, and a list of one takes 72 bytes."""


class TopicEngine(ABC):
    """Subscription constraints, organised so that a topic's destinations are found.

    A subscription is known by an index, given from outside in ascending order; its destination is the
    index itself unless another is named. An engine is changed in place and is not safe for threads.
    """

    def __init__(self) -> None:
        self._destinations: dict[int, Hashable] = {}

    def add(self, index: int, profile: TopicProfile, destination: Hashable = None) -> None:
        """Add the subscription ``index``, which must be above all that were ever added."""
        if destination is not None:
            self._destinations[index] = destination
        self._insert(index, profile)

    def remove(self, index: int, profile: TopicProfile) -> None:
        """Remove a subscription that was added with this profile, and all that only it needed."""
        self._delete(index, profile)
        self._destinations.pop(index, None)

    def destination(self, index: int) -> Hashable:
        """The destination named for a subscription, None if it is the subscription itself."""
        return self._destinations.get(index)

    @abstractmethod
    def match(self, topic: str) -> list[int]:
        """The subscriptions that match ``topic``, each once, in any order."""

    def destinations(self, topic: str) -> set[Hashable]:
        """The union of the destination lists of all subscriptions that match ``topic``."""
        found = self.match(topic)
        named = self._destinations
        return {named.get(index, index) for index in found} if named else set(found)

    @abstractmethod
    def _insert(self, index: int, profile: TopicProfile) -> None: ...

    @abstractmethod
    def _delete(self, index: int, profile: TopicProfile) -> None: ...


def nameable(topic: str) -> list[str]:
    """The topic's attributes, with "" for those that no profile can name.

    A literal ``*`` or ``$`` in a topic would otherwise be taken for a key of the tables. What lies deeper
    than any profile is left in one piece: it can end no profile and be compared with none.
    """
    parts = topic.removeprefix("/").split("/", MAX_DEPTH)
    if WILDCARD in topic or END in topic:
        return ["" if part in (WILDCARD, END) else part for part in parts]
    return parts


def with_one_more(bucket: Bucket | None, index: int) -> Bucket:
    if bucket is None:
        return index
    if isinstance(bucket, int):
        return [bucket, index]
    bucket.append(index)
    return bucket


def without(bucket: Bucket, index: int) -> Bucket | None:
    """The bucket that is left, None if none is."""
    if isinstance(bucket, int):
        return None
    del bucket[bisect_left(bucket, index)]
    return bucket if len(bucket) > 1 else bucket[0]


def collect(found: list[int], bucket: Bucket) -> None:
    if isinstance(bucket, int):
        found.append(bucket)
    else:
        found += bucket


def holds(text: str, given: list[str], place: int = 0) -> bool:
    """Does the constraint ``text`` match a topic's nameable attributes, if it does up to ``place``?"""
    wanted = text.split("/")
    if wanted[-1] == END:
        wanted.pop()
        if len(wanted) != len(given):
            return False
    elif len(wanted) > len(given):
        return False
    for at in range(place, len(wanted)):  # noqa: SIM110 (a generator would take twice the time)
        if wanted[at] != given[at] and wanted[at] != WILDCARD:
            return False
    return True
