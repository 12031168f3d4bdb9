"""MQTT sessions: what a client is owed when it comes back, and when its gateway does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import mqtt5
import pytest

from semcast.server.mqtt import MqttFront
from semcast.server.mqtt.feed import Feed
from semcast.server.mqtt.session import Session
from tests.live.mqtt.overlay import Overlay, Raw, connected
from tests.live.overlays import until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overlay]:
    overlay = Overlay(tmp_path_factory.mktemp("overlay"))
    yield overlay
    overlay.stop()


@pytest.fixture(scope="module")
def port(overlay: Overlay) -> int:
    return overlay.port("b2")


def payloads(client: Raw, count: int) -> list[bytes]:
    return [client.take().payload for _ in range(count)]


def numbers(first: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, end)]


def publish_all(port: int, topic: str, bodies: list[bytes]) -> None:
    with connected(port) as writer:
        for body in bodies:
            writer.post(topic, body)
        for _ in bodies:
            assert writer.expect(mqtt5.PubAckPacket).reason_code == 0


def test_no_more_than_receive_maximum_is_under_way_and_order_is_kept(port: int) -> None:
    with connected(port, receive_max=2) as reader:
        reader.subscribe("max/#")
        publish_all(port, "max/a", numbers(0, 6))
        first, second = reader.take(acknowledge=False), reader.take(acknowledge=False)
        reader.send(mqtt5.PingReqPacket())
        reader.expect(mqtt5.PingRespPacket)  # and no third message before it
        reader.send(mqtt5.PubAckPacket(first.packet_id), mqtt5.PubAckPacket(second.packet_id))
        assert [first.payload, second.payload, *payloads(reader, 4)] == numbers(0, 6)


def test_what_was_not_acknowledged_is_sent_again_under_the_same_numbers_and_only_that(port: int) -> None:
    kept = {"session_expiry_interval": 100}
    with connected(port, "back", **kept) as reader:
        reader.subscribe("back/#")
        publish_all(port, "back/a", numbers(0, 4))
        first = [reader.take(acknowledge=False) for _ in range(4)]
        reader.send(mqtt5.PubAckPacket(first[0].packet_id), mqtt5.PingReqPacket())
        reader.expect(mqtt5.PingRespPacket)
    publish_all(port, "back/a", numbers(4, 7))
    with connected(port, "back", **kept) as reader:
        assert reader.connack.session_present
        again = [reader.take() for _ in range(6)]
        assert [message.payload for message in again] == numbers(1, 7)
        assert [message.duplicate for message in again] == [True] * 3 + [False] * 3
        assert [message.packet_id for message in again[:3]] == [message.packet_id for message in first[1:]]


def test_a_session_that_is_sent_again_keeps_to_a_smaller_receive_maximum(port: int) -> None:
    with connected(port, "small", session_expiry_interval=100) as reader:
        reader.subscribe("small/#")
        publish_all(port, "small/a", numbers(0, 5))
        for _ in range(5):
            reader.take(acknowledge=False)
    with connected(port, "small", session_expiry_interval=100, receive_max=2) as reader:
        first = [reader.take(acknowledge=False) for _ in range(2)]
        reader.send(mqtt5.PingReqPacket())
        reader.expect(mqtt5.PingRespPacket)
        for message in first:
            reader.send(mqtt5.PubAckPacket(message.packet_id))
        assert payloads(reader, 3) == numbers(2, 5)


def test_without_expiry_a_session_ends_with_its_connection(port: int) -> None:
    with connected(port, "brief") as reader:
        reader.subscribe("brief/#")
    with connected(port, "brief") as reader:
        assert not reader.connack.session_present


def test_a_clean_start_forgets_what_was_owed(port: int) -> None:
    kept = {"session_expiry_interval": 100}
    with connected(port, "clean", **kept) as reader:
        reader.subscribe("clean/#")
    publish_all(port, "clean/a", numbers(0, 3))
    with connected(port, "clean", clean_start=True, **kept) as reader:
        assert not reader.connack.session_present
        reader.subscribe("clean/#")
        publish_all(port, "clean/a", [b"new"])
        assert payloads(reader, 1) == [b"new"]


def test_disconnect_can_end_a_session_that_was_to_be_kept(port: int) -> None:
    with connected(port, "enough", session_expiry_interval=100) as reader:
        reader.send(mqtt5.DisconnectPacket(session_expiry_interval=0))
        assert reader.receive() is None
    with connected(port, "enough", session_expiry_interval=100) as reader:
        assert not reader.connack.session_present


def test_a_session_outlives_its_gateway(overlay: Overlay, port: int) -> None:
    kept = {"session_expiry_interval": 100}
    with connected(port, "lasting", **kept) as reader:
        reader.subscribe("lasting/#", subscription_id=5)
        reader.subscribe("quotes", user_properties=[("profile", "price > 10")])
        publish_all(port, "lasting/a", numbers(0, 4))
        assert payloads(reader, 2) == numbers(0, 2)
        for _ in range(2):
            reader.take(acknowledge=False)
        overlay.run(asyncio.sleep(1.5))  # long enough to note as taken what is not, if anything did
    overlay.restart("b2")
    publish_all(overlay.port("b3"), "lasting/a", numbers(4, 6))
    publish_all(overlay.port("b3"), "quotes", [b'{"price": 1}', b'{"price": 11}'])
    with connected(port, "lasting", **kept) as reader:
        assert reader.connack.session_present
        found: list[mqtt5.PublishPacket] = []
        while not {b"5", b'{"price": 11}'} <= {message.payload for message in found}:
            found.append(reader.take())
        lasting = [message for message in found if message.topic == "lasting/a"]
        # What was acknowledged just before the end may come again; nothing may be missing or out of order.
        assert [message.payload for message in lasting][-4:] == numbers(2, 6)
        assert {message.subscription_ids[0] for message in lasting} == {5}
        assert [message.payload for message in found if message.topic == "quotes"] == [b'{"price": 11}']


def test_who_does_not_read_costs_a_bounded_amount_and_misses_nothing(overlay: Overlay, port: int) -> None:
    body = b"x" * 20_000
    with connected(port, "slow") as reader:
        reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)  # or the system takes all of it
        reader.subscribe("slow/#", qos=0)
        publish_all(port, "slow/a", [b"%d %s" % (number, body) for number in range(1000)])
        session = overlay.front("b2").sessions["slow"]
        overlay.run(until(lambda: isinstance(session.wanted["slow/#"].feed, Feed)))  # it is set apart from who reads
        feed = session.wanted["slow/#"].feed
        assert isinstance(feed, Feed)
        assert session.connection is not None
        assert session.connection.waiting_bytes < 6 << 20  # four megabytes, and what was given at once
        assert len(feed._unsettled) <= 1
        held = overlay.embedded.brokers["b2"].settings.held
        assert feed.subscription.behind <= 2 * held  # what is said again may wait a second time
        assert [int(payload.split()[0]) for payload in payloads(reader, 1000)] == list(range(1000))


# --- wills


def test_a_will_is_published_when_a_connection_breaks_and_not_when_it_ends(port: int) -> None:
    with connected(port) as reader:
        reader.subscribe("will/#")
        with connected(port, "polite", will=mqtt5.Will("will/polite", payload=b"dead")) as polite:
            polite.send(mqtt5.DisconnectPacket())
            assert polite.receive() is None
        with connected(port, "rude", will=mqtt5.Will("will/rude", payload=b"dead", qos=mqtt5.QoS(1))):
            pass
        found = reader.take()
        assert (found.topic, found.payload) == ("will/rude", b"dead")
        with connected(port, "asking", will=mqtt5.Will("will/asking", payload=b"x")) as asking:
            asking.send(mqtt5.DisconnectPacket(reason_code=mqtt5.DisconnectReasonCode(4)))
        assert reader.take().topic == "will/asking"


def test_a_will_with_a_delay_is_dropped_when_the_client_is_back_in_time(port: int) -> None:
    kept = {"session_expiry_interval": 100}
    late = mqtt5.Will("late/a", payload=b"late", will_delay_interval=50)
    with connected(port) as reader:
        reader.subscribe("late/#")
        with connected(port, "flaky", will=late, **kept):
            pass
        with connected(port, "flaky", **kept) as flaky:
            assert flaky.connack.session_present
            flaky.publish("late/b", "here again")
        assert reader.take().topic == "late/b"
        with connected(port, "flaky", will=late, **kept):
            pass
        with connected(port, "flaky", clean_start=True):  # the session ends, and with it the delay
            assert reader.take().topic == "late/a"


# --- what clients cannot take


def test_a_message_that_is_too_large_for_a_client_is_not_sent_to_it(port: int) -> None:
    with connected(port, max_packet_size=1000) as reader:
        reader.subscribe("large/#")
        publish_all(port, "large/a", [b"x" * 2000, b"fits"])
        assert payloads(reader, 1) == [b"fits"]


def test_a_message_is_not_given_out_when_it_has_expired(port: int) -> None:
    kept = {"session_expiry_interval": 100}
    with connected(port, "late", **kept) as reader:
        reader.subscribe("old/#")
    with connected(port) as writer:
        writer.publish("old/a", "old", message_expiry_interval=1)
        writer.publish("old/a", "new")
    asyncio.run(asyncio.sleep(1.1))
    with connected(port, "late", **kept) as reader:
        assert payloads(reader, 1) == [b"new"]


def test_filters_of_one_packet_wait_for_each_other_neither_to_begin_nor_to_be_live(
    overlay: Overlay, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, most, saved = 0, 0, 0
    live, save = Feed.live, MqttFront.save

    async def watched(feed: Feed) -> None:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        try:
            await live(feed)
        finally:
            waiting -= 1

    def counted(front: MqttFront, session: Session) -> None:
        nonlocal saved
        saved += 1
        save(front, session)

    monkeypatch.setattr(Feed, "live", watched)
    monkeypatch.setattr(MqttFront, "save", counted)
    wishes = [mqtt5.TopicFilter(f"abreast/{number}", max_qos=mqtt5.QoS(1)) for number in range(40)]
    wishes.insert(7, mqtt5.TopicFilter("$share/nothing", max_qos=mqtt5.QoS(1)))
    options = {"session_expiry_interval": 100}
    with connected(port, "abreast", **options) as client:
        saved = 0
        client.send(mqtt5.SubscribePacket(9, wishes))
        answer = client.expect(mqtt5.SubAckPacket)
        granted = mqtt5.SubAckReasonCode.GRANTED_QOS_AT_LEAST_ONCE
        assert [place for place, code in enumerate(answer.reason_codes) if code is not granted] == [7]
        assert most == 40
        assert saved <= 3  # the whole session is saved, so once for each filter would be quadratic
    overlay.restart("b2")
    publish_all(overlay.port("b3"), "abreast/39", [b"kept"])
    with connected(overlay.port("b2"), "abreast", clean_start=False, **options) as client:
        assert client.take().payload == b"kept"
