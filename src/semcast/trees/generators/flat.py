"""Flat random graphs: GT-ITM's "pure random" edge method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semcast.trees.generators.sketch import Sketch, connected, num_links
from semcast.trees.graph import IntArray


def flat_random(brokers: int, rng: np.random.Generator, degree: float | None = None) -> Sketch:
    """Every two brokers are linked with the same probability, wherever they stand.

    The number of links is fixed to what the degree asks for (a random graph with p = degree / (n-1), given that
    it has as many links as expected). O(n + m).
    """
    links = num_links(brokers, degree)
    positions = rng.random((brokers, 2))
    pairs = rng.choice(brokers * (brokers - 1) // 2, links, replace=False, shuffle=False)
    ends = connected(brokers, _pairs(pairs), rng, lambda _node, others: int(rng.choice(others)))
    return Sketch(positions, ends, parameters={"p": 2 * links / (brokers * max(1, brokers - 1))})


def _pairs(numbers: NDArray[np.int64]) -> IntArray:
    """Pair k of (0,1), (0,2), (1,2), (0,3) …: the larger node is the row of a triangle.

    The root is exact enough below 2^50 pairs: neighbouring rows are further apart than its rounding.
    """
    larger = ((1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) / 2).astype(np.int64)
    return np.stack((numbers - larger * (larger - 1) // 2, larger), axis=1).astype(np.int32)
