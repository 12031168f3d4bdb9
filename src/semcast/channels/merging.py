"""Merging channels that partly overlap (2005 §3.2.3, 2004 §3.2.2).

2005 splits two overlapping channels into what they share, sent to the gateways of both, and two noise channels.
The paper prints the *intersection* of the gateways for the shared part; with it a message that both match would
not reach the gateways that want only one of them. ``literal_cap`` keeps that form, to show that it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from semcast.channels import kernels
from semcast.channels.expressions import Expression, conjunction, disjunction, without
from semcast.channels.selectivity import Floats, Ints
from semcast.channels.spans import Gateways, Span
from semcast.model.bits import Bits

_NOTHING = 1e-12  # a gain that is only rounding
_MAX_CANDIDATES = 4096  # of the most costly channels; all pairs of them fit into memory


class Variant(Enum):
    """What becomes of a pair, and what may be merged again."""

    NOISE = "noise channels, which stay as they are"
    NOISE_AGAIN = "noise channels, which may be merged too"
    UNION = "one channel for both"


@dataclass(frozen=True, eq=False)
class Channel:
    """A channel while it is searched for: what it carries, to whom, and what that is estimated to cost."""

    expression: Expression
    root: int
    """The profile whose rendezvous point it has."""
    gateways: Gateways
    row: Bits
    """The messages of the window that it carries."""
    rate: float
    links: float
    """Of its tree, as estimated."""
    noise: bool = False

    @property
    def cost(self) -> float:
        """Formula (1): rate times links."""
        return self.rate * self.links


class Rates:
    """What rows of messages count, as shares of all messages of a window."""

    def __init__(self, weights: Floats) -> None:
        self._weights = weights
        self._total = float(weights.sum()) or 1.0
        alike = len(weights) > 0 and bool((weights == weights[0]).all())
        self._even = float(weights[0]) if alike else 0.0
        self._only = np.zeros(1, np.int64)

    def of(self, row: Bits) -> float:
        return float(self.shared(row[None, :], self._only, row)[0])

    def shared(self, rows: Bits, chosen: Ints, row: Bits) -> Floats:
        """What ``row`` has in common with each of the chosen rows."""
        found = np.empty(len(chosen))
        kernels.common_weights(rows, chosen, row, self._weights, self._even, found)
        return found / self._total


Gain = Callable[[Channel, Channel, float], float]


class Merged(NamedTuple):
    """Channels after merging, and how the search went."""

    channels: list[Channel]
    merges: int
    evaluations: int
    stopped: bool
    """Did the budget end it?"""


class Merger:
    """Greedy pairwise merging: always the pair that gains most, until none gains or the budget is spent.

    A pair's gain is at most what it shares times the smaller tree (if a larger set of gateways never has a smaller
    one, which holds for trees and nearly for their estimates), so most pairs are never looked at closer.
    """

    def __init__(
        self,
        weights: Floats,
        span: Span,
        variant: Variant,
        *,
        max_merges: int = 1000,
        max_evaluations: int = 200_000,
        literal_cap: bool = False,
    ) -> None:
        self._rates = Rates(weights)
        self._span = span
        self._variant = variant
        self._max_merges = max_merges
        self._max_evaluations = max_evaluations
        self._literal_cap = literal_cap

    def merged(self, channels: list[Channel]) -> Merged:
        """Merge what pays; channels that carry nothing in the window are left alone."""
        order = sorted(range(len(channels)), key=lambda c: (-channels[c].cost, c))
        active = [channels[c] for c in order[:_MAX_CANDIDATES] if channels[c].rate > 0]
        kept = {id(channel) for channel in active}
        rest = [channel for channel in channels if id(channel) not in kept]
        search = _Search(active, self._rates, self._gain)
        merges = 0
        while merges < self._max_merges and search.evaluations < self._max_evaluations:
            pair = search.best()
            if pair is None:
                return Merged(search.alive() + rest, merges, search.evaluations, False)
            merges += 1
            first, second = search.take(*pair)
            for channel in self._parts(first, second):
                if channel.noise and self._variant is Variant.NOISE:
                    rest.append(channel)
                else:
                    search.add(channel)
        return Merged(search.alive() + rest, merges, search.evaluations, True)

    def _gain(self, a: Channel, b: Channel, shared: float) -> float:
        """What merging saves, by the estimate; ``shared`` is the rate of what both carry."""
        both = self._span(a.gateways | b.gateways, a.root)
        if self._variant is Variant.UNION:
            return a.cost + b.cost - (a.rate + b.rate - shared) * both
        return a.cost + b.cost - shared * both - (a.rate - shared) * a.links - (b.rate - shared) * b.links

    def _parts(self, a: Channel, b: Channel) -> list[Channel]:
        if self._variant is Variant.UNION:
            return [
                self._made(disjunction([a.expression, b.expression]), a.root, a.gateways | b.gateways, a.row | b.row)
            ]
        reached = a.gateways & b.gateways if self._literal_cap else a.gateways | b.gateways
        return [
            self._made(conjunction([a.expression, b.expression]), a.root, reached, a.row & b.row),
            self._made(without(a.expression, b.expression), a.root, a.gateways, a.row & ~b.row, noise=True),
            self._made(without(b.expression, a.expression), b.root, b.gateways, b.row & ~a.row, noise=True),
        ]

    def _made(self, expression: Expression, root: int, gateways: Gateways, row: Bits, noise: bool = False) -> Channel:
        return Channel(expression, root, gateways, row, self._rates.of(row), self._span(gateways, root), noise)


class _Search:
    """The active channels with the gain, or the highest possible gain, of each pair."""

    def __init__(self, channels: list[Channel], rates: Rates, gain: Gain) -> None:
        self.evaluations = 0
        self._rates = rates
        self._gain = gain
        self._channels: list[Channel | None] = []
        room = max(16, 2 * len(channels))
        self._living = np.zeros(room, np.bool_)
        self._links = np.zeros(room)
        self._bound = np.zeros((room, room))
        self._exact = np.zeros((room, room), np.bool_)
        self._best = np.zeros(room)  # of each row of _bound
        self._best_at = np.zeros(room, np.int64)
        self._rows = np.zeros((room, len(channels[0].row) if channels else 0), np.uint64)
        for channel in channels:
            self.add(channel)

    def add(self, channel: Channel) -> None:
        """Take in a channel, and see what it shares with all others."""
        number = len(self._channels)
        self._make_room(number + 1)
        others = np.flatnonzero(self._living)
        shared = self._rates.shared(self._rows, others, channel.row)
        others, shared = others[shared > 0], shared[shared > 0]  # most have nothing in common: their gain stays 0
        self._channels.append(channel)
        self._living[number] = True
        self._links[number] = channel.links
        self._rows[number] = channel.row
        bound = shared * np.minimum(self._links[others], channel.links)
        self._bound[others, number] = bound
        better = bound > self._best[others]
        self._best[others[better]], self._best_at[others[better]] = bound[better], number

    def best(self) -> tuple[int, int] | None:
        """The pair that gains most; None where none gains anything."""
        while self._channels:
            a = int(self._best.argmax())
            if self._best[a] <= _NOTHING:
                return None
            b = int(self._best_at[a])
            if self._exact[a, b]:
                return a, b
            self.evaluations += 1
            first, second = self._alive(a), self._alive(b)
            self._bound[a, b] = self._gain(first, second, self._rates.of(first.row & second.row))
            self._exact[a, b] = True
            self._look(a)
        return None

    def take(self, a: int, b: int) -> tuple[Channel, Channel]:
        """Take a pair out."""
        pair = self._alive(a), self._alive(b)
        for number in (a, b):
            self._channels[number] = None
            self._living[number] = False
            self._bound[number, number:] = self._bound[:number, number] = 0.0  # the earlier of a pair has the row
        for row in np.flatnonzero(np.isin(self._best_at, (a, b)) & (self._best > 0)).tolist():
            self._look(row)
        self._best[[a, b]] = 0.0
        return pair

    def alive(self) -> list[Channel]:
        return [channel for channel in self._channels if channel is not None]

    def _look(self, row: int) -> None:
        """Find the best of a row anew."""
        self._best_at[row] = self._bound[row].argmax()
        self._best[row] = self._bound[row, self._best_at[row]]

    def _alive(self, number: int) -> Channel:
        channel = self._channels[number]
        assert channel is not None
        return channel

    def _make_room(self, size: int) -> None:
        room = len(self._bound)
        if size > room:
            more = ((0, room), (0, room))
            self._bound = np.pad(self._bound, more)
            self._exact = np.pad(self._exact, more)
            self._living, self._links = np.pad(self._living, (0, room)), np.pad(self._links, (0, room))
            self._best, self._best_at = np.pad(self._best, (0, room)), np.pad(self._best_at, (0, room))
            self._rows = np.pad(self._rows, ((0, room), (0, 0)))
