"""Clients within a gateway's process, who are handed batches (taps).

Between them and their broker nothing is lost and nothing overtakes. They fall with their broker and never alone; what
is on the way then is lost. As with all clients, the memory of one outlives that. In production a front takes up the
positions that it has saved.
"""

from __future__ import annotations

from semcast.model.message import ProfileText
from semcast.protocol.client.near import Begun, Declined, Given, Missed, NearSubscriber, Outcome
from semcast.protocol.contract import Command, EndSubscription, Event, Received, Send, Tick, TookThrough
from semcast.protocol.results import Delivered, MessagesLost, SessionEnded, SubscriptionRefused, WentLive
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Detached


class NearClient:
    """Drives a NearSubscriber and reports what it is given, as a Subscriber does."""

    def __init__(self, name: str, gateway: str, profile: ProfileText, settings: Settings) -> None:
        self.gateway = gateway
        self._near = NearSubscriber(name, gateway, profile, settings)
        self._leaving = self._left = False

    @property
    def served(self) -> bool:
        return self._near.served

    def handle(self, event: Event, now: float) -> list[Command]:
        if isinstance(event, EndSubscription):
            self._leaving = True  # the next tick tells the gateway
            return []
        if not self._leaving:
            return self._reported(self._near.handle(event, now), now)
        if isinstance(event, Received) and isinstance(event.frame, Detached) and not self._left:
            self._left = True
            return [SessionEnded()]
        # In production the two fall together and a word within a process is never lost: said again, it is as sure here.
        if not isinstance(event, Tick) or self._left:
            return []
        return self._reported(self._near.handle(EndSubscription(), now), now)

    def _reported(self, results: list[Outcome], now: float) -> list[Command]:
        commands: list[Command] = []
        for result in results:
            match result:
                case Send():
                    commands.append(result)
                case Given():
                    for number, body in zip(result.numbers, result.bodies, strict=True):
                        commands.append(Delivered(result.source, number, body))
                    self._near.handle(TookThrough(result.source, result.through), now)
                case Missed():
                    if result.first < result.through:
                        commands.append(MessagesLost(result.source, result.first, result.through))
                    self._near.handle(TookThrough(result.source, result.through), now)
                case Begun():
                    commands.append(WentLive(0, dict(result.positions), None))
                case Declined():
                    commands.append(SubscriptionRefused(result.reason))
        return commands
