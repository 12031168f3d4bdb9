"""Regular expressions (§3.2 of the *topics* paper): little memory in Java, and every subscription evaluated."""

from __future__ import annotations

import re
from collections.abc import Hashable

from semcast.matching.topic.engine import TopicEngine
from semcast.profiles.topic import WILDCARD, TopicProfile

_ONE_ATTRIBUTE = "[^/]*"  # the paper's ".*" would cross attributes: A/*/D would match A/B/C/D


class RegexEngine(TopicEngine):
    """A table of compiled patterns by subscription, each tried on every topic: O(N) per topic.

    The paper's subscription identifiers are UUIDs; here they are the indices.
    """

    def __init__(self) -> None:
        super().__init__()
        self._patterns: dict[int, re.Pattern[str]] = {}

    def match(self, topic: str) -> list[int]:
        topic = topic.removeprefix("/")
        return [index for index, pattern in self._patterns.items() if pattern.match(topic)]

    def destinations(self, topic: str) -> set[Hashable]:
        """As the paper has it: a pattern whose destination is already present is not evaluated."""
        topic = topic.removeprefix("/")
        named = self._destinations
        found: set[Hashable] = set()
        for index, pattern in self._patterns.items():
            destination = named.get(index, index)
            if destination not in found and pattern.match(topic):
                found.add(destination)
        return found

    def _insert(self, index: int, profile: TopicProfile) -> None:
        self._patterns[index] = re.compile(expression(profile))

    def _delete(self, index: int, profile: TopicProfile) -> None:
        del self._patterns[index]


def expression(profile: TopicProfile) -> str:
    """The profile as a regular expression to be matched from a topic's first attribute on."""
    parts = [_ONE_ATTRIBUTE if part == WILDCARD else re.escape(part) for part in profile.attributes]
    return "/".join(parts) + (r"\Z" if profile.ends else r"(?:/|\Z)")
