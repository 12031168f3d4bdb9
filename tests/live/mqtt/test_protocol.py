"""MQTT packet by packet, against a real overlay."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import mqtt5
import pytest

from tests.live.mqtt.overlay import Overlay, Raw, connected

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overlay]:
    overlay = Overlay(tmp_path_factory.mktemp("overlay"))
    yield overlay
    overlay.stop()


@pytest.fixture(scope="module")
def port(overlay: Overlay) -> int:
    return overlay.port("b2")


# --- connecting


def named(name: str, packet: mqtt5.Packet) -> bytes:
    """A packet with a name that the codec does not write; a question mark stands where it is forbidden."""
    forbidden = name.translate(str.maketrans("+#\0", "???"))
    data = packet.write()
    assert data.count(forbidden.encode()) == 1
    return data.replace(forbidden.encode(), name.encode())


def test_connack_says_what_is_not_offered(port: int) -> None:
    with connected(port) as client:
        connack = client.connack
        assert connack.reason_code == 0
        assert not connack.session_present
        assert connack.assigned_client_id
        assert connack.max_qos == 1
        assert not connack.retain_available
        assert connack.receive_max == 1024
        assert connack.max_packet_size == 4 << 20


def test_a_session_is_kept_no_longer_than_the_overlay_keeps_any(port: int) -> None:
    with connected(port, "greedy", session_expiry_interval=0xFFFFFFFF) as client:
        assert client.connack.session_expiry_interval == 600


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"authentication_method": "SCRAM"}, 0x8C),
        ({"will": mqtt5.Will("a", retain=True)}, 0x9A),
        ({"will": mqtt5.Will("a", qos=mqtt5.QoS(2))}, 0x9B),
        ({"will": mqtt5.Will("$SYS/a")}, 0x90),
    ],
)
def test_what_cannot_be_is_refused_when_a_client_connects(port: int, options: dict[str, object], code: int) -> None:
    with connected(port, "x", **options) as client:
        assert client.connack.reason_code == code
        assert client.connack.reason_str
        assert client.receive() is None


@pytest.mark.parametrize("name", ["w/+", "w/#", "w\0"])
def test_a_will_cannot_have_a_topic_that_no_message_can_have(port: int, name: str) -> None:
    raw = Raw(port)
    will = mqtt5.Will(name.translate(str.maketrans("+#\0", "???")))
    raw.socket.sendall(named(name, mqtt5.ConnectPacket("x", will=will)))
    assert raw.expect(mqtt5.ConnAckPacket).reason_code == 0x90
    assert raw.receive() is None
    raw.close()


def test_the_first_packet_has_to_be_connect(port: int) -> None:
    raw = Raw(port)
    raw.socket.sendall(mqtt5.ConnectPacket("x").write()[:8])
    raw.close()
    raw = Raw(port)
    raw.send(mqtt5.ConnectPacket("x"), mqtt5.ConnectPacket("x"))
    raw.expect(mqtt5.ConnAckPacket)
    assert raw.expect(mqtt5.DisconnectPacket).reason_code == 0x82
    assert raw.receive() is None


def test_versions_before_3_1_1_are_told_that_they_are_not_spoken(port: int) -> None:
    raw = socket.create_connection(("127.0.0.1", port))
    raw.sendall(bytes.fromhex("100f00064d51497364700302003c00017800"))
    assert raw.recv(100) == b"\x20\x02\x00\x01"
    assert raw.recv(100) == b""


def test_a_session_of_3_1_1_that_is_to_be_kept_needs_a_client_id(port: int) -> None:
    raw = socket.create_connection(("127.0.0.1", port))
    raw.sendall(bytes.fromhex("100c00044d5154540400003c0000"))
    assert raw.recv(100) == b"\x20\x02\x00\x02"
    assert raw.recv(100) == b""


def test_the_same_client_id_takes_over(port: int) -> None:
    with connected(port, "twin") as first, connected(port, "twin"):
        assert first.expect(mqtt5.DisconnectPacket).reason_code == 0x8E
        assert first.receive() is None


def test_who_is_silent_for_longer_than_it_said_is_left(port: int) -> None:
    with connected(port, "silent", keep_alive=1) as client:
        assert client.expect(mqtt5.DisconnectPacket).reason_code == 0x8D


def test_ping_is_answered(port: int) -> None:
    with connected(port) as client:
        client.send(mqtt5.PingReqPacket())
        client.expect(mqtt5.PingRespPacket)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (mqtt5.AuthPacket(authentication_method="x").write(), 0x82),
        (b"\x90\x04\x00\x01\x00\x00", 0x82),  # SUBACK is not a client's
        (b"\x82\x02\x00\x01", 0x81),
        (b"\x30\x05\x00\x02\xff\xfe\x00", 0x81),  # no UTF-8
        (b"\x30\xff\xff\xff\xff\x01", 0x81),
        (b"\x30\xff\xff\xff\x7f", 0x95),
        (mqtt5.PublishPacket("a", b"", qos=mqtt5.QoS(2), packet_id=1).write(), 0x9B),
        (mqtt5.PublishPacket("a", b"", retain=True).write(), 0x9A),
        (mqtt5.PublishPacket("a", b"", topic_alias=65).write(), 0x94),
        (mqtt5.PublishPacket("", b"", topic_alias=7).write(), 0x82),
        (mqtt5.PublishPacket("$SYS/a", b"").write(), 0x90),
        (named("a/+", mqtt5.PublishPacket("a/?", b"")), 0x90),
        (named("#", mqtt5.PublishPacket("?", b"")), 0x90),
        (named("a/#/b", mqtt5.PublishPacket("a/?/b", b"", topic_alias=2)), 0x90),
        (named("a\0b", mqtt5.PublishPacket("a?b", b"")), 0x90),
        (named("b/#", mqtt5.PublishPacket("a", b"", response_topic="b/?")), 0x82),
        (b"\x82\x03\x00\x01\x00", 0x82),  # SUBSCRIBE without a filter
        (b"\xa2\x03\x00\x01\x00", 0x82),  # UNSUBSCRIBE without a filter
        (mqtt5.PublishPacket("quotes", b'{"price": 1e400}').write(), 0x99),
        (mqtt5.PublishPacket("quotes", b'{"price": %b}' % (b"1" * 400)).write(), 0x99),
        (mqtt5.PublishPacket("quotes", b"no json").write(), 0x99),
    ],
)
def test_what_breaks_the_rules_ends_the_connection_with_a_reason(port: int, data: bytes, code: int) -> None:
    with connected(port) as client:
        client.socket.sendall(data)
        told = client.expect(mqtt5.DisconnectPacket)
        assert told.reason_code == code
        assert told.reason_str
        assert client.receive() is None


# --- publishing


def test_refusals_are_acknowledged_with_their_reason_and_in_order(port: int) -> None:
    with connected(port) as client:
        client.post("quotes", '{"price": 1}')
        client.post("quotes", '{"price": "dear"}')
        client.post("quotes/IBM", '{"price": 1}')
        client.post("news", "<a>")
        client.post("a/b", "anything")
        found = [client.expect(mqtt5.PubAckPacket) for _ in range(5)]
        assert [ack.packet_id for ack in found] == [1, 2, 3, 4, 5]
        assert [ack.reason_code.value for ack in found] == [0, 0x99, 0x90, 0x99, 0]
        assert found[1].reason_str == "'price' should be a number, and is \"dear\""
        assert found[2].reason_str == "'quotes' is a relational stream: its only topic is 'quotes'"


def test_topics_with_wildcards_are_refused_in_their_acknowledgement_and_behind_an_alias_too(port: int) -> None:
    with connected(port) as client:
        one = mqtt5.QoS(1)
        client.socket.sendall(named("a/+", mqtt5.PublishPacket("a/?", b"1", qos=one, packet_id=1)))
        client.socket.sendall(named("a\0", mqtt5.PublishPacket("a?", b"2", qos=one, packet_id=2)))
        client.socket.sendall(named("b/#", mqtt5.PublishPacket("b/?", b"3", qos=one, packet_id=3, topic_alias=1)))
        client.send(mqtt5.PublishPacket("", b"4", qos=one, packet_id=4, topic_alias=1))
        client.send(mqtt5.PublishPacket("a/b", b"5", qos=one, packet_id=5))
        found = [client.expect(mqtt5.PubAckPacket) for _ in range(5)]
        assert [ack.reason_code.value for ack in found] == [0x90, 0x90, 0x90, 0x90, 0]
        assert found[0].reason_str == "'a/+' has a wildcard: only filters may have + and #"


def test_a_3_1_1_client_is_left_over_a_topic_with_a_wildcard_since_no_acknowledgement_could_tell(port: int) -> None:
    for qos in (0, 1):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
            raw.sendall(b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01x")
            assert raw.recv(4) == b"\x20\x02\x00\x00"
            number = b"\x00\x01" * qos
            body = b"\x00\x03a/+" + number + b"x"
            raw.sendall(bytes((0x30 | qos << 1, len(body))) + body)
            assert raw.recv(1) == b""


def test_a_topic_alias_stands_for_its_topic(port: int) -> None:
    with connected(port) as reader, connected(port) as writer:
        reader.subscribe("alias/#")
        writer.publish("alias/a", "1", topic_alias=3)
        writer.publish("", "2", topic_alias=3)
        assert [(m.topic, m.payload) for m in (reader.take(), reader.take())] == [("alias/a", b"1"), ("alias/a", b"2")]


def test_what_goes_with_a_message_comes_out_as_it_went_in(port: int) -> None:
    with connected(port) as reader, connected(port) as writer:
        reader.subscribe("with/#", user_properties=[("include", "id, time")])
        given = {
            "payload_format_indicator": 1,
            "content_type": "text/plain",
            "response_topic": "answers/7",
            "correlation_data": b"\x00\xff",
        }
        users = [("a", "1"), ("a", "2"), ("semcast-key", "k"), ("semcast-time-ms", "12345")]
        writer.publish("with/all", "x", user_properties=users, message_expiry_interval=1000, **given)
        found = reader.take()
        assert {name: getattr(found, name) for name in given} == given
        assert found.message_expiry_interval is not None
        assert 900 < found.message_expiry_interval <= 1000
        named = dict(found.user_properties)
        assert found.user_properties[:2] == [("a", "1"), ("a", "2")]
        assert named["semcast-key"] == "k"
        assert named["semcast-time-ms"] == "12345"
        assert named["semcast-id"].startswith("b0:")


# --- subscribing


@pytest.mark.parametrize(
    ("filter", "options", "reason"),
    [
        ("#", {}, "the first level cannot be a wildcard"),
        ("+/a", {}, "the first level cannot be a wildcard"),
        ("$SYS/#", {}, "are not offered here"),
        ("quotes/IBM", {}, "its only topic is 'quotes'"),
        ("quotes", {"user_properties": [("profile", "prise > 1")]}, "unknown attribute 'prise'"),
        ("quotes", {"user_properties": [("stream", "quote")]}, "there is no stream 'quote'"),
        ("a/b", {"user_properties": [("profile", "a")]}, "the filter says all"),
        ("a/b", {"user_properties": [("include", "everything")]}, "there is no 'everything'"),
        ("$share/g", {}, "no shared subscription"),
    ],
)
def test_filters_that_make_no_sense_are_refused_with_the_reason(
    port: int, filter: str, options: dict[str, object], reason: str
) -> None:
    with connected(port) as client:
        suback = client.subscribe(filter, **options)
        assert [code.value for code in suback.reason_codes] == [0x8F]
        assert reason in (suback.reason_str or "")


def test_of_several_filters_each_has_its_own_answer(port: int) -> None:
    with connected(port) as client:
        wishes = [mqtt5.TopicFilter(filter, max_qos=mqtt5.QoS(2)) for filter in ("several/a", "#", "several/+/b")]
        client.send(mqtt5.SubscribePacket(9, wishes))
        suback = client.expect(mqtt5.SubAckPacket)
        assert (suback.packet_id, [code.value for code in suback.reason_codes]) == (9, [1, 0x8F, 1])


def test_filters_take_what_mqtt_says_they_take(port: int) -> None:
    topics = ["w", "w/a", "w/a/b", "w/c/b", "v/a"]
    asked = {"w/#": topics[:4], "w/+": ["w/a"], "w/+/b": ["w/a/b", "w/c/b"], "w/a": ["w/a"]}
    for filter, expected in asked.items():
        with connected(port) as reader, connected(port) as writer:
            assert reader.subscribe(filter).reason_codes[0] == 1
            reader.subscribe("end")
            for topic in [*topics, "end"]:
                writer.publish(topic, "x")
            found = []
            while (topic := reader.take().topic) != "end":
                found.append(topic)
            assert found == expected


def test_a_profile_filters_by_content_and_can_be_replaced(port: int) -> None:
    with connected(port) as reader, connected(port) as writer:
        reader.subscribe("quotes", user_properties=[("profile", "price > 10")])
        writer.publish("quotes", '{"price": 5}')
        writer.publish("quotes", '{"price": 15}')
        assert reader.take().payload == b'{"price": 15}'
        reader.subscribe("quotes", user_properties=[("profile", "price < 10")])
        writer.publish("quotes", '{"price": 16}')
        writer.publish("quotes", '{"price": 6}')
        assert reader.take().payload == b'{"price": 6}'


def test_xml_and_wildcards_with_a_stream(port: int) -> None:
    with connected(port) as reader, connected(port) as writer:
        reader.subscribe("#", user_properties=[("stream", "news"), ("profile", "/item[@lang='en']")])
        writer.publish("news", "<item lang='de'/>")
        writer.publish("news", "<item lang='en'/>")
        found = reader.take()
        assert (found.topic, found.payload) == ("news", b"<item lang='en'/>")


def test_overlapping_filters_give_a_copy_each_with_its_identifier(port: int) -> None:
    with connected(port) as reader, connected(port) as writer:
        reader.subscribe("o/#", subscription_id=1)
        reader.subscribe("o/+", subscription_id=2)
        writer.publish("o/x", "m")
        assert sorted(reader.take().subscription_ids[0] for _ in range(2)) == [1, 2]


def test_no_local_leaves_out_what_the_client_itself_publishes(port: int) -> None:
    with connected(port, "me") as me, connected(port) as other:
        me.subscribe("local/#", no_local=True)
        me.publish("local/a", "mine")
        other.publish("local/a", "theirs")
        assert me.take().payload == b"theirs"


def test_unsubscribe_ends_it(port: int) -> None:
    with connected(port) as reader, connected(port) as writer:
        reader.subscribe("u/#")
        reader.subscribe("end")
        reader.send(mqtt5.UnsubscribePacket(77, ["u/#", "never"]))
        assert [code.value for code in reader.expect(mqtt5.UnsubAckPacket).reason_codes] == [0, 0x11]
        writer.publish("u/x", "m")
        writer.publish("end", "m")
        assert reader.take().topic == "end"


def test_a_broker_that_is_no_gateway_names_one(overlay: Overlay) -> None:
    with connected(overlay.port("b0")) as client:
        assert client.publish("a", "x").reason_code == 0
        client.send(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter("a")]))
        told = client.expect(mqtt5.DisconnectPacket)
        assert (told.reason_code.value, told.server_reference) == (0x9C, overlay.address("b2"))
