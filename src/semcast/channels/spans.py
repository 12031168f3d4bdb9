"""Sets of gateways, and what it takes to span one.

A set is an int with a bit per gateway: unions and inclusions of sets are what channelization does most.
What a tree over a set costs is not known here: it arrives as a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

Gateways = int
"""Bit g: gateway g is in the set."""

Span = Callable[[Gateways, int], float]
"""The estimated links of a tree that spans these gateways from the rendezvous point of a root profile."""


def gateways_of(places: Iterable[int]) -> Gateways:
    found = 0
    for place in places:
        found |= 1 << place
    return found


def places_of(gateways: Gateways) -> Iterator[int]:
    """The members of a set, ascending."""
    while gateways:
        low = gateways & -gateways
        yield low.bit_length() - 1
        gateways ^= low
