"""Profiles and documents at a wanted number of matches per document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.demo.xml.documents import DocumentGenerator
from semcast.demo.xml.profiles import ProfileGenerator, Shape
from semcast.demo.xml.schema import Schema
from semcast.matching.xpath import XPathMatcher
from semcast.model import SemcastError
from semcast.profiles.xpath import XPathProfile, parse

_PILOT = 2_000  # candidates from which it is found which are too broad
_CHUNK = 5_000
_MOST_DRAWN = 60  # candidates per profile, then it is given up

Shares = NDArray[np.float64]


@dataclass(frozen=True)
class XmlWorkload:
    """Documents of one schema, and distinct profiles of which each document matches ``share`` on average."""

    schema: Schema
    shape: Shape = field(default_factory=Shape)
    share: float = 0.01
    elements: int = 100

    def documents(self, count: int, seed: int) -> pa.RecordBatch:
        return DocumentGenerator(self.schema, self.elements).batch(count, np.random.default_rng([seed, 0]))

    def profiles(self, count: int, sample: pa.RecordBatch, seed: int) -> list[XPathProfile]:
        """Profiles drawn from the schema; those that would match too much of ``sample``, or too little, are redrawn.

        A cap on the share of the sample that a profile may match, found on the first 2,000 candidates, brings the
        mean down; where it is too low without a cap, some of those that match nothing are left out instead. A small
        sample misjudges: what it lets through matches more of other documents.
        """
        candidates = self._candidates(seed)
        pilot = list(islice(candidates, _PILOT))
        shares = shares_of(pilot, sample)
        random = np.random.default_rng([seed, 2])
        accept = _acceptance(shares, self.share, random)
        kept = [profile for profile, share in zip(pilot, shares, strict=True) if accept(share)]
        return _filled(kept, count, candidates, sample, accept)

    def more(
        self, profiles: list[XPathProfile], count: int, documents: pa.RecordBatch, seed: int
    ) -> list[XPathProfile]:
        """``profiles`` and others up to ``count``, drawn alike, of which none matches any of ``documents``."""
        known = set(profiles)
        others = (profile for profile in self._candidates(seed + 1_000_003) if profile not in known)
        return _filled(list(profiles), count, others, documents, lambda share: share == 0)

    def _candidates(self, seed: int) -> Iterator[XPathProfile]:
        texts = ProfileGenerator(self.schema, self.shape).profiles(np.random.default_rng([seed, 1]))
        return (parse(text) for text in texts)


def _filled(
    kept: list[XPathProfile],
    count: int,
    candidates: Iterator[XPathProfile],
    sample: pa.RecordBatch,
    accept: Callable[[float], bool],
) -> list[XPathProfile]:
    drawn = 0
    while len(kept) < count:
        chunk = list(islice(candidates, max(500, min(_CHUNK, count))))
        drawn += len(chunk)
        kept += [profile for profile, share in zip(chunk, shares_of(chunk, sample), strict=True) if accept(share)]
        if drawn > _MOST_DRAWN * count + _PILOT:
            raise SemcastError(f"of {drawn:,} profiles drawn only {len(kept):,} match as many documents as wanted")
    return kept[:count]


def shares_of(profiles: list[XPathProfile], sample: pa.RecordBatch) -> Shares:
    """The share of the sample that each profile matches."""
    matches = XPathMatcher("dfa", profiles).match(sample)
    counts: Shares = np.bincount(matches.indices, minlength=len(profiles)).astype(np.float64)
    return counts / max(1, int(sample.num_rows))


def _acceptance(shares: Shares, wanted: float, random: np.random.Generator) -> Callable[[float], bool]:
    """Which candidates to keep so that the mean share of those kept is ``wanted``."""
    if shares.mean() >= wanted:
        ordered = np.sort(shares)
        means = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
        cap = float(ordered[max(0, int(np.searchsorted(means, wanted, side="right")) - 1)])
        return lambda share: share <= cap
    if not shares.any():
        raise SemcastError("no profile drawn matches any document of the sample")
    matching = shares[shares > 0]
    # n matching ones of mean m and z others: z = n (m / wanted - 1), none of them if m itself is too low
    zeros = max(0.0, len(matching) * (matching.mean() / wanted - 1))
    chance = zeros / (len(shares) - len(matching))
    return lambda share: share > 0 or random.random() < chance
