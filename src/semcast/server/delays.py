"""How long the links take, as the brokers at their ends measure it: what staleness bounds are planned with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from semcast.trees.topology import Topology

if TYPE_CHECKING:
    from semcast.protocol.coordinator.orders import Order

_LEAST_MS = 0.001
"""No link of a topology is quicker."""
_JITTER_MS, _SHARE = 1.0, 0.25
"""By so much, and by this share of it, a delay must be wrong to be given up: trees shall not follow jitter."""


class MeasuredDelays:
    """Delays of links as planning uses them: a measured one stays until a new one is clearly different."""

    def __init__(self) -> None:
        self.used: dict[tuple[str, str], float] = {}
        """Link, by its ends in order of their names → ms, one way."""
        self._told: dict[tuple[str, str], float] = {}
        self._last: tuple[Topology, dict[tuple[str, str], float], Topology] | None = None

    def told(self, broker: str, links: Mapping[str, Mapping[str, Any]]) -> None:
        """A broker reports its links, as its status has them.

        Of what the two ends measure the smaller counts: a busy end sees its own waits as way.
        """
        for other, link in links.items():
            if link.get("rtt_ms") is None:
                continue
            self._told[broker, other] = link["rtt_ms"] / 2
            ends = _ends(broker, other)
            seen = max(_LEAST_MS, min(self._told.get(way, float("inf")) for way in (ends, ends[::-1])))
            known = self.used.get(ends)
            if known is None or abs(seen - known) > max(_JITTER_MS, _SHARE * known):
                self.used[ends] = seen

    def ordered(self, order: Order) -> Order:
        """The same order, on the overlay as it was measured."""
        return replace(order, topology=self.on(order.topology))

    def on(self, topology: Topology) -> Topology:
        """The topology with measured delays; links that nobody has measured keep theirs."""
        if self._last is not None and self._last[0] is topology and self._last[1] == self.used:
            return self._last[2]
        found = topology.with_delays(self.used)
        self._last = topology, dict(self.used), found
        return found


def _ends(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)
