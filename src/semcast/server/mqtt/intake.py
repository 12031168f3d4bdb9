"""What MQTT clients publish at one gateway: one publisher for all of them, so that one fsync serves many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from semcast.client.messages import Receipt
from semcast.model.message import Message
from semcast.server.broker import BrokerHost
from semcast.server.local import LocalClient

HIGH_BYTES, LOW_BYTES = 32 << 20, 8 << 20
"""Bytes that are not durable yet: from HIGH on nobody is read from, below LOW all are again."""
_BESIDE = 500  # bytes that a message takes beside its payload


class Intake:
    """Hands messages over to sources; a connection keeps to one source, since order is a source's."""

    def __init__(self, host: BrokerHost) -> None:
        self._client = LocalClient(host)
        self._waiting = 0
        self._blocked: list[Callable[[], None]] = []
        self._full = False

    @property
    def full(self) -> bool:
        return self._full

    def when_room(self, call: Callable[[], None]) -> None:
        """Call back, once, when there is room again."""
        self._blocked.append(call)

    def now_ms(self) -> int:
        return round(1000 * self._client.overlay_time()[0])

    def source(self) -> str:
        return self._client.nearest_source()

    def publish(self, source: str, message: Message) -> asyncio.Future[Receipt]:
        """Done when the message is durable. Refused, at once or later, where it does not fit its stream."""
        receipt = self._client.publisher(source).offer(message)
        return self._counted(receipt, len(message.payload) + _BESIDE)

    def publish_all(self, source: str, messages: Sequence[Message]) -> None:
        """Messages that fit their streams, and of which nobody asks what becomes of them."""
        receipt = self._client.publisher(source).offer_all(messages)
        self._counted(receipt, sum([len(message.payload) for message in messages]) + _BESIDE * len(messages))

    def _counted(self, receipt: asyncio.Future[Receipt], size: int) -> asyncio.Future[Receipt]:
        self._waiting += size
        self._full = self._full or self._waiting > HIGH_BYTES
        receipt.add_done_callback(lambda done: self._settled(done, size))
        return receipt

    def _settled(self, receipt: asyncio.Future[Receipt], size: int) -> None:
        self._waiting -= size
        if not receipt.cancelled():
            receipt.exception()  # looked at: whoever sent it at QoS 0 may not care
        if self._full and self._waiting < LOW_BYTES:
            self._full = False
            blocked, self._blocked = self._blocked, []
            for call in blocked:
                call()

    async def stop(self) -> None:
        await self._client.close()
