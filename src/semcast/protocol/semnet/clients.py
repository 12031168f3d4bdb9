"""Users and producers at the doors of semantic routers."""

from __future__ import annotations

from semcast.protocol.contract import Command, Event, OfferPacket, Received, ReplaceInterest, Send, Tick
from semcast.protocol.results import InterestAccepted, InterestRefused, PacketDelivered
from semcast.protocol.wire.frames.semantic import Offer, Packet, Subscribe, Subscribed, Unsubscribe


class SemanticUser:
    """Wants what its profile says. It says so again now and then, since its router keeps nothing over a crash."""

    def __init__(self, name: str, router: str, profile: str, renew_s: float = 2.0) -> None:
        self.id, self.router = name, router
        self.profile: str | None = profile
        self._renew_s = renew_s
        self._said_at = float("-inf")
        self._last: dict[str, tuple[int, int]] = {}

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case ReplaceInterest(profile):
                self.profile = profile
                self._said_at = float("-inf")
            case Tick() if now - self._said_at >= self._renew_s:
                self._said_at = now
                return [Send(self.router, Unsubscribe() if self.profile is None else Subscribe(self.profile))]
            case Received(_, Packet() as packet):
                return self._packet(packet)
            case Received(_, Subscribed(refused)):
                return [InterestRefused(refused) if refused is not None else InterestAccepted()]
        return []

    def _packet(self, packet: Packet) -> list[Command]:
        """Give each packet out once: what a router that started anew sends again is not newer."""
        place = packet.incarnation, packet.number
        if self._last.get(packet.source, (0, 0)) >= place:
            return []
        self._last[packet.source] = place
        return [PacketDelivered(packet.source, packet.incarnation, packet.number, packet.hops, packet.payload)]


class SemanticProducer:
    """Hands packets to its router."""

    def __init__(self, name: str, router: str) -> None:
        self.id, self.router = name, router
        self._number = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case OfferPacket(descriptor, payload):
                self._number += 1
                return [Send(self.router, Offer(self._number, descriptor, payload))]
        return []
