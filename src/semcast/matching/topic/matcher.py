"""A matcher of topic profiles: numbered, guarded, and each distinct topic of a batch matched once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import Lock

import numpy as np
import pyarrow as pa

from semcast.matching.matches import Matches
from semcast.matching.topic.cache import Cache, Found
from semcast.matching.topic.columns import expanded, topics_of
from semcast.matching.topic.compact import CompactEngine
from semcast.matching.topic.engine import TopicEngine
from semcast.matching.topic.hashing import HashingEngine
from semcast.matching.topic.naive import NaiveEngine
from semcast.matching.topic.regex import RegexEngine
from semcast.matching.topic.tree import TreeEngine
from semcast.model import SemcastError
from semcast.profiles.topic import TopicProfile

ENGINES: dict[str, type[TopicEngine]] = {
    "compact": CompactEngine,
    "hashing": HashingEngine,
    "tree": TreeEngine,
    "regex": RegexEngine,
    "naive": NaiveEngine,
}
CACHE_LIMIT = 1 << 22
"""How many profile indices the cache may hold, its topics counted in: 32 MB, some 10^5 topics."""
_NOTHING: Found = np.empty(0, np.int64)


class TopicMatcher:
    """Match topics against profiles that come and go; indices are never reused.

    The tables change in place, so one lock guards them: a batch holds it while its distinct topics are
    matched (not while Arrow encodes and numpy expands them), and sees the profiles of one moment.
    """

    def __init__(self, engine: str, profiles: Sequence[TopicProfile] = (), cache_limit: int = CACHE_LIMIT) -> None:
        self._name = engine
        self._engine = ENGINES[engine]()
        self._profiles: dict[int, TopicProfile] = {}
        self._next = 0
        self._cache_limit = cache_limit
        self._cache = Cache(cache_limit)
        self._lock = Lock()
        self.extend(profiles)

    def __len__(self) -> int:
        return len(self._profiles)

    def add(self, profile: TopicProfile, destination: Hashable = None) -> int:
        """Add a profile and return its index; its destination is the index unless another is named."""
        with self._lock:
            self._cache.clear()
            return self._add(profile, destination)

    def extend(self, profiles: Sequence[TopicProfile]) -> range:
        """Add many profiles and return their indices."""
        with self._lock:
            self._cache.clear()
            begin = self._next
            for profile in profiles:
                self._add(profile, None)
            return range(begin, self._next)

    def remove(self, index: int) -> TopicProfile:
        """Remove a profile and return it; it is not matched from the next batch on."""
        with self._lock:
            profile = self._profiles.pop(index, None)
            if profile is None:
                raise SemcastError(f"there is no profile with index {index}")
            self._cache.clear()
            self._engine.remove(index, profile)
            return profile

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        """Match the ``topic`` of every row; rows without a topic match nothing."""
        parts = topics_of(batch)
        with self._lock:
            found = [[self._found(topic) for topic in part.values] for part in parts]
        return Matches.stacked([expanded(*part) for part in zip(parts, found, strict=True)])

    def match_topics(self, topics: Sequence[str | None]) -> list[list[int]]:
        """The same without columns, for callers that want lists: per topic the indices that match it, ascending."""
        with self._lock:
            return [self._found(topic).tolist() for topic in topics]

    def destinations(self, topic: str) -> set[Hashable]:
        """The destinations of all profiles that match ``topic``, as the paper computes them."""
        with self._lock:
            return self._engine.destinations(topic)

    def __reduce__(self) -> tuple[object, ...]:
        """Only the profiles travel: the tables are rebuilt on the other side, in less time than they would take."""
        with self._lock:
            destination = self._engine.destination
            profiles = [(index, profile, destination(index)) for index, profile in self._profiles.items()]
            return _rebuilt, (self._name, self._cache_limit, self._next, profiles)

    def _add(self, profile: TopicProfile, destination: Hashable) -> int:
        index = self._next
        self._engine.add(index, profile, destination)
        self._profiles[index] = profile
        self._next += 1
        return index

    def _found(self, topic: str | None) -> Found:
        if topic is None:
            return _NOTHING
        found = self._cache.get(topic)
        if found is None:
            indices = self._engine.match(topic)
            found = np.array(sorted(indices), np.int64) if indices else _NOTHING
            self._cache.put(topic, found)
        return found


def _rebuilt(
    engine: str, cache_limit: int, following: int, profiles: list[tuple[int, TopicProfile, Hashable]]
) -> TopicMatcher:
    matcher = TopicMatcher(engine, (), cache_limit)
    for matcher._next, profile, destination in profiles:
        matcher._add(profile, destination)
    matcher._next = following
    return matcher
