"""A gateway that is killed while messages flow: who subscribed with QoS 1 has all of his."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import mqtt5
import pytest

import semcast
from semcast.client import Client
from semcast.server.serve import run
from tests.live.deployments import running
from tests.live.mqtt.overlay import Raw, compile_matchers
from tests.live.overlays import until, written

pytestmark = pytest.mark.system
COUNT = 600


def test_a_killed_gateway_takes_nothing_from_a_session_with_qos_1(tmp_path: Path) -> None:
    compile_matchers("topic", "relational")
    run(_nothing_is_taken(tmp_path))


async def _nothing_is_taken(folder: Path) -> None:
    file = written(folder, brokers=4, sources=1, gateways=2)
    async with running(file) as up:
        gateway = up.having("gateway")[0]
        port = int(up.addresses[gateway].rpartition(":")[2])
        reading = asyncio.create_task(asyncio.to_thread(_read_all, port))
        async with semcast.connect(up.addresses["c0"]) as client:
            await _subscribed(client, gateway)
            publisher = client.publisher()
            for number in range(COUNT):
                await publisher.publish(client.message("topics", b"%d" % number, topic="killed/a"))
                if number in (COUNT // 3, 2 * COUNT // 3):
                    await up.kill(gateway)
        found, present = await reading
    assert list(dict.fromkeys(found)) == list(range(COUNT))
    assert present == [False] + [True] * (len(present) - 1)
    assert len(present) > 1


async def _subscribed(client: Client, gateway: str) -> None:
    async def live() -> bool:
        status = await client.ask("status", of=gateway)
        return bool(status["gateway"]["live"])

    await until(live)


def _read_all(port: int) -> tuple[list[int], list[bool]]:
    """Come back whenever the connection breaks, until the last message is there; and was a session there, each time."""
    found: list[int] = []
    present: list[bool] = []
    while not found or found[-1] != COUNT - 1:
        with contextlib.suppress(OSError):
            raw = Raw(port)
            raw.send(mqtt5.ConnectPacket("survivor", session_expiry_interval=300))
            connack = raw.receive()
            if isinstance(connack, mqtt5.ConnAckPacket):
                present.append(connack.session_present)
                _take(raw, found, new=len(present) == 1)
    return found, present


def _take(raw: Raw, found: list[int], *, new: bool) -> None:
    if new:
        raw.subscribe("killed/#")
    while not found or found[-1] != COUNT - 1:
        packet = raw.receive()
        if not isinstance(packet, mqtt5.PublishPacket):
            return
        found.append(int(packet.payload))
        assert packet.packet_id is not None
        raw.send(mqtt5.PubAckPacket(packet.packet_id))
