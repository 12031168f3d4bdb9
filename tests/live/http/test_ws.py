"""WebSocket: many subscriptions and publishing over one connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from semcast.server.embedded import Embedded
from tests.live.http.running import PATIENCE_S, Events, Running, publish

pytestmark = pytest.mark.system


class Talk:
    """A connection that says and hears JSON."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def say(self, about: str, **content: Any) -> None:
        self.socket.send(json.dumps({about: content}))

    def hear(self) -> tuple[str, dict[str, Any]]:
        ((about, content),) = json.loads(self.socket.recv(PATIENCE_S)).items()
        return about, content

    def until(self, about: str, **content: Any) -> dict[str, Any]:
        """The next that is about this; what comes before it is passed over."""
        while True:
            found, said = self.hear()
            if found == about and content.items() <= said.items():
                return said

    def messages(self, count: int) -> list[dict[str, Any]]:
        return [self.until("message") for _ in range(count)]


@contextmanager
def talking(address: str, **options: Any) -> Iterator[Talk]:
    with connect(f"ws://{address}/v1/ws", max_queue=None, **options) as socket:
        yield Talk(socket)


def subscribed(talk: Talk, profile: str, id: str = "s", **more: Any) -> dict[str, Any]:
    talk.say("subscribe", id=id, stream="quotes", profile=profile, **more)
    return talk.until("live", sub=id)


def priced(price: float, count: int = 1) -> list[dict[str, Any]]:
    return [{"symbol": str(n), "price": price} for n in range(count)]


def test_what_is_published_over_a_socket_comes_to_its_subscribers_and_to_others(overlay: Running, address: str) -> None:
    events = Events(address, "quotes", profile="price = 21").until_live()
    with talking(address) as talk:
        subscribed(talk, "price = 21")
        for n in range(20):
            talk.say("publish", id=n, stream="quotes", json={"symbol": f"é{n}", "price": 21})
        found: dict[str, list[Any]] = {"published": [], "message": []}
        while any(len(said) < 20 for said in found.values()):
            about, content = talk.hear()
            found.setdefault(about, []).append(content)
    receipts = {receipt["id"]: receipt["message"] for receipt in found["published"]}
    assert sorted(receipts) == list(range(20))
    assert {m["id"]: m["json"]["symbol"] for m in found["message"]} == {receipts[n]: f"é{n}" for n in range(20)}
    assert {event.data["id"] for event in events.take(20)} == set(receipts.values())
    events.close()


def test_subscriptions_of_one_socket_know_nothing_of_each_other(overlay: Running, address: str) -> None:
    with talking(address) as talk:
        subscribed(talk, "price = 22", id="a")
        subscribed(talk, "price > 21 AND price < 23", id="b")
        publish(address, "quotes", priced(22))
        both = talk.messages(2)
        assert sorted(message["sub"] for message in both) == ["a", "b"]
        assert both[0]["id"] == both[1]["id"]
        talk.say("unsubscribe", id="a")
        talk.until("unsubscribed", sub="a")
        publish(address, "quotes", priced(22))
        publish(address, "quotes", priced(22.5))
        assert [message["sub"] for message in talk.messages(2)] == ["b", "b"]


