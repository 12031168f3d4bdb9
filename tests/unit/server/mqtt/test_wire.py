"""Bytes that are packets, and bytes that are not."""

from __future__ import annotations

import mqtt5
import pytest

from semcast.model import ProfileError
from semcast.server.mqtt.wire import MAX_PACKET, MqttError, Reader, UnknownVersion, connects, fitting, told

CONNECT = mqtt5.ConnectPacket("x").write()
OLDER = bytes.fromhex("100d00044d5154540402003c000178")
OLDEST = bytes.fromhex("100f00064d51497364700302003c000178")


def read(data: bytes) -> list[mqtt5.Packet]:
    reader = Reader()
    reader.feed(data)
    found = []
    while (packet := reader.next()) is not None:
        found.append(packet)
    return found


def test_packets_come_out_however_their_bytes_are_cut() -> None:
    data = CONNECT + mqtt5.PublishPacket("a", b"x" * 300).write() + mqtt5.PingReqPacket().write()
    reader, found = Reader(), []
    for byte in data:
        reader.feed(bytes((byte,)))
        while (packet := reader.next()) is not None:
            found.append(type(packet))
    assert found == [mqtt5.ConnectPacket, mqtt5.PublishPacket, mqtt5.PingReqPacket]
    assert reader.waiting == 0


def test_a_whole_packet_is_enough_to_go_on_with() -> None:
    reader = Reader()
    reader.feed(CONNECT + b"\x30")
    assert isinstance(reader.next(), mqtt5.ConnectPacket)
    assert reader.next() is None
    assert reader.waiting == 1


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xc0\x00", 0x82),
        (CONNECT[:-1] + b"\xff", 0x81),
        (CONNECT + b"\x00\x00", 0x81),
        (CONNECT + b"\x30\xff\xff\xff\xff\xff", 0x81),
        (CONNECT + b"\x30" + bytes.fromhex("ffffff7f"), 0x95),
        (b"\x10\xff\xff\xff\x7f\x00\x04MQTT", 0x95),
    ],
)
def test_what_is_no_packet_says_how_the_connection_ends(data: bytes, code: int) -> None:
    with pytest.raises(MqttError) as error:
        read(data)
    assert error.value.code == code


def test_a_packet_of_the_greatest_size_is_taken_and_one_more_byte_is_not() -> None:
    fits = mqtt5.PublishPacket("a", b"x" * (MAX_PACKET - 4)).write()
    assert len(read(CONNECT + fits)) == 2
    with pytest.raises(MqttError, match="are the most"):
        read(CONNECT + mqtt5.PublishPacket("a", b"x" * (MAX_PACKET - 3)).write())


def test_versions_are_told_apart() -> None:
    (older,) = read(OLDER)
    assert isinstance(older, mqtt5.ConnectPacket)
    assert (older.client_id, older.keep_alive, older.clean_start) == ("x", 60, True)
    for data in (OLDEST, CONNECT[:8] + b"\x06" + CONNECT[9:]):
        with pytest.raises(UnknownVersion):
            read(data)


@pytest.mark.parametrize("data", [CONNECT, OLDER, OLDEST, mqtt5.ConnectPacket("x" * 300).write()])
def test_a_connect_is_recognised_by_its_first_bytes(data: bytes) -> None:
    assert connects(data[:8])


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1", b"\x10\x0e\x00\x04MQTx", b"\x00\x00\x00\x10\x00\x04MQTT", b"\x10" * 8]
)
def test_other_protocols_are_not_taken_for_mqtt(data: bytes) -> None:
    assert not connects(data[:8])


def test_reasons_hold_nothing_that_clients_take_for_damage() -> None:
    assert fitting("a\nb\0c\x85d") == "a b c d"
    assert fitting("x" * 2000) == "x" * 999 + "…"
    assert told(ProfileError("no", "text", 1, hint="yes")) == "no (yes)"
