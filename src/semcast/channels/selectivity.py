"""The selectivity matrix: which profiles matched which sampled messages (2005 §3.2.1).

A Window is kept where messages are sampled: sparse rows, newest last, with the time of each and the share of
messages that were sampled. A Selectivity is what the coordinator works on: the rows of one or more windows
with the weight that each has now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from semcast.matching.matches import Matches, pointers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Body = TypeVar("Body")


@dataclass(frozen=True, eq=False)
class Selectivity:
    """Sampled messages × profiles, sparse by message, and what each message counts."""

    matches: Matches
    profiles: int
    weights: Floats
    """Per message: how many messages of the stream it stands for, less the older it is."""

    @staticmethod
    def of(matches: Matches, profiles: int) -> Selectivity:
        """Messages that all count the same."""
        return Selectivity(matches, profiles, np.ones(matches.rows))

    @staticmethod
    def merged(parts: Sequence[Selectivity]) -> Selectivity:
        """The global matrix of several sources; all must number the profiles alike."""
        if len({part.profiles for part in parts}) > 1:
            raise ValueError("the sources do not know the same profiles")
        weights = np.concatenate([part.weights for part in parts]) if parts else np.empty(0)
        return Selectivity(
            Matches.stacked([part.matches for part in parts]), parts[0].profiles if parts else 0, weights
        )

    @property
    def messages(self) -> int:
        return self.matches.rows

    @cached_property
    def total(self) -> float:
        """What all messages count together."""
        return float(self.weights.sum())

    @cached_property
    def by_profile(self) -> tuple[Ints, NDArray[np.int32]]:
        """The same by profile: ``messages[indptr[p]:indptr[p + 1]]`` are those that p matched, ascending."""
        order = np.argsort(self.matches.indices, kind="stable")
        rows = np.repeat(np.arange(self.messages, dtype=np.int32), self.matches.counts())
        counts = np.bincount(self.matches.indices, minlength=self.profiles)
        return pointers(counts), rows[order]

    @cached_property
    def counts(self) -> Ints:
        """How many of the sampled messages each profile matched."""
        return np.diff(self.by_profile[0])

    @cached_property
    def rates(self) -> Floats:
        """The share of the stream that each profile matches: r_i of formula (1), per message published."""
        held = np.repeat(self.weights, self.matches.counts())
        found: Floats = np.bincount(self.matches.indices, held, self.profiles).astype(np.float64)
        return found / self.total if self.total else found

    def grouped(self, group: Ints, groups: int) -> Selectivity:
        """The same for groups of profiles: a message matches a group if it matches any profile of it."""
        pairs = self.matches.pairs()
        keys = np.sort(pairs[:, 0] * groups + group[pairs[:, 1]])
        keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique hashes them first, which takes tens of times as long
        counts = np.bincount(keys // groups, minlength=self.messages) if groups else np.zeros(self.messages, np.int64)
        indptr = pointers(counts)
        return Selectivity(Matches(indptr, (keys % groups).astype(np.int32)), groups, self.weights)


def decay(ages_s: Floats, half_life_s: float) -> Floats:
    """What samples of these ages count: one of a half-life's age half. What is to come counts as what is now."""
    found: Floats = np.exp2(-np.maximum(ages_s, 0.0) / half_life_s)
    return found


class Sample(NamedTuple, Generic[Body]):
    """One sampled message: when it came, what it is, and the profiles that matched it, ascending."""

    at_s: float
    body: Body
    matched: tuple[int, ...]


class Window(Generic[Body]):
    """A source's sliding window of sampled messages, with their bodies.

    ``sampling`` is the share of messages that are sampled, each of which therefore counts 1 / sampling.
    ``half_life_s`` is how long it takes a sample to count half; infinity keeps all alike until they slide out.
    """

    def __init__(self, capacity: int, *, half_life_s: float = np.inf, sampling: float = 1.0) -> None:
        if capacity < 1 or not half_life_s > 0 or not 0 < sampling <= 1:
            raise ValueError("a window needs room, a half-life above 0 and a sampling share in (0, 1]")
        self.capacity = capacity
        self.half_life_s = half_life_s
        self.sampling = sampling
        self.profiles = 0
        self._samples: list[Sample[Body]] = []

    def __len__(self) -> int:
        return min(len(self._samples), self.capacity)

    @property
    def samples(self) -> Sequence[Sample[Body]]:
        """Oldest first."""
        return self._samples[-self.capacity :]

    def add(self, at_s: float, bodies: Sequence[Body], matches: Matches) -> None:
        """Take in sampled messages with their matches; the oldest slide out."""
        for row, body in enumerate(bodies):
            self._samples.append(Sample(at_s, body, tuple(matches.of(row).tolist())))
        if len(matches.indices):
            self.profiles = max(self.profiles, int(matches.indices.max()) + 1)
        if len(self._samples) >= 2 * self.capacity:  # amortised: each sample moves once
            del self._samples[: -self.capacity]

    def back_fill(self, profile: int, matched: Callable[[Sequence[Body]], Sequence[bool]]) -> int:
        """Match the kept bodies with a profile that came late, so that it does not look rare; returns how many match.

        ``profile`` must not be in use: numbers are never given twice.
        """
        self.profiles = max(self.profiles, profile + 1)
        del self._samples[: -self.capacity]
        held = matched([sample.body for sample in self._samples])
        for place, (sample, holds) in enumerate(zip(self._samples, held, strict=True)):
            if holds:
                self._samples[place] = sample._replace(matched=tuple(sorted({*sample.matched, profile})))
        return sum(map(bool, held))

    def selectivity(self, now_s: float, profiles: int | None = None) -> Selectivity:
        """What the window says now; ``profiles`` where more exist than have ever matched."""
        samples = self.samples
        counts = [len(sample.matched) for sample in samples]
        indices = np.fromiter((p for sample in samples for p in sample.matched), np.int32, sum(counts))
        ages = now_s - np.array([sample.at_s for sample in samples])
        weights = decay(ages, self.half_life_s) / self.sampling
        indptr = pointers(counts)
        return Selectivity(Matches(indptr, indices), max(self.profiles, profiles or 0), weights)
