"""Waxman's graphs (1988), GT-ITM's edge method 1: the nearer two brokers are, the likelier they are linked."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from semcast.trees.generators.sketch import DIAGONAL, Sketch, connected, num_links
from semcast.trees.graph import FloatArray, IntArray
from semcast.trees.topology import TopologyError

DEFAULT_BETA = 0.2
_BLOCK = 1 << 20  # pairs that are looked at together: 8 MB per array


def waxman(
    brokers: int,
    rng: np.random.Generator,
    degree: float | None = None,
    alpha: float | None = None,
    beta: float = DEFAULT_BETA,
) -> Sketch:
    """Link u and v with P(u, v) = min(1, alpha · exp(-d(u, v) / (beta · L))), L the unit square's diagonal.

    With a degree, alpha is the one at which the draw has exactly as many links as that asks for; with alpha, the
    degree is what comes out, and alpha is at most 1. Both are drawn in O(n²) time and O(n + m) memory.
    """
    if not (0 < beta < math.inf):
        raise TopologyError(f"beta must be above 0, not {beta:g}")
    if alpha is not None and degree is not None:
        raise TopologyError("alpha and the degree decide the same thing: give one of them")
    if alpha is not None and not 0 < alpha <= 1:
        raise TopologyError(f"alpha must be above 0 and at most 1, not {alpha:g}")
    links = num_links(brokers, degree)
    positions = rng.random((brokers, 2))
    reach = beta * DIAGONAL
    if alpha is None:
        ends, alpha = _smallest(positions, reach, rng, links)
    else:
        ends = _below(positions, reach, rng, math.log(alpha))

    def near(node: int, others: IntArray) -> int:
        """One of the others, as likely as Waxman would link it."""
        apart = positions[others] - positions[node]
        weight = -np.hypot(apart[:, 0], apart[:, 1]) / reach
        total = np.cumsum(np.exp(weight - weight.max()))
        return int(others[np.searchsorted(total, rng.random() * total[-1], side="right")])

    return Sketch(positions, connected(brokers, ends, rng, near), parameters={"alpha": alpha, "beta": beta})


def _smallest(positions: FloatArray, reach: float, rng: np.random.Generator, links: int) -> tuple[IntArray, float]:
    """The ``links`` pairs with the smallest keys, and the alpha that is their limit."""
    keys, ends = np.empty(0), np.empty((0, 2), np.int32)
    limit = math.inf
    for block, pairs in _blocks(positions, reach, rng):
        near = block < limit
        keys, ends = np.concatenate((keys, block[near])), np.concatenate((ends, pairs(near)))
        if len(keys) > links > 0:
            first = np.sort(np.argpartition(keys, links - 1)[:links])  # in an order that no processor decides
            keys, ends = keys[first], ends[first]
            limit = keys.max()
    # A tiny beta needs an alpha beyond any float; it is only told.
    return ends[:links], math.exp(min(700.0, keys[:links].max())) if links else 0.0


def _below(positions: FloatArray, reach: float, rng: np.random.Generator, limit: float) -> IntArray:
    chosen = [pairs(block < limit) for block, pairs in _blocks(positions, reach, rng)]
    return np.concatenate([np.empty((0, 2), np.int32), *chosen])


def _blocks(positions: FloatArray, reach: float, rng: np.random.Generator) -> Iterator[tuple[FloatArray, _Pairs]]:
    """All pairs of nodes in blocks of bounded size, each with a key: linked iff key < log(alpha).

    U < alpha · exp(-d/reach) for a uniform U is d/reach - E < log(alpha) for an exponential E. So one draw
    serves every alpha, and the graphs of growing alphas hold each other.
    """
    nodes = len(positions)
    start = 0
    while start < nodes - 1:
        rows = max(1, min(_BLOCK // (nodes - 1 - start), nodes - 1 - start))
        here, there = positions[start : start + rows], positions[start + 1 :]
        keys = np.hypot(here[:, None, 0] - there[:, 0], here[:, None, 1] - there[:, 1])
        keys /= reach
        keys -= rng.standard_exponential(keys.shape)
        keys[np.arange(len(there)) < np.arange(rows)[:, None]] = np.inf  # each pair once
        yield keys, _Pairs(start)
        start += rows


class _Pairs:
    """From a mask over a block to the pairs of nodes."""

    def __init__(self, start: int) -> None:
        self._start = start

    def __call__(self, mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> IntArray:
        row, column = np.nonzero(mask)
        return np.stack((row + self._start, column + self._start + 1), axis=1).astype(np.int32)
