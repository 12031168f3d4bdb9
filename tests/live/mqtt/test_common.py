"""At QoS 0 clients that ask for the same share a subscription: nobody notices, and nobody waits for a slow one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import mqtt5
import pytest

from semcast.model.message import ProfileText
from semcast.server.mqtt.common import Common
from semcast.server.mqtt.v311 import written
from tests.live.mqtt.overlay import Overlay, Raw, connected

pytestmark = pytest.mark.system
OLDER = bytes.fromhex("100f00044d5154540402003c00036f6c64")
"""CONNECT of a client of 3.1.1."""


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overlay]:
    overlay = Overlay(tmp_path_factory.mktemp("overlay"))
    yield overlay
    overlay.stop()


def takers(overlay: Overlay, profile: str) -> set[str]:
    """Who shares the subscription to a profile at b2."""

    async def found() -> set[str]:
        common: Common | None = overlay.front("b2")._commons.get(ProfileText("sensors", "topic", profile))
        return {session.client_id for session in common.takers} if common is not None else set()

    return overlay.run(found())


def until_taken_by(overlay: Overlay, profile: str, names: set[str]) -> None:
    for _ in range(600):
        if takers(overlay, profile) == names:
            return
        overlay.run(asyncio.sleep(0.1))
    raise AssertionError(f"{names} wanted, and there is {takers(overlay, profile)}")


def test_a_message_comes_to_each_in_the_form_it_asked_for(overlay: Overlay) -> None:
    port = overlay.port("b2")
    with connected(port, "five") as five, connected(port, "numbered") as numbered, connected(port, "pub") as publisher:
        old = Raw(port)
        old.socket.sendall(OLDER)
        assert old.socket.recv(4) == b"\x20\x02\x00\x00"
        old.socket.sendall(b"\x82\x0b\x00\x01\x00\x06form/#\x00")
        assert old.socket.recv(5) == b"\x90\x03\x00\x01\x00"
        five.subscribe("form/#", qos=0)
        numbered.subscribe("form/#", qos=0, subscription_id=300, user_properties=[("include", "id")])
        assert takers(overlay, "form") == {"five", "numbered", "old"}
        publisher.publish("form/a", "x")
        assert five.take().payload == b"x"
        packet = numbered.take()
        assert (packet.payload, packet.subscription_ids) == (b"x", [300])
        assert [name for name, _ in packet.user_properties] == ["semcast-id"]
        assert old.socket.recv(100) == written(mqtt5.PublishPacket("form/a", b"x"))
        old.close()
    until_taken_by(overlay, "form", set())


def test_what_was_published_before_is_for_those_who_were_there(overlay: Overlay) -> None:
    port = overlay.port("b2")
    with connected(port, "first") as first, connected(port, "late") as late, connected(port, "pub") as publisher:
        first.subscribe("since/#", qos=0)
        publisher.publish("since/a", "1")
        assert first.take().payload == b"1"
        late.subscribe("since/#", qos=0)
        publisher.publish("since/a", "2")
        assert first.take().payload == b"2"
        assert late.take().payload == b"2"


def test_who_wants_acknowledged_messages_instead_misses_none_and_gets_none_twice(overlay: Overlay) -> None:
    port = overlay.port("b2")
    with connected(port, "one") as one, connected(port, "other") as other, connected(port, "pub") as publisher:
        for client in (one, other):
            client.subscribe("again/#", qos=0)
        publisher.publish("again/a", "1")
        assert one.take().qos == mqtt5.QoS.AT_MOST_ONCE
        one.subscribe("again/#", qos=1)
        assert takers(overlay, "again") == {"other"}
        publisher.publish("again/a", "2")
        packet = one.take()
        assert (packet.payload, packet.qos) == (b"2", mqtt5.QoS.AT_LEAST_ONCE)
        assert [other.take().payload for _ in range(2)] == [b"1", b"2"]


def test_who_does_not_read_is_set_apart_and_comes_back_with_all_that_it_missed(overlay: Overlay) -> None:
    port, count, size = overlay.port("b2"), 600, 64 << 10
    with connected(port, "slow") as slow, connected(port, "quick") as quick, connected(port, "pub") as publisher:
        for client in (slow, quick):
            client.subscribe("much/#", qos=0)
        taken: list[bytes] = []
        reading = threading.Thread(target=lambda: taken.extend(quick.take().payload[:4] for _ in range(count)))
        reading.start()
        for number in range(count):
            publisher.publish("much/a", number.to_bytes(4, "big") + bytes(size))
        reading.join(120)
        assert taken == [number.to_bytes(4, "big") for number in range(count)]
        until_taken_by(overlay, "much", {"quick"})  # it may have been behind for a moment too
        assert overlay.embedded.brokers["b2"].notes["mqtt set apart"] >= 1
        assert [slow.take().payload[:4] for _ in range(count)] == taken
        until_taken_by(overlay, "much", {"slow", "quick"})
        publisher.publish("much/a", "last")
        assert (slow.take().payload, quick.take().payload) == (b"last", b"last")


def test_what_the_gateway_has_forgotten_is_asked_for_again_and_nothing_is_missed(overlay: Overlay) -> None:
    port = overlay.port("b2")

    async def forget() -> None:
        gateway = overlay.embedded.brokers["b2"].node.gateway
        assert gateway is not None
        profile = ProfileText("sensors", "topic", "forgotten")
        for session in [session for session in gateway.sessions.values() if session.profile == profile]:
            gateway._end(session)

    with connected(port, "reader") as reader, connected(port, "pub") as publisher:
        reader.subscribe("forgotten/#", qos=0)
        publisher.publish("forgotten/a", "1")
        assert reader.take().payload == b"1"
        overlay.run(forget())
        for number in (2, 3):
            publisher.publish("forgotten/a", str(number))
        assert [reader.take().payload for _ in range(2)] == [b"2", b"3"]
        publisher.publish("forgotten/a", "4")
        assert reader.take().payload == b"4"