def test_a_profile_is_replaced_while_its_subscription_goes_on(overlay: Running, address: str) -> None:
    with talking(address) as talk:
        subscribed(talk, "price = 23")
        publish(address, "quotes", priced(23))
        assert talk.messages(1)[0]["json"]["price"] == 23
        talk.say("replace", id="s", profile="price = 24")
        talk.until("replaced", sub="s")
        publish(address, "quotes", [*priced(23), *priced(24)])
        assert talk.messages(1)[0]["json"]["price"] == 24
        talk.say("replace", id="s", profile="prise = 24")
        assert "did you mean 'price'?" in talk.until("error", id="s")["reason"]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_cursor_resumes_without_loss_or_duplicate_at_another_gateway(overlay: Running, ordered: bool) -> None:
    first, second = (overlay.addresses[name] for name in overlay.gateways[:2])
    profile = f"price >= 2500 AND price < 2{6 + ordered}00"
    with talking(first) as talk:
        subscribed(talk, profile, ordered=ordered)
        sent = publish(first, "quotes", priced(2500, 40)).json["ids"]
        found = talk.messages(15)
    sent += publish(first, "quotes", priced(2501, 10)).json["ids"]
    with talking(second) as talk:
        talk.say("subscribe", id="again", stream="quotes", profile=profile, cursor=found[-1]["cursor"], ordered=ordered)
        found += talk.messages(35)
    assert sorted(message["id"] for message in found) == sorted(sent)


def test_who_acknowledges_gets_what_he_did_not_when_he_comes_back(overlay: Running, address: str) -> None:
    with talking(address) as talk:
        subscribed(talk, "price = 26", session="worker", acks="manual")
        sent = publish(address, "quotes", priced(26, 10), {"source": "b0"}).json["ids"]
        found = talk.messages(10)
        assert [message["id"] for message in found] == sent
        talk.say("ack", id="s", message=found[3]["id"])
        talk.say("publish", id=0, stream="quotes", json={"price": 0})
        talk.until("published", id=0)  # the ack was heard before
    with talking(address) as talk:
        talk.say("subscribe", id="s", stream="quotes", profile="price = 26", session="worker", acks="manual")
        again = [talk.until("message")["id"]]
        while again[-1] != sent[-1]:
            again.append(talk.until("message")["id"])
    assert again[-6:] == sent[4:]  # what was acknowledged a moment ago may come too


def test_who_does_not_acknowledge_is_sent_no_more_than_a_session_holds(overlay: Running, address: str) -> None:
    gateway = overlay.gateways[0]
    held = overlay.look(lambda whole: whole.brokers[gateway].settings.held)
    with talking(address) as talk:
        subscribed(talk, "price = 27", acks="manual")
        count = publish(address, "quotes", priced(27, 3 * held)).json["published"]

        def full(whole: Embedded) -> bool:
            node = whole.brokers[gateway].node.gateway
            assert node is not None
            return any(session.room <= 0 for session in node.sessions.values())

        overlay.until(full)
        found: list[str] = []
        while len(found) < count:
            found.append(talk.until("message")["id"])
            if len(found) % 100 == 0 or len(found) == count:
                talk.say("ack", id="s", message=found[-1])
        assert len(set(found)) == count


def test_a_message_that_may_be_sent_again_is_there_once(overlay: Running, address: str) -> None:
    with talking(address) as talk:
        for id, number in enumerate([0, 0, 1, 0]):
            talk.say("publish", id=id, stream="quotes", json={"symbol": "w"}, origin="ws", number=number)
        ids = {(said := talk.until("published"))["id"]: said["message"] for _ in range(4)}
        assert ids[0] != ids[2]
        assert ids[1] in (ids[0], None)
        assert ids[3] is None  # it is there; where, is not remembered of all but the last
        talk.say("publish", id="late", stream="quotes", json={}, origin="ws", number=7)
        assert talk.until("error", id="late")["expected"] == 2


