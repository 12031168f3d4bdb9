"""The oracle: split and compare.

It shares the definition of a topic's attributes with the language and nothing with the other engines.
"""

from __future__ import annotations

from collections.abc import Sequence

from semcast.matching.topic.engine import TopicEngine
from semcast.profiles.topic import WILDCARD, TopicProfile, attributes


class NaiveEngine(TopicEngine):
    """Compares the topic with every subscription, attribute by attribute."""

    def __init__(self) -> None:
        super().__init__()
        self._subscriptions: dict[int, tuple[tuple[str, ...], bool]] = {}

    def match(self, topic: str) -> list[int]:
        given = attributes(topic)
        return [index for index, (wanted, ends) in self._subscriptions.items() if _matches(wanted, ends, given)]

    def _insert(self, index: int, profile: TopicProfile) -> None:
        self._subscriptions[index] = profile.attributes, profile.ends

    def _delete(self, index: int, profile: TopicProfile) -> None:
        del self._subscriptions[index]


def _matches(wanted: Sequence[str], ends: bool, given: Sequence[str]) -> bool:
    if len(given) < len(wanted) or (ends and len(given) > len(wanted)):
        return False
    return all(mine in (WILDCARD, value) for mine, value in zip(wanted, given, strict=False))
