"""Many connections with a subscription each, over MQTT and WebSocket: all are served, and idle ones cost nothing."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mqtt5
import pytest
from websockets.asyncio.client import ClientConnection, connect

from semcast.server.mqtt.wire import Reader
from semcast.server.serve import run
from tests.live.deployments import opened, running
from tests.live.members import cpu_s, settled
from tests.live.overlays import CALM, until, written

pytestmark = pytest.mark.system
ROLES_APART = 3
IDLE_S = 5.0
AT_ONCE = 50
"""Clients that dial at the same time: a server lets in only so many who have not said anything yet."""


@dataclass(frozen=True)
class Crowd:
    """So many clients of each kind, and how much of a core they may cost their gateway while nothing happens."""

    each: int
    idle_share: float | None
    patience_s: float


@pytest.mark.parametrize(
    "crowd",
    [
        pytest.param(Crowd(60, None, 60.0), id="some"),
        pytest.param(Crowd(5_000, 0.1, 600.0), id="ten-thousand", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_each_connection_gets_its_message_and_idle_ones_cost_nothing(tmp_path: Path, crowd: Crowd) -> None:
    run(_each_gets_its_message(tmp_path, crowd))


async def _each_gets_its_message(folder: Path, crowd: Crowd) -> None:
    async with running(written(folder, brokers=4, sources=1, gateways=2, seed=ROLES_APART, settings=CALM)) as up:
        await settled(up.ask, up.having("gateway"))
        gateway = up.having("gateway")[0]
        address = up.addresses[gateway]
        members: list[_Member] = [
            kind(f"{kind.__name__}/{n}") for n in range(crowd.each) for kind in (_MqttMember, _SocketMember)
        ]
        alone = await _idle_share(up.pid(gateway))
        await _all_begin(members, address, crowd.patience_s)
        status = await up.ask("status")
        assert status["subscriptions"] == len(members)
        client = await opened(up.addresses["c0"])
        publisher = client.publisher(up.having("source")[0])
        for turn in ("first", "second"):
            messages = [client.message("topics", f"{turn} {member.topic}", topic=member.topic) for member in members]
            await asyncio.gather(*[await publisher.put(message) for message in messages])
            due = 1 + (turn == "second")
            await until(lambda due=due: all(len(m.got) >= due for m in members), crowd.patience_s)  # type: ignore[misc]
            if turn == "first":
                share = await _idle_share(up.pid(gateway))
                print(f"a gateway takes {share:.1%} of a core for {len(members):,} that are idle; alone {alone:.1%}")
                assert crowd.idle_share is None or share < crowd.idle_share
        await asyncio.sleep(0.5)
        assert all(member.got == [f"first {member.topic}", f"second {member.topic}"] for member in members)
        await asyncio.gather(*(member.end() for member in members))
        await client.close()


async def _idle_share(pid: int) -> float:
    """How much of a core a process takes while nothing happens."""
    await asyncio.sleep(1.0)  # what was done last is over
    before = cpu_s(pid)
    await asyncio.sleep(IDLE_S)
    return (cpu_s(pid) - before) / IDLE_S


async def _all_begin(members: Sequence[_Member], address: str, patience_s: float) -> None:
    free = asyncio.Semaphore(AT_ONCE)

    async def one(member: _Member) -> None:
        async with free:
            await member.begin(address)

    async with asyncio.timeout(patience_s):
        await asyncio.gather(*map(one, members))


class _Member(ABC):
    """A client with a connection of its own and one subscription."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.got: list[str] = []
        self._reading: asyncio.Task[None] | None = None

    async def begin(self, address: str) -> None:
        """Returns when the subscription is live."""
        await self._subscribed(address)
        self._reading = asyncio.create_task(self._read())

    @abstractmethod
    async def _subscribed(self, address: str) -> None: ...

    @abstractmethod
    async def _read(self) -> None: ...

    async def end(self) -> None:
        assert self._reading is not None
        assert not self._reading.done()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._hang_up()

    @abstractmethod
    async def _hang_up(self) -> None: ...


class _MqttMember(_Member):
    async def _subscribed(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._from, self._to = await asyncio.open_connection(host, int(port))
        self._packets = Reader()
        self._packets.version = 5
        self._to.write(mqtt5.ConnectPacket(self.topic).write())
        assert isinstance(await self._next(), mqtt5.ConnAckPacket)
        wish = mqtt5.TopicFilter(self.topic, max_qos=mqtt5.QoS(0))
        self._to.write(mqtt5.SubscribePacket(1, [wish]).write())
        answer = await self._next()
        assert isinstance(answer, mqtt5.SubAckPacket), answer
        assert [int(code) for code in answer.reason_codes] == [0]

    async def _next(self) -> mqtt5.Packet:
        while (packet := self._packets.next()) is None:
            data = await self._from.read(65536)
            assert data, "the gateway has closed the connection"
            self._packets.feed(data)
        return packet

    async def _read(self) -> None:
        while True:
            packet = await self._next()
            assert isinstance(packet, mqtt5.PublishPacket), packet
            self.got.append(bytes(packet.payload).decode())

    async def _hang_up(self) -> None:
        self._to.close()


class _SocketMember(_Member):
    _socket: ClientConnection

    async def _subscribed(self, address: str) -> None:
        self._socket = await connect(f"ws://{address}/v1/ws", ping_interval=None, open_timeout=60)
        about = {"id": "s", "stream": "topics", "profile": self.topic}
        await self._socket.send(json.dumps({"subscribe": about}))
        while "live" not in json.loads(await self._socket.recv()):
            pass

    async def _read(self) -> None:
        async for line in self._socket:
            ((what, content),) = json.loads(line).items()
            assert what in ("message", "cursor"), line
            if what == "message":
                self.got.append(content["payload"])

    async def _hang_up(self) -> None:
        await self._socket.close()
