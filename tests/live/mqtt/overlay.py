"""A whole overlay in a thread of the test's process, and an MQTT client that does nothing by itself."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import mqtt5
import pyarrow as pa

import semcast
from semcast.server.config import read_config
from semcast.server.embedded import Embedded
from semcast.server.mqtt import MqttFront
from semcast.server.mqtt.wire import Reader

T = TypeVar("T")
P = TypeVar("P")
PATIENCE_S = 120.0
CONFIG = """
data = "data"
[topology]
kind = "random"
brokers = 4
degree = 2
seed = 7
sources = ["b0"]
gateways = ["b2", "b3"]
[streams.quotes]
language = "relational"
schema = { symbol = "string", price = "double" }
[streams.news]
language = "xpath"
[streams.sensors]
language = "topic"
[settings]
expiry_s = 600
"""


class Overlay:
    """Brokers and a coordinator on real sockets, for clients of other threads and processes."""

    def __init__(self, folder: Path) -> None:
        file = folder / "up.toml"
        file.write_text(CONFIG)
        compile_matchers()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.embedded: Embedded = self.run(self._started(file))

    async def _started(self, file: Path) -> Embedded:
        embedded = Embedded(read_config(file))
        await embedded.start()
        return embedded

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def address(self, broker: str) -> str:
        return self.embedded.addresses()[broker]

    def port(self, broker: str) -> int:
        return int(self.address(broker).rpartition(":")[2])

    def front(self, broker: str) -> MqttFront:
        return next(found for found in self.embedded.brokers[broker].fronts if isinstance(found, MqttFront))

    def restart(self, broker: str) -> None:
        async def again() -> None:
            await self.embedded.brokers[broker].stop()
            await self.embedded.start_broker(broker)

        self.run(again())

    def stop(self) -> None:
        self.run(self.embedded.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def compile_matchers(*languages: str) -> None:
    """A broker that compiles its matchers for the first time answers nobody meanwhile."""
    for name, text, batch in (
        ("topic", "a", {"topic": ["a"]}),
        ("relational", "x > 1 AND y = 'a'", {"x": [1.5], "y": ["a"]}),
        ("xpath", "/a", {"payload": ["<a/>"]}),
    ):
        if languages and name not in languages:
            continue
        language = semcast.language(name)
        language.matcher([language.parse(text)]).match(pa.table(batch))


class Raw:
    """A client that sends what it is told, and acknowledges nothing by itself."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._reader = Reader()
        self._reader.version = 5
        self._number = 0

    def send(self, *packets: mqtt5.Packet) -> None:
        self.socket.sendall(b"".join(packet.write() for packet in packets))

    def receive(self) -> mqtt5.Packet | None:
        """The next packet; None where the other end has closed the connection."""
        while (packet := self._reader.next()) is None:
            data = self.socket.recv(65536)
            if not data:
                return None
            self._reader.feed(data)
        return packet

    def expect(self, kind: type[P]) -> P:
        packet = self.receive()
        assert isinstance(packet, kind), packet
        return packet

    def subscribe(self, filter: str, qos: int = 1, **options: Any) -> mqtt5.SubAckPacket:
        self._number += 1
        given = {name: options.pop(name) for name in ("subscription_id", "user_properties") if name in options}
        wish = mqtt5.TopicFilter(filter, max_qos=mqtt5.QoS(qos), **options)
        self.send(mqtt5.SubscribePacket(self._number, [wish], **given))
        return self.expect(mqtt5.SubAckPacket)

    def publish(self, topic: str, payload: bytes | str, **options: Any) -> mqtt5.PubAckPacket:
        """Publish with QoS 1, and wait for what comes of it."""
        self.post(topic, payload, **options)
        return self.expect(mqtt5.PubAckPacket)

    def post(self, topic: str, payload: bytes | str, **options: Any) -> None:
        self._number += 1
        data = payload.encode() if isinstance(payload, str) else payload
        self.send(mqtt5.PublishPacket(topic, data, qos=mqtt5.QoS(1), packet_id=self._number, **options))

    def take(self, *, acknowledge: bool = True) -> mqtt5.PublishPacket:
        packet = self.expect(mqtt5.PublishPacket)
        if acknowledge and packet.packet_id is not None:
            self.send(mqtt5.PubAckPacket(packet.packet_id))
        return packet

    def close(self) -> None:
        self.socket.close()


@contextmanager
def connected(port: int, client_id: str = "", **options: Any) -> Iterator[Raw]:
    """A client that is connected, and drops the connection in the end."""
    raw = Raw(port)
    try:
        raw.send(mqtt5.ConnectPacket(client_id, **options))
        raw.connack = raw.expect(mqtt5.ConnAckPacket)  # type: ignore[attr-defined]
        yield raw
    finally:
        raw.close()
