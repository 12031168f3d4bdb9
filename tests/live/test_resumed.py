"""Sessions that are closed in order go on exactly where they were, over every protocol; and closing is quick."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from websockets.asyncio.client import connect

import semcast
from semcast.client import Client
from semcast.client.client import connection_of
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from tests.history.checker import check
from tests.history.records import Recorder, Times
from tests.live.deployments import opened, running
from tests.live.overlays import CALM, overlay, until, written
from tests.live.watchers import EventWatcher

pytestmark = pytest.mark.system
MESSAGES, ROUNDS, PAUSE_S = 200, 6, 0.005
Got = Counter[int]


def gateways(up: Embedded) -> list[str]:
    return sorted(name for name, host in up.brokers.items() if "gateway" in host.roles)


def address(up: Embedded) -> str:
    return up.addresses()[gateways(up)[0]]


class Reader:
    """Opens a session, takes some messages and closes the session in order, as often as it is asked to."""

    times: Times = "once"
    ordered = False

    def __init__(self, up: Embedded) -> None:
        self.up = up
        self.got: Got = Counter()
        self._history: tuple[Recorder, str] | None = None

    def record(self, recorder: Recorder, name: str) -> None:
        """Write down what it takes from now on, under the name of its kind; its session is live and kept."""
        self._history = recorder, name
        recorder.subscribe(name, "news", ordered=self.ordered, times=self.times, start="cursor", gapless=True)
        recorder.live(name)
        recorder.close(name, keep=True)

    async def turn(self, count: int) -> None:
        """Open the session, take so many messages at least, and close it again."""
        if self._history is not None:
            self._history[0].resume(self._history[1])
        await self.read(count)
        if self._history is not None:
            self._history[0].close(self._history[1], keep=True)

    def took(self, payload: bytes | str, id: str = "") -> None:
        if self._history is not None:
            source, _, number = id.rpartition(":")
            recorder, name = self._history
            recorder.deliver(name, str(int(payload)), source or None, int(number) if number else None)
        self.got[int(payload)] += 1

    async def read(self, count: int) -> None:
        """Take so many messages at least; none: only have the session live."""
        raise NotImplementedError


class PythonReader(Reader):
    def __init__(self, up: Embedded, session: str, *, name: str | None = None, **options: Any) -> None:
        super().__init__(up)
        self._session, self._name, self._options = session, name, options
        self.ordered = bool(options.get("ordered"))
        self._gateways = gateways(up) if options.get("together") else gateways(up)[:1]

    async def read(self, count: int) -> None:
        async with semcast.connect(address(self.up), name=self._name) as client:
            await self._read(client, count)

    async def _read(self, client: Client, count: int) -> None:
        subscription = client.subscribe(
            "topics", "news", session=self._session, gateways=self._gateways, **self._options
        )
        await subscription.live()
        for _ in range(count):
            message = await anext(subscription)
            self.took(message.payload, message.id)
        await subscription.close(keep=True)


class SameClientReader(PythonReader):
    """One client, which closes the session and opens it again."""

    _client: Client | None = None

    async def read(self, count: int) -> None:
        if self._client is None:
            self._client = semcast.connect(address(self.up))
            await self._client.open()
        await self._read(self._client, count)
        if len(self.got) == MESSAGES * ROUNDS:
            await self._client.close()


class SocketReader(Reader):
    def __init__(self, up: Embedded, acks: str) -> None:
        super().__init__(up)
        self._about = {"id": "s", "stream": "topics", "profile": "news", "session": f"ws {acks}", "acks": acks}

    async def read(self, count: int) -> None:
        async with connect(f"ws://{address(self.up)}/v1/ws", max_queue=None) as socket:
            await socket.send(json.dumps({"subscribe": self._about}))
            async for line in socket:
                ((what, content),) = json.loads(line).items()
                assert what != "error", content
                if what == "unsubscribed":
                    return
                manual = self._about["acks"] == "manual"
                if what == "message" and not (manual and count < 0):  # what is not acknowledged is not taken
                    self.took(content["payload"], content["id"])
                    count -= 1
                    if manual:
                        await socket.send(json.dumps({"ack": {"id": "s", "message": content["id"]}}))
                if what in ("live", "message") and count == 0:
                    count = -1
                    await socket.send(json.dumps({"unsubscribe": {"id": "s", "keep": True}}))


class EventReader(Reader):
    """Goes on behind the id of the last event."""

    _cursor = ""

    async def read(self, count: int) -> None:
        watcher = EventWatcher(lambda: address(self.up), "news")
        watcher.cursor = self._cursor
        await watcher.live()
        await until(lambda: watcher.got.total() >= count, every_s=0.01)
        await watcher.stop()
        self._cursor = watcher.cursor
        for payload in watcher.got.elements():
            self.took(payload)


class Pace:
    """Publishing that can be held up for a moment."""

    def __init__(self) -> None:
        self.held = asyncio.Lock()
        self.published = 0


class MqttReader(Reader):
    """MQTT has no word for what a client has taken when it disconnects: it does so while nothing is under way."""

    def __init__(self, up: Embedded, qos: int, pace: Pace) -> None:
        super().__init__(up)
        self._qos, self._pace = qos, pace

    async def read(self, count: int) -> None:
        loop, live, enough = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        left = [count]

        def came(client: paho.Client, data: object, message: paho.MQTTMessage) -> None:
            self.took(message.payload)
            client.ack(message.mid, message.qos)  # before it disconnects: else it is owed again, rightly
            left[0] -= 1
            if left[0] <= 0:
                loop.call_soon_threadsafe(enough.set)

        host, _, port = address(self.up).rpartition(":")
        client = paho.Client(CallbackAPIVersion.VERSION2, f"kept-{self._qos}", protocol=paho.MQTTv5)
        client.manual_ack_set(True)
        client.on_message = came
        client.on_connect = lambda client, *_: client.subscribe("news/#", self._qos)
        client.on_subscribe = lambda *_: loop.call_soon_threadsafe(live.set)
        lasting = Properties(PacketTypes.CONNECT)
        lasting.SessionExpiryInterval = 3600
        client.connect_async(host, int(port), clean_start=False, properties=lasting)
        client.loop_start()
        await live.wait()
        if count:
            await enough.wait()
        async with self._pace.held:
            await until(lambda: len(self.got) == self._pace.published, every_s=0.01)
            client.disconnect()
            await asyncio.to_thread(client.loop_stop)


def test_sessions_that_are_closed_in_order_miss_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    run(_closed_in_order(tmp_path))


async def _closed_in_order(folder: Path) -> None:
    async with overlay(folder, brokers=4, gateways=2, settings=CALM) as up:
        pace = Pace()
        readers = {
            "python": PythonReader(up, "plain"),
            "python, ordered": PythonReader(up, "ordered", ordered=True),
            "python, at two gateways": PythonReader(up, "together", together=True),
            "python, under one name": PythonReader(up, "named", name="desk"),
            "python, one client": SameClientReader(up, "same"),
            "websocket": SocketReader(up, "auto"),
            "websocket, manual acks": SocketReader(up, "manual"),
            "server-sent events": EventReader(up),
            "mqtt, qos 0": MqttReader(up, 0, pace),
            "mqtt, qos 1": MqttReader(up, 1, pace),
        }
        await asyncio.gather(*(reader.read(0) for reader in readers.values()))
        recorder = Recorder()
        for name, reader in readers.items():
            reader.record(recorder, name)
        async with semcast.connect(address(up)) as client:
            publishing = asyncio.create_task(_publish(client, recorder, pace))
            await asyncio.gather(*(_read_all(reader) for reader in readers.values()))
            await publishing
        recorder.topics(["news"], {str(number): "news/of/it" for number in range(MESSAGES * ROUNDS)})
        recorder.end()
        assert [str(fault) for fault in check(recorder.records)] == []
        wrong = {name: reader.got - Counter(range(MESSAGES * ROUNDS)) for name, reader in readers.items()}
        assert {name: more.total() for name, more in wrong.items() if more} == {}


async def _publish(client: Client, recorder: Recorder, pace: Pace) -> None:
    receipts = []
    for number in range(MESSAGES * ROUNDS):
        recorder.publish("p", str(number))
        async with pace.held:
            receipts.append(await client.publisher().put(client.message("topics", str(number), topic="news/of/it")))
            pace.published += 1
        await asyncio.sleep(PAUSE_S)
    for number, receipt in enumerate(await asyncio.gather(*receipts)):
        recorder.ack("p", str(number), receipt.source, receipt.number)


async def _read_all(reader: Reader) -> None:
    async with asyncio.timeout(120):
        while (left := MESSAGES * ROUNDS - len(reader.got)) > 0:
            await reader.turn(min(MESSAGES, left))


def test_a_client_that_crashes_gets_again_what_it_had_in_hand_and_no_more(tmp_path: Path) -> None:
    async def whole() -> None:
        async with overlay(tmp_path, brokers=4, gateways=2, settings=CALM) as up:
            got: Got = Counter()
            first = gateways(up)[:1]
            async with semcast.connect(address(up)) as publisher:
                for life in range(4):
                    client = semcast.connect(address(up))
                    await client.open()
                    subscription = client.subscribe("topics", "news", session="kept", gateways=first)
                    await subscription.live()
                    for number in range(100 * life, 100 * life + 100):
                        await publisher.publish("topics", str(number), topic="news/of/it")
                    while len(got) < 100 * life + 90:
                        got[int((await anext(subscription)).payload)] += 1
                    await asyncio.sleep(0.3)  # what was confirmed is told within a tick
                    connection = connection_of(client)
                    for peer in connection.peers.values():
                        peer.abort("a crash")
                    connection.say = lambda to, frame: 0  # type: ignore[method-assign]
                    subscription._party.running = False
                    await subscription.close(keep=True, taken=False)
                    await connection.stop()
            assert max(got.values()) <= 2
            assert sum(times > 1 for times in got.values()) <= 4  # one in hand per life

    run(whole())


def test_a_thousand_subscriptions_with_unread_messages_close_together(tmp_path: Path) -> None:
    """Whether their gateway answers or not: the machine's clock is read, with five times the room that is promised."""

    async def whole() -> None:
        async with running(written(tmp_path, brokers=4, gateways=2, settings=CALM)) as up:
            gateway = up.having("gateway")[0]
            for stopped in (False, True):
                client = await opened(up.addresses[gateway])
                held = [client.subscribe("topics", "news", gateways=[gateway]) for _ in range(1000)]
                await asyncio.gather(*(subscription.live() for subscription in held))
                await client.publish("topics", "unread", topic="news/of/it")
                await until(lambda held=held: all(subscription._given for subscription in held))  # type: ignore[misc]
                if stopped:
                    os.kill(up.pid(gateway), signal.SIGSTOP)
                begun = time.monotonic()
                await client.close()
                took_s = time.monotonic() - begun
                if stopped:
                    os.kill(up.pid(gateway), signal.SIGCONT)
                assert took_s < 5.0

    run(whole())
