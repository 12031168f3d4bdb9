"""A client within its gateway's process: what speaks MQTT or HTTP with somebody is one of these towards the overlay."""

from __future__ import annotations

import uuid

from semcast.client.party import Party
from semcast.model import SemcastError
from semcast.protocol.wire.frames import AnyFrame
from semcast.server.broker import BrokerHost


class LocalClient(Party):
    """A party at a broker. It is at this gateway and no other; it publishes at any source."""

    def __init__(self, host: BrokerHost, name: str | None = None) -> None:
        super().__init__()
        self.name = name or f"local-{host.name}-{uuid.uuid4().hex[:12]}"
        self.settings, self.streams = host.settings, host.streams
        self.running = True
        self._host = host
        if self.name in host.locals:
            raise SemcastError(f"there is a client {self.name!r} at {host.name} already")
        host.locals[self.name] = self._heard

    def say(self, to: str, frame: AnyFrame) -> int:
        if to == self._host.name:
            self._host.told(self.name, frame)
            return 1
        return self._host.tell_for(self.name, to, frame)

    def overlay_time(self) -> tuple[float, float]:
        return self._host.overlay_time()

    def gateways(self) -> list[str]:
        if "gateway" not in self._host.roles:
            raise SemcastError(f"{self._host.name} is no gateway")
        return [self._host.name]

    def nearest_source(self) -> str:
        return self._host.nearest_source()

    async def close(self) -> None:
        """Leave the overlay; durable sessions stay at the gateway."""
        await self.leave()
        self.running = False
        self._host.forget_local(self.name)

    def _heard(self, sender: str, frame: AnyFrame) -> None:
        self.dispatch(sender, frame)
