"""Packets of 3.1.1, read and written as its standard has them."""

from __future__ import annotations

import mqtt5
import pytest

from semcast.server.mqtt.v311 import to_v5, written
from semcast.server.mqtt.wire import MqttError, decoded


def read(hex: str) -> mqtt5.Packet:
    return decoded(to_v5(bytes.fromhex(hex)))


def test_connect_with_will_user_and_password() -> None:
    # flags: user name, password, will QoS 1, will, clean session
    packet = read("102a 0004 4d515454 04 ce 003c 0002 6964 0004 77696c6c 0003 627965 0004 75736572 0006 736563726574")
    assert isinstance(packet, mqtt5.ConnectPacket)
    assert (packet.client_id, packet.username, packet.password) == ("id", "user", b"secret")
    assert packet.will is not None
    assert (packet.will.topic, packet.will.payload, packet.will.qos.value) == ("will", b"bye", 1)
    assert (packet.clean_start, packet.session_expiry_interval) == (True, 0)


def test_a_session_that_is_not_clean_is_to_be_kept() -> None:
    packet = read("100e 0004 4d515454 04 00 003c 0002 6964")
    assert isinstance(packet, mqtt5.ConnectPacket)
    assert (packet.clean_start, packet.session_expiry_interval) == (False, 0xFFFFFFFF)


def test_publish_subscribe_and_unsubscribe() -> None:
    publish = read("3207 0001 61 0007 6869")
    assert isinstance(publish, mqtt5.PublishPacket)
    assert (publish.topic, publish.packet_id, publish.payload) == ("a", 7, b"hi")
    subscribe = read("8207 0003 0002 6123 01")
    assert isinstance(subscribe, mqtt5.SubscribePacket)
    assert [(wish.pattern, wish.max_qos.value) for wish in subscribe.topic_filters] == [("a#", 1)]
    unsubscribe = read("a205 0004 0001 61")
    assert isinstance(unsubscribe, mqtt5.UnsubscribePacket)
    assert unsubscribe.patterns == ["a"]


@pytest.mark.parametrize("hex", ["1004 0004 4d51", "3201 00", "3203 0009 61", "8201 00", "a200"])
def test_what_is_cut_short_is_refused(hex: str) -> None:
    with pytest.raises(MqttError):
        read(hex)


def test_what_is_written_has_no_properties() -> None:
    code = mqtt5.ConnAckReasonCode
    publish = mqtt5.PublishPacket("a", b"hi", qos=mqtt5.QoS(1), packet_id=7, duplicate=True, content_type="x")
    suback = mqtt5.SubAckPacket(3, [mqtt5.SubAckReasonCode(1), mqtt5.SubAckReasonCode(0x8F)], reason_str="x")
    assert written(mqtt5.ConnAckPacket(session_present=True)) == bytes.fromhex("2002 0100")
    assert written(mqtt5.ConnAckPacket(reason_code=code.CLIENT_ID_NOT_VALID)) == bytes.fromhex("2002 0002")
    assert written(mqtt5.ConnAckPacket(reason_code=code.TOPIC_NAME_INVALID)) == bytes.fromhex("2002 0003")
    assert written(publish) == bytes.fromhex("3a07 0001 61 0007 6869")
    assert written(mqtt5.PubAckPacket(7, reason_str="x")) == bytes.fromhex("4002 0007")
    assert written(suback) == bytes.fromhex("9004 0003 0180")
    assert written(mqtt5.UnsubAckPacket(4, [mqtt5.UnsubAckReasonCode(0)])) == bytes.fromhex("b002 0004")
    assert written(mqtt5.PingRespPacket()) == bytes.fromhex("d000")
    assert written(mqtt5.DisconnectPacket()) == b""
