"""Texts of MQTT packets: what is no UTF-8 never comes to the codec, which would panic, and all else does."""

from __future__ import annotations

import contextlib

import mqtt5
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from semcast.server.mqtt.texts import are_utf8
from semcast.server.mqtt.wire import MqttError, decoded
from tests.laws.mqtt_packets import CONNECT, PACKETS

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00#+"), min_size=1, max_size=8)
pairs = st.lists(st.tuples(texts, texts), max_size=3)
anything = st.binary(max_size=8)

FULL = [
    mqtt5.ConnectPacket(
        "law", username="ä", password=b"\xff", user_properties=[("ö", "ü")], authentication_method="ß",
        will=mqtt5.Will("a/é", payload=b"\xfe", user_properties=[("ö", "ü")], content_type="é", response_topic="è"),
    ).write(),
    mqtt5.PublishPacket(
        "ä/b", b"\xff", qos=mqtt5.QoS(2), packet_id=9, content_type="é", response_topic="è", correlation_data=b"\xff",
        message_expiry_interval=255, user_properties=[("ö", "ü")],
    ).write(),
    mqtt5.PubCompPacket(255, reason_str="è", user_properties=[("ö", "ü")]).write(),
    mqtt5.DisconnectPacket(reason_str="è", session_expiry_interval=255).write(),
    mqtt5.SubAckPacket(255, [], reason_str="è").write(),
    mqtt5.UnsubAckPacket(255, [], reason_str="è").write(),
    mqtt5.ConnAckPacket(reason_str="è", assigned_client_id="é", server_reference="ä").write(),
]  # fmt: skip


@given(
    topic=texts,
    filters=st.lists(texts, min_size=1, max_size=3),
    body=anything,
    properties=pairs,
    number=st.integers(1, 65535),
)
def test_packets_with_texts_of_all_letters_are_read(
    topic: str, filters: list[str], body: bytes, properties: list[tuple[str, str]], number: int
) -> None:
    will = mqtt5.Will(topic, payload=body, user_properties=properties)
    written: list[mqtt5.Packet] = [
        mqtt5.PublishPacket(topic, body, qos=mqtt5.QoS(1), packet_id=number, user_properties=properties),
        mqtt5.PublishPacket(topic, body, content_type=topic, correlation_data=body),
        mqtt5.SubscribePacket(number, [mqtt5.TopicFilter(f) for f in filters], user_properties=properties),
        mqtt5.UnsubscribePacket(number, filters, user_properties=properties),
        mqtt5.ConnectPacket(topic, username=topic, password=body, will=will, user_properties=properties),
        mqtt5.DisconnectPacket(reason_str=topic, user_properties=properties),
    ]
    for packet in written:
        assert decoded(packet.write()) == packet


@pytest.mark.parametrize("frame", FULL, ids=lambda frame: str(frame[0] >> 4))
def test_whole_packets_of_every_kind_are_walked_to_their_last_text(frame: bytes) -> None:
    assert are_utf8(frame)
    for at in range(2, len(frame) - 1):
        if frame[at] == 0xC3:  # the first byte of a letter
            assert not are_utf8(frame[: at + 1] + b"A" + frame[at + 2 :])


@given(
    frame=st.sampled_from([CONNECT, *PACKETS, *FULL]),
    changes=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 255))),
)
@example(frame=b"\x30\x05\x00\x02\xff\xfe\x00", changes=[])
def test_whatever_is_changed_in_a_packet_the_codec_does_not_panic(frame: bytes, changes: list[tuple[int, int]]) -> None:
    data = bytearray(frame)
    for at, byte in changes:
        if 2 + at < len(data):
            data[2 + at] = byte
    if are_utf8(bytes(data)):
        with contextlib.suppress(ValueError, IndexError):
            mqtt5.read(memoryview(data))
    with contextlib.suppress(MqttError):
        decoded(bytes(data))
