"""Shared subscriptions: each message to one of the group, whoever comes and goes."""

from __future__ import annotations

from collections.abc import Iterator

import mqtt5
import pytest

from tests.live.mqtt.overlay import Overlay, connected

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Overlay]:
    overlay = Overlay(tmp_path_factory.mktemp("overlay"))
    yield overlay
    overlay.stop()


def home(overlay: Overlay, group: str) -> str:
    """The address of the gateway that a group hangs on, as a wrong one tells it."""
    for gateway in ("b2", "b3"):
        with connected(overlay.port(gateway)) as client:
            client.send(mqtt5.SubscribePacket(1, [mqtt5.TopicFilter(f"$share/{group}/x")]))
            answer = client.receive()
            if isinstance(answer, mqtt5.DisconnectPacket):
                assert answer.reason_code == 0x9C
                assert answer.server_reference is not None
                return answer.server_reference
    raise AssertionError("both gateways take the group")


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def test_a_group_hangs_on_one_gateway_and_the_other_names_it(overlay: Overlay) -> None:
    addresses = {home(overlay, f"group{number}") for number in range(20)}
    assert addresses == {overlay.address("b2"), overlay.address("b3")}


def test_each_message_goes_to_one_of_the_group(overlay: Overlay) -> None:
    port = port_of(home(overlay, "workers"))
    with connected(port) as one, connected(port) as two, connected(port) as writer, connected(port) as alone:
        for member in (one, two):
            assert member.subscribe("$share/workers/jobs/#").reason_codes[0] == 1
        alone.subscribe("jobs/#")
        for number in range(20):
            writer.publish("jobs/a", b"%d" % number)
        writer.publish("jobs/a", "end")
        writer.publish("jobs/a", "end")
        shares = []
        for member in (one, two):
            share = []
            while (payload := member.take().payload) != b"end":
                share.append(int(payload))
            shares.append(share)
        assert sorted(shares[0] + shares[1]) == list(range(20))
        assert all(share == sorted(share) and share for share in shares)
        assert [alone.take().payload for _ in range(20)] == [b"%d" % number for number in range(20)]


def test_what_a_member_did_not_take_goes_to_another_when_it_leaves(overlay: Overlay) -> None:
    port = port_of(home(overlay, "relay"))
    with connected(port) as stays, connected(port) as writer:
        with connected(port) as leaves:
            leaves.subscribe("$share/relay/relay/#")
            for number in range(3):
                writer.publish("relay/a", b"%d" % number)
            assert [leaves.take(acknowledge=False).payload for _ in range(3)] == [b"0", b"1", b"2"]
            stays.subscribe("$share/relay/relay/#")
        found = [stays.take() for _ in range(3)]
        assert [message.payload for message in found] == [b"0", b"1", b"2"]
        assert not any(message.duplicate for message in found)


def test_a_group_of_kept_sessions_outlives_its_gateway(overlay: Overlay) -> None:
    address = home(overlay, "lasting")
    gateway = next(name for name in ("b2", "b3") if overlay.address(name) == address)
    port, kept = port_of(address), {"session_expiry_interval": 100}
    with connected(port, "member", **kept) as member:
        member.subscribe("$share/lasting/shared/#")
    overlay.restart(gateway)
    with connected(overlay.port("b0")) as writer:
        writer.publish("shared/a", "while away")
    with connected(port, "member", **kept) as member:
        assert member.connack.session_present
        assert member.take().payload == b"while away"


def test_groups_with_different_profiles_are_different_groups(overlay: Overlay) -> None:
    port = port_of(home(overlay, "bids"))
    with connected(port) as low, connected(port) as high, connected(port) as writer:
        low.subscribe("$share/bids/quotes", user_properties=[("profile", "price < 10")])
        high.subscribe("$share/bids/quotes", user_properties=[("profile", "price > 5")])
        writer.publish("quotes", '{"price": 7}')
        assert low.take().payload == high.take().payload == b'{"price": 7}'


def test_a_shared_subscription_cannot_be_without_what_is_local(overlay: Overlay) -> None:
    with connected(overlay.port("b2")) as client:
        wish = mqtt5.TopicFilter("$share/g/a", no_local=True)
        client.send(mqtt5.SubscribePacket(1, [wish]))
        assert client.expect(mqtt5.DisconnectPacket).reason_code == 0x82
