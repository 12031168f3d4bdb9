"""Whatever bytes come to an MQTT connection: what it answers is MQTT, and the broker goes on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import mqtt5
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.server.mqtt.connection import MqttConnection
from semcast.server.mqtt.v311 import to_v5, written
from semcast.server.mqtt.wire import MqttError, Reader, decoded
from tests.laws.mqtt_packets import CONNECT, PACKETS
from tests.live.mqtt.overlay import Overlay, connected

OLDER = bytes.fromhex("100f00044d5154540402003c00036c6177")


class Wire(asyncio.Transport):
    """A transport that keeps what is written, and lives until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.data = bytearray()
        self.closed = False

    def write(self, data: bytes) -> None:  # type: ignore[override]
        assert not self.closed
        self.data += data

    def writelines(self, parts: list[bytes]) -> None:  # type: ignore[override]
        self.write(b"".join(parts))

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overlay]:
    overlay = Overlay(tmp_path_factory.mktemp("overlay"))
    yield overlay
    overlay.stop()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Packets, some with a few bytes changed, cut out or put in."""
    data = bytearray(b"".join(draw(st.lists(st.sampled_from(PACKETS), max_size=5))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(data)


OLDER_SIZES = {0x20: 2, 0x40: 2, 0xB0: 2, 0xD0: 0}
"""CONNACK, PUBACK, UNSUBACK and PINGRESP of 3.1.1 have one size each; PUBLISH and SUBACK have any."""


def check_older(data: bytes) -> None:
    """Read as the standard says, without a line of the broker's: a DISCONNECT is nothing that a 3.1.1 server sends."""
    while data:
        kind, length, shift, at = data[0] & 0xF0, 0, 0, 1
        while True:
            length |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if not data[at - 1] & 0x80:
                break
        assert kind in {*OLDER_SIZES, 0x30, 0x90}, hex(kind)
        assert length == OLDER_SIZES.get(kind, length)
        assert len(data) >= at + length, "cut off"
        data = data[at + length :]


def packets(data: bytes, version: int) -> list[mqtt5.Packet]:
    """What a broker has answered; to a client of 3.1.1 it is whole packets of the kinds that 3.1.1 has."""
    if version == 4:
        check_older(data)
        return []
    reader, found = Reader(), []
    reader.version = 5
    reader.feed(data)
    while (packet := reader.next()) is not None:
        found.append(packet)
    assert reader.waiting == 0
    return found


@pytest.mark.system
@settings(max_examples=150)
@given(st.sampled_from([CONNECT, OLDER, b""]), st.one_of(damaged(), st.binary(max_size=60)), st.integers(1, 40))
def test_random_bytes_never_break_the_broker(overlay: Overlay, first: bytes, data: bytes, piece: int) -> None:
    async def fed() -> tuple[Wire, MqttConnection]:
        wire, connection = Wire(), MqttConnection(overlay.front("b2"))
        connection.connection_made(wire)
        sent = first + data
        for at in range(0, len(sent), piece):
            connection.data_received(sent[at : at + piece])
        await asyncio.sleep(0)
        connection.connection_lost(None)
        return wire, connection

    wire, _ = overlay.run(fed())
    answers = packets(bytes(wire.data), 4 if first == OLDER or wire.data[:2] == b"\x20\x02" else 5)
    if wire.closed and answers:
        ends = (mqtt5.ConnAckPacket, mqtt5.DisconnectPacket)
        assert isinstance(answers[-1], ends) or b"\xe0" in data
    with connected(overlay.port("b2")) as client:
        client.send(mqtt5.PingReqPacket())
        client.expect(mqtt5.PingRespPacket)


@given(st.one_of(st.binary(max_size=200), damaged()))
def test_a_reader_gives_packets_or_an_error_and_nothing_else(data: bytes) -> None:
    for version in (0, 4, 5):
        reader = Reader()
        reader.version = version
        reader.feed(data)
        with contextlib.suppress(MqttError):
            while reader.next() is not None:
                pass


topics = st.text(st.characters(codec="utf-8", exclude_characters="\0#+"), min_size=1, max_size=20)


@given(topics, st.binary(max_size=300), st.integers(0, 1), st.integers(1, 65535), st.booleans())
def test_a_message_survives_3_1_1(topic: str, payload: bytes, qos: int, number: int, again: bool) -> None:
    given = {"packet_id": number, "duplicate": again} if qos else {}
    packet = mqtt5.PublishPacket(topic, payload, qos=mqtt5.QoS(qos), **given)  # type: ignore[arg-type]
    back = decoded(to_v5(written(packet)))
    assert isinstance(back, mqtt5.PublishPacket)
    assert back.write() == packet.write()