def test_topics_and_bytes_go_through_as_they_are(overlay: Running, address: str) -> None:
    with talking(address) as talk:
        talk.say("subscribe", id="t", stream="topics", profile="ws/bytes")
        talk.until("live", sub="t")
        talk.say("publish", id=1, stream="topics", topic="ws/bytes/1", base64="/wA=", headers={"a": "b"})
        message = talk.until("message")
        assert (message["base64"], message["topic"], message["headers"]) == ("/wA=", "ws/bytes/1", {"a": "b"})
        talk.say("publish", id=2, stream="topics", topic="ws/bytes/2", payload="grün")
        assert talk.until("message")["payload"] == "grün"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "not understood"),
        ("{}", "say one of"),
        ('{"subscribe": {"id": 1}}', "`stream`"),
        ('{"subscribe": {"id": 1, "stream": "quotes", "profil": "x"}}', "`profil`"),
        ('{"subscribe": {"id": 1, "stream": "qoutes"}}', "did you mean 'quotes'?"),
        ('{"subscribe": {"id": 1, "stream": "quotes", "profile": "price >"}}', "price >"),
        ('{"ack": {"id": "no", "message": "b0:1"}}', "there is no subscription 'no'"),
        ('{"unsubscribe": {"id": "no"}}', "there is no subscription 'no'"),
        ('{"publish": {"id": 1, "stream": "quotes", "json": {"symbol": 5}}}', "should be a string"),
        ('{"publish": {"id": 1, "stream": "quotes", "json": {}, "payload": ""}}', "give one of"),
    ],
)
def test_what_makes_no_sense_is_answered_with_a_reason_and_ends_nothing(address: str, text: str, said: str) -> None:
    with talking(address) as talk:
        talk.socket.send(text)
        assert said in talk.until("error")["reason"]
        subscribed(talk, "price = 28")


def test_many_are_asked_for_in_one_message_and_a_bad_one_spoils_no_other(overlay: Running, address: str) -> None:
    asked: list[Any] = [
        {"id": n, "stream": "quotes", "profile": f"price = 4000 AND symbol = '{n}'", "expiry_s": 0} for n in range(100)
    ]
    bad = [
        {"id": "typo", "stream": "quotes", "profile": "prise = 4000"},
        {"id": "stream", "stream": "quots", "profile": "price = 4000"},
        {"id": "shape", "stream": "quotes", "profil": "price = 4000"},
        {"id": 5, "stream": "quotes", "profile": "price = 4000"},
        17,
    ]
    with talking(address) as talk:
        talk.socket.send(json.dumps({"subscribe": [*asked[:50], *bad, *asked[50:]]}))
        live: set[int] = set()
        errors: list[dict[str, Any]] = []
        while len(live) < 100 or len(errors) < len(bad):
            about, content = talk.hear()
            if about == "live":
                live.add(content["sub"])
            elif about == "error":
                errors.append(content)
        assert [(error["id"], error.get("status")) for error in errors if error["id"] != "typo"] == [
            ("stream", 404), ("shape", 400), (5, 409), (None, 400)
        ]  # fmt: skip
        (typo,) = [error for error in errors if error["id"] == "typo"]
        assert "did you mean 'price'?" in typo["reason"]
        publish(address, "quotes", priced(4000, 100))
        assert {message["sub"] for message in talk.messages(100)} == set(range(100))
        talk.socket.send(json.dumps({"subscribe": []}))
        talk.say("unsubscribe", id=0)
        assert talk.until("unsubscribed")["sub"] == 0


def test_a_socket_has_so_many_subscriptions_and_no_more(
    overlay: Running, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("semcast.server.http.sockets.SUBSCRIPTIONS", 4)
    with talking(address) as talk:
        for n in range(5):
            talk.say("subscribe", id=n, stream="quotes", profile="price = 29", expiry_s=0)
        error = talk.until("error")
        assert (error["id"], error["status"]) == (4, 429)
        talk.say("subscribe", id=0, stream="quotes")
        assert talk.until("error")["status"] == 409


def test_pages_of_another_origin_may_listen_and_not_publish(overlay: Running, address: str) -> None:
    with talking(address, origin="https://elsewhere.example") as talk:
        subscribed(talk, "price = 30")
        talk.say("publish", id=1, stream="quotes", json={"price": 30})
        assert talk.until("error", id=1)["status"] == 403


def test_bytes_end_the_connection(address: str) -> None:
    with talking(address) as talk:
        talk.socket.send(b"\x00")
        with pytest.raises(ConnectionClosed):
            talk.socket.recv(PATIENCE_S)
