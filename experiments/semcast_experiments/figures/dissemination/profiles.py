"""How the papers' profiles overlap, as models: what "selectivity factor" and "matching probability" are taken to mean.

The papers draw clients that pick one of D distinct profiles at random, and say no more of a profile than how likely it
is to match. Here a profile is a set of messages, drawn in one of four ways; docs/figures.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from semcast.matching.matches import Matches, pointers

Rng = np.random.Generator
Reading = Literal["percent", "share"]
"""Of "a selectivity factor of x gives 1/x % distinct profiles": D = P / 100x as it is written, or D = P / x."""


def distinct(clients: int, factor: float, reading: Reading) -> int:
    """How many distinct profiles so many clients pick from; never more than there are clients."""
    return min(clients, max(1, round(clients / (100 * factor if reading == "percent" else factor))))


class Profiles(Protocol):
    """Distinct profiles, numbered from 0, and messages drawn and matched against them."""

    @property
    def count(self) -> int: ...

    def draw(self, messages: int, rng: Rng) -> Matches: ...


class Disjoint:
    """Every message matches exactly one profile, each as likely as any other."""

    def __init__(self, count: int) -> None:
        self.count = count

    def draw(self, messages: int, rng: Rng) -> Matches:
        """Every profile's message equally often, so that a mean over them is the expectation; the rest at random."""
        whole, rest = divmod(messages, self.count)
        matched = np.concatenate([np.tile(np.arange(self.count), whole), rng.permutation(self.count)[:rest]])
        return Matches(np.arange(messages + 1), matched.astype(np.int64))


class Independent:
    """Every profile matches every message with one probability, whatever the others do.

    The average profile overlap is that probability; hardly any profile contains another.
    """

    def __init__(self, count: int, probability: float) -> None:
        self.count = count
        self.probability = probability

    def draw(self, messages: int, rng: Rng) -> Matches:
        return _of_rows(messages, lambda part: rng.random((part, self.count)) < self.probability, self.count)


class Arcs:
    """Profiles are arcs of a circle of values, messages are points on it: neighbours overlap, some contain others.

    Arcs lie anywhere, and their lengths are uniform in (0, 2 · probability), so that a profile matches a message with
    that probability on average, and the average profile overlap is the same again. ``nested`` of them lie within
    another arc, drawn at random among those drawn before.
    """

    def __init__(self, count: int, probability: float, rng: Rng, nested: float = 0.0) -> None:
        self.count = count
        self.start = rng.random(count)
        # Twice the probability may exceed the circle: then lengths lie as far below 1 as their mean asks for.
        low, high = (0.0, 2 * probability) if probability <= 0.5 else (2 * probability - 1, 1.0)
        self.length: NDArray[np.float64] = rng.uniform(low, high, count)
        inside = rng.random(count) < nested
        for own in np.flatnonzero(inside & (np.arange(count) > 0)).tolist():
            other = int(rng.integers(own))
            self.length[own] = self.length[other] * rng.uniform(0.2, 1.0)
            self.start[own] = self.start[other] + rng.uniform(0.0, self.length[other] - self.length[own])

    def draw(self, messages: int, rng: Rng) -> Matches:
        def matched(part: int) -> NDArray[np.bool_]:
            return (rng.random((part, 1)) - self.start) % 1.0 < self.length

        return _of_rows(messages, matched, self.count)


class Alike:
    """Profiles of a few groups: those of a group match the same messages but for a share of their own.

    A message is of one group; a profile of that group matches it with probability ``alike``.
    """

    def __init__(self, count: int, groups: int, alike: float) -> None:
        self.count = count
        self.groups = groups
        self.alike = alike

    def draw(self, messages: int, rng: Rng) -> Matches:
        group = np.arange(self.count) % self.groups

        def matched(part: int) -> NDArray[np.bool_]:
            own = rng.integers(0, self.groups, (part, 1)) == group
            return np.asarray(own & (rng.random((part, self.count)) < self.alike))

        return _of_rows(messages, matched, self.count)


def average_overlap(matches: Matches, profiles: int) -> float:
    """The average partial overlap |i ∧ j| / |i| over ordered pairs of profiles that matched anything (2005 §5.1)."""
    held = np.zeros((profiles, matches.rows), np.float32)
    pairs = matches.pairs()
    held[pairs[:, 1], pairs[:, 0]] = 1
    return mean_overlap(held)


def mean_overlap(held: NDArray[np.float32]) -> float:
    """The same of rows of messages, 1 where one is held; 0 where fewer than two rows hold any."""
    held = held[held.any(axis=1)]
    if len(held) < 2:
        return 0.0
    own = held.sum(axis=1)
    # Summed over j, the rows of |i ∧ j| are how often each of i's messages is held at all.
    both = held @ held.sum(axis=0) - own
    return float((both / own).mean() / (len(held) - 1))


def _of_rows(messages: int, matched: Callable[[int], NDArray[np.bool_]], profiles: int) -> Matches:
    """Matches from dense rows, drawn a few million cells at a time."""
    step = max(1, (1 << 22) // max(1, profiles))
    parts = []
    for first in range(0, messages, step):
        row, profile = np.nonzero(matched(min(step, messages - first)))
        counts = np.bincount(row, minlength=min(step, messages - first))
        parts.append(Matches(pointers(counts), profile.astype(np.int64)))
    return Matches.stacked(parts)
