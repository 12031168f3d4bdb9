"""The prefilter: one tree tagged with ports, which says to which a packet cannot go (thesis §3.5.1)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from semcast.matching.semantic.shared import SharedEngine
from semcast.profiles.semantic import Expression, InterestProfile, Node, truncate

Port = TypeVar("Port", bound=Hashable)


class Prefilter(Generic[Port]):
    """The filters of all ports, cut to a depth and laid over each other, tagged with the ports they are of.

    A packet is mapped onto the common tree once. A port that it does not reach cannot match: cutting a filter only lets
    more through. Without a depth nothing is cut, and the ports that are reached are those that match.
    """

    def __init__(self, filters: Mapping[Port, Expression], depth: int | None = None) -> None:
        self.depth = depth
        self._ports = list(filters)
        cut = filters.values() if depth is None else [truncate(item, depth) for item in filters.values()]
        self._engine = SharedEngine([InterestProfile.of(item) for item in cut])

    def candidates(self, root: Node) -> list[Port]:
        """The ports that cannot be excluded, in the order in which they were given."""
        return [self._ports[number] for number in self._engine.found(root)]
