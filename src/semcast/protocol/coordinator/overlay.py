"""What a coordinator knows of the overlay: who is there, which links are down, what can be used."""

from __future__ import annotations

from semcast.protocol.coordinator.planner import reduced
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Heartbeat
from semcast.trees.topology import Topology

_Network = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
"""Brokers that can be used, and links between them that cannot."""


class Overlay:
    """Brokers by their heartbeats. Sources and gateways are those that the topology names."""

    def __init__(self, topology: Topology, settings: Settings) -> None:
        self._topology = topology
        self._settings = settings
        self._heard: dict[str, float] = {}
        self._down: dict[str, frozenset[str]] = {}
        self._cached: dict[_Network, Topology] = {}
        self._seen: tuple[tuple[set[str], dict[str, frozenset[str]]], _Network] | None = None
        self.sources = tuple(broker.id for broker in topology.brokers if "source" in broker.roles)
        self.gateways = tuple(broker.id for broker in topology.brokers if "gateway" in broker.roles)
        """In bit order. A bit, once given, is never given to another."""

    def assume_alive(self, now: float) -> None:
        """Nothing is known yet: give everybody time to say that he is there."""
        self._heard = {broker.id: now for broker in self._topology.brokers}
        self._down = {}

    def heard(self, beat: Heartbeat, now: float) -> None:
        if beat.broker in self._topology.numbers:
            self._heard[beat.broker] = now
            self._down[beat.broker] = frozenset(beat.down)

    def alive(self, now: float) -> set[str]:
        dead_s = self._settings.dead_s
        return {broker for broker, at in self._heard.items() if now - at <= dead_s}

    def network(self, now: float) -> _Network:
        """Brokers that hang together, and links between living brokers that one end does not hear over."""
        alive = self.alive(now)
        if self._seen is not None and self._seen[0] == (alive, self._down):
            return self._seen[1]
        down = tuple(
            (link.a, link.b)
            for link in self._topology.links
            if {link.a, link.b} <= alive and (self._silent(link.a, link.b) or self._silent(link.b, link.a))
        )
        part = reduced(self._topology, {b.id for b in self._topology.brokers} - alive, set(down))
        brokers = tuple(broker.id for broker in part.brokers) if part is not None else ()
        within = set(brokers)
        found = brokers, tuple(link for link in down if set(link) <= within)
        if part is not None:
            self._cached = {found: part} if found not in self._cached else self._cached
        self._seen = ((alive, dict(self._down)), found)
        return found

    def _silent(self, at: str, other: str) -> bool:
        return other in self._down.get(at, ())

    def topology(self, brokers: tuple[str, ...], down: tuple[tuple[str, str], ...]) -> Topology:
        """The part of the overlay that was found usable."""
        known = self._cached.get((brokers, down))
        if known is None:
            gone = {broker.id for broker in self._topology.brokers} - set(brokers)
            known = reduced(self._topology, gone, set(down))
            assert known is not None
        return known
