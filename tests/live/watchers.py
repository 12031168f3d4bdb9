"""Clients of every kind that read on, and come back when their gateway goes; what they got is judged later."""

from __future__ import annotations

import asyncio
import contextlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlencode

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from semcast.client import Client, Subscription
from tests.history.records import Recorder, Times

Where = Callable[[], str]
"""Gives the address of the gateway to try next."""


class Watcher(ABC):
    """Somebody who has subscribed, and counts what comes."""

    kind = ""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self.got: Counter[str] = Counter()
        self._history: tuple[Recorder, str] | None = None

    def record(self, recorder: Recorder, name: str) -> None:
        """Write down what it sees from now on, as a session of this name that is live already."""
        self._history = recorder, name
        recorder.subscribe(name, self.profile, times=self.times, gapless=self.times == "once", start="cursor")
        recorder.live(name)

    times: Times = "once"

    def took(self, payload: str, id: str = "") -> None:
        """Something came; ``id`` is its source and number, where the protocol tells."""
        if self._history is not None:
            recorder, name = self._history
            source, _, number = id.rpartition(":")
            recorder.deliver(name, payload, source or None, int(number) if number else None)
        self.got[payload] += 1

    @abstractmethod
    async def live(self) -> None:
        """Wait until nothing that matches is missed any more."""

    @abstractmethod
    async def stop(self) -> None: ...


class PythonWatcher(Watcher):
    """A subscription of the Python client, which goes from gateway to gateway by itself."""

    kind = "python"

    def __init__(self, client: Client, profile: str, stream: str = "topics", gateways: list[str] | None = None) -> None:
        super().__init__(profile)
        self.subscription: Subscription = client.subscribe(stream, profile, gateways=gateways)
        self._task = asyncio.create_task(self._read())

    async def live(self) -> None:
        await self.subscription.live()

    async def _read(self) -> None:
        async for message in self.subscription:
            self.took(message.payload.decode(), message.id)

    async def stop(self) -> None:
        await self.subscription.close()
        await self._task


class HttpWatcher(Watcher):
    """Reads over a connection to one gateway; when it breaks, goes on at the next, behind what it has seen."""

    broken: tuple[type[Exception], ...] = (OSError, EOFError)
    """What a connection ends with that breaks."""

    def __init__(self, where: Where, profile: str, stream: str = "topics") -> None:
        super().__init__(profile)
        self.stream = stream
        self.breaks = 0
        self._where = where
        self.cursor = ""
        self._live = asyncio.Event()
        self._task = asyncio.create_task(self._read_on())

    async def live(self) -> None:
        await self._live.wait()

    async def _read_on(self) -> None:
        while True:
            with contextlib.suppress(*self.broken):
                await self._read()
            self.breaks += 1
            await asyncio.sleep(0.3)

    @abstractmethod
    async def _read(self) -> None:
        """Connect and read until the end."""

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class EventWatcher(HttpWatcher):
    """Server-sent events, read as a browser does: after a break it comes back with the last id that it has seen."""

    kind = "sse"
    broken = (*HttpWatcher.broken, ValueError)

    async def _read(self) -> None:
        host, _, port = self._where().rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            path = f"/v1/streams/{self.stream}/messages?{urlencode({'profile': self.profile})}"
            last = f"Last-Event-ID: {self.cursor}\r\n" if self.cursor else ""
            writer.write(f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n{last}\r\n".encode())
            status = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in status.split(b"\r\n")[0]:
                raise ValueError(status)
            await self._events(reader)
        finally:
            writer.close()

    async def _events(self, reader: asyncio.StreamReader) -> None:
        name, data, last = "", "", self.cursor
        while line := (await reader.readline()).decode():
            if not line.endswith("\n"):
                return  # cut off in the middle: as if it had not come
            field, _, value = line.rstrip("\r\n").partition(": ")
            if field == "id":
                last = value
            elif field == "event":
                name = value
            elif field == "data":
                data = value
            elif not field:
                self.cursor = last
                if name == "live":
                    self._live.set()
                elif data and not name:
                    content = json.loads(data)
                    self.took(content["payload"], content["id"])
                name = data = ""


class SocketWatcher(HttpWatcher):
    """A subscription over WebSocket that is made again, behind the last cursor, when the connection breaks."""

    kind = "websocket"
    broken = (*HttpWatcher.broken, WebSocketException)

    async def _read(self) -> None:
        async with connect(f"ws://{self._where()}/v1/ws", max_queue=None) as socket:
            about = {"id": "s", "stream": self.stream, "profile": self.profile}
            if self.cursor:
                about["cursor"] = self.cursor
            await socket.send(json.dumps({"subscribe": about}))
            async for line in socket:
                ((what, content),) = json.loads(line).items()
                self.cursor = content.get("cursor") or self.cursor
                if what == "live":
                    self._live.set()
                elif what == "message":
                    self.took(content["payload"], content["id"])


class MqttWatcher(Watcher):
    """A persistent MQTT session at one gateway; paho dials again when the connection breaks."""

    def __init__(self, address: str, name: str, profile: str, stream: str | None = None, *, qos: int = 1) -> None:
        """``stream``: the profile is one of content, and a property of the subscription; else it is a topic."""
        super().__init__(profile)
        self.address = address
        self.kind = f"mqtt qos {qos}"
        self.times = "at least once" if qos else "at most once"
        self._loop = asyncio.get_running_loop()
        self._live = asyncio.Event()
        host, _, port = address.rpartition(":")
        self._client = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=paho.MQTTv5)
        self._client.on_message = lambda client, data, message: self.took(message.payload.decode())
        asked = Properties(PacketTypes.SUBSCRIBE)
        if stream is not None:
            asked.UserProperty = [("profile", profile)]
        self._client.on_connect = lambda client, *_: client.subscribe(
            stream or f"{profile}/#", options=SubscribeOptions(qos=qos), properties=asked
        )
        self._client.on_subscribe = lambda *_: self._loop.call_soon_threadsafe(self._live.set)
        self._client.reconnect_delay_set(1, 1)
        lasting = Properties(PacketTypes.CONNECT)
        lasting.SessionExpiryInterval = 3600
        self._client.connect_async(host, int(port), clean_start=False, properties=lasting)
        self._client.loop_start()

    async def live(self) -> None:
        await self._live.wait()

    async def stop(self) -> None:
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)
