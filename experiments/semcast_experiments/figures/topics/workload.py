"""The paper's subscriptions: random values, and one wildcard each, except on the first attribute."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.profiles.topic import WILDCARD, TopicProfile, parse

VALUES = 50  # "every attribute being randomly assigned one of 50 possible values"


def subscriptions(count: int, attributes: int, seed: int) -> list[TopicProfile]:
    return [parse("/".join(parts)) for parts in _drawn(count, attributes, seed).tolist()]


def topics(profiles: list[TopicProfile], count: int, seed: int) -> list[str]:
    """Topics that match at least one profile each: of random ones hardly any would, at seven attributes.

    The paper does not say which it used; these are the dearer ones for every engine but ``regex``.
    """
    random = np.random.default_rng([seed, 1])
    chosen = random.integers(0, len(profiles), count).tolist()
    values = random.integers(0, VALUES, count).tolist()
    return [profiles[at].text.replace(WILDCARD, str(value)) for at, value in zip(chosen, values, strict=True)]


def repeated(distinct: list[str], messages: int, seed: int) -> pa.RecordBatch:
    """A stream in which topics come again, all equally often."""
    random = np.random.default_rng([seed, 2])
    return pa.RecordBatch.from_pydict({"topic": pa.array(distinct).take(random.integers(0, len(distinct), messages))})


def shared_prefixes(count: int, attributes: int, values: int, seed: int) -> int:
    """The edges of a tree that shares equal prefixes, counted without building it."""
    random = np.random.default_rng([seed, 3])
    drawn = random.integers(0, values, (count, attributes))
    drawn[np.arange(count), random.integers(1, attributes, count)] = values
    edges, prefix = 0, np.zeros(count, np.int64)
    for level in range(attributes):
        _, prefix = np.unique(prefix * (values + 1) + drawn[:, level], return_inverse=True)
        edges += int(prefix.max()) + 1
    return edges


def _drawn(count: int, attributes: int, seed: int) -> NDArray[np.object_]:
    random = np.random.default_rng([seed, attributes])
    drawn = random.integers(0, VALUES, (count, attributes)).astype(str).astype(object)
    drawn[np.arange(count), random.integers(1, attributes, count)] = WILDCARD
    return drawn
