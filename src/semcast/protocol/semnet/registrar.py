"""Whom routers and clients ask who is there: a coordinator of a network in which nobody decides anything."""

from __future__ import annotations

from semcast.protocol.contract import Command, Event
from semcast.protocol.coordinator.deployment import Deployment


class Registrar:
    """In the place of a coordinator's machine. There is no plan, so there is nothing to lead, and nothing to store."""

    term = 0
    current: Deployment | None = None
    deployment: Deployment | None = None

    def handle(self, event: Event, now: float) -> list[Command]:
        return []

    def leads(self, now: float) -> bool:
        return False

    def state(self) -> dict[str, object]:
        return {}
