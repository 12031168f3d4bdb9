"""Who wants what: distinct profiles, none of which covers another, and messages of which each matches two of them.

A profile that is covered by a live one goes live without leaving its gateway. Here every profile has to go all the way,
and no two share a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

STREAM = "quotes"
MATCHES = 2
"""Profiles of a population that match one of its messages."""
_PER_SYMBOL = 100
_BEYOND = 10_000_000
"""Profiles from here on are in no population, and match none of its messages."""


def profile(number: int) -> str:
    """The profile with this number: it shares half of its prices with each neighbour of the same symbol."""
    return f"symbol = 'S{number // _PER_SYMBOL}' AND price >= {number}.25 AND price < {number + MATCHES}.25"


def quote(number: int) -> dict[str, Any]:
    """A message that profiles ``number`` and ``number - 1`` match, if they share a symbol, and no other."""
    return {"symbol": f"S{number // _PER_SYMBOL}", "price": number + 0.5, "volume": 100}


@dataclass(frozen=True)
class Population:
    """``distinct`` profiles, each wanted by as many clients; in an order that a seed draws."""

    distinct: int
    clients: int
    seed: int

    @property
    def subscriptions(self) -> int:
        return self.distinct * self.clients

    def numbers(self, first: int, through: int, place: int, places: int) -> list[int]:
        """Of the profiles from ``first`` to ``through`` in that order, those of one of so many places."""
        order = np.random.default_rng(self.seed).permutation(self.distinct)[first:through]
        return [int(number) for number in order[place::places]]

    def messages(self, seed: int) -> Iterator[dict[str, Any]]:
        """Messages without end; each is wanted by ``MATCHES * clients`` subscriptions, once all are live."""
        rng = np.random.default_rng((self.seed, seed))
        while True:
            for number in rng.integers(1, self.distinct, 1024):
                if number % _PER_SYMBOL:
                    yield quote(int(number))


def beyond(place: int) -> Iterator[str]:
    """Profiles for what comes on top of a population, others at each place."""
    number = _BEYOND * (1 + place)
    while True:
        yield profile(number)
        number += MATCHES
