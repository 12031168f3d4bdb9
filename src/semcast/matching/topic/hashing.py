"""The hashing-based algorithm (Figure 2 of the *topics* paper), kept as printed so that it can be measured.

Two departures. Recursion stops at the topic's last attribute: the printed test ``level > SIZE(A)`` is made
before ``level`` is incremented, so it would go on to an attribute that is not there. And where more texts
would be constructed than there are subscriptions, these are compared one by one instead.
"""

from __future__ import annotations

from array import array

from semcast.matching.topic.engine import Bucket, TopicEngine, collect, holds, nameable, with_one_more, without
from semcast.profiles.topic import END, MAX_DEPTH, WILDCARD, TopicProfile

_ENDING = MAX_DEPTH  # the place after those of the attributes counts the subscriptions that end with "$"
_MANY = 4096  # constructed texts; Figure 2 needs 512 for the ten attributes of the paper's evaluation


class HashingEngine(TopicEngine):
    """A subscriptions table, and per first attribute the counts of wildcards at each place.

    All subscriptions that could match a topic are constructed from it: wherever some subscription of the
    same first attribute has a wildcard, with and without one. With w such places that is up to 2^w texts,
    however few the subscriptions: whoever may subscribe to A/*, A/x/*, A/x/x/* … makes all topics under A
    slow, which is one reason why it is not the default.
    """

    def __init__(self) -> None:
        super().__init__()
        self._table: dict[str, Bucket] = {}
        self._wildcards: dict[str, array[int]] = {}  # the first count is that of subscriptions, as in the paper

    def match(self, topic: str) -> list[int]:
        parts = nameable(topic)
        counts = self._wildcards.get(parts[0])
        found: list[int] = []
        if counts is None:
            return found
        table = self._table
        constructed = [parts[0]]
        for level, part in enumerate(parts[:MAX_DEPTH]):
            if level:
                constructed = _finer(constructed, part, counts[level] > 0)
                if len(constructed) > max(_MANY, len(table)):
                    return self._compared(parts)
            for text in constructed:
                if (bucket := table.get(text)) is not None:
                    collect(found, bucket)
        if counts[_ENDING] and len(parts) <= MAX_DEPTH:
            for text in constructed:
                if (bucket := table.get(f"{text}/{END}")) is not None:
                    collect(found, bucket)
        return found

    def _compared(self, parts: list[str]) -> list[int]:
        found: list[int] = []
        for text, bucket in self._table.items():
            if holds(text, parts):
                collect(found, bucket)
        return found

    def _insert(self, index: int, profile: TopicProfile) -> None:
        self._table[profile.text] = with_one_more(self._table.get(profile.text), index)
        first = profile.text.partition("/")[0]
        counts = self._wildcards.get(first)
        if counts is None:
            counts = self._wildcards[first] = array("I", bytes(4 * (MAX_DEPTH + 1)))
        self._count(profile, counts, 1)

    def _delete(self, index: int, profile: TopicProfile) -> None:
        left = without(self._table[profile.text], index)
        if left is None:
            del self._table[profile.text]
        else:
            self._table[profile.text] = left
        first = profile.text.partition("/")[0]
        counts = self._wildcards[first]
        self._count(profile, counts, -1)
        if not counts[0]:
            del self._wildcards[first]

    def _count(self, profile: TopicProfile, counts: array[int], change: int) -> None:
        counts[0] += change
        if WILDCARD in profile.text:
            for place, part in enumerate(profile.text.split("/")):
                if part == WILDCARD:
                    counts[place] += change
        if profile.ends:
            counts[_ENDING] += change


def _finer(coarser: list[str], part: str, wildcard: bool) -> list[str]:
    finer = [f"{text}/{part}" for text in coarser]
    return finer + [f"{text}/{WILDCARD}" for text in coarser] if wildcard else finer
