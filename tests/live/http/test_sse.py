"""Server-sent events: what the Python client gets too, once, across breaks, and never more than a reader takes."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable

import pytest

from semcast.client.blocking import BlockingClient
from semcast.protocol.gateway.sessions import Session
from semcast.server.embedded import Embedded
from semcast.server.http.cursors import Cursor
from tests.live.http.running import Event, Events, Running, ask, publish

pytestmark = pytest.mark.system


@pytest.fixture
def quotes(overlay: Running) -> Callable[[int, int], list[str]]:
    """Publishes so many quotes, priced from a number on, half of them at each source; gives their ids."""

    def sent(first: int, count: int) -> list[str]:
        rows = [{"symbol": "Q", "price": first + n} for n in range(count)]
        halves = {"b0": rows[::2], "b1": rows[1::2]}
        address = overlay.addresses["b2"]
        sources = overlay.look(lambda whole: [n for n, h in whole.brokers.items() if h.node.source is not None])
        answers = [publish(address, "quotes", half, {"source": source})
                   for source, half in zip(sources, halves.values(), strict=True) if half]  # fmt: skip
        assert {answer.status for answer in answers} == {200}
        return [id for answer in answers for id in answer.json["ids"]]

    return sent


def ids(events: list[Event]) -> list[str]:
    return [event.data["id"] for event in events]


def session_of(overlay: Running, gateway: str, profile: str) -> Session:
    def found(whole: Embedded) -> Session:
        node = whole.brokers[gateway].node.gateway
        assert node is not None
        return next(session for session in node.sessions.values() if session.profile.text == profile)

    return overlay.look(found)


def test_a_reader_gets_what_the_python_client_gets(
    overlay: Running, address: str, quotes: Callable[[int, int], list[str]]
) -> None:
    with BlockingClient(f"semcast://{address}") as client:
        subscription = client.subscribe("quotes", "price >= 1000 AND price < 1040")
        subscription.live()
        events = Events(address, "quotes", profile="price >= 1000 AND price < 1040").until_live()
        sent = quotes(990, 60)
        theirs = [next(subscription) for _ in range(40)]
        ours = events.take(40)
        events.close()
    assert sorted(ids(ours)) == sorted(message.id for message in theirs)
    assert set(ids(ours)) < set(sent)
    prices = {message.id: message.json()["price"] for message in theirs}
    assert {event.data["id"]: event.data["json"]["price"] for event in ours} == prices


def test_each_source_is_in_order_unless_that_is_not_wanted(
    overlay: Running, address: str, quotes: Callable[[int, int], list[str]]
) -> None:
    events = Events(address, "quotes", profile="price >= 2000 AND price < 2100").until_live()
    quotes(2000, 100)
    found = events.take(100)
    events.close()
    for source in {id.partition(":")[0] for id in ids(found)}:
        numbers = [int(id.rpartition(":")[2]) for id in ids(found) if id.startswith(source + ":")]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize("ordered", ["true", "false"])
def test_a_reader_that_breaks_off_anywhere_resumes_without_loss_or_duplicate(
    overlay: Running, address: str, quotes: Callable[[int, int], list[str]], ordered: str
) -> None:
    profile = f"price >= 3000 AND price < 3200 AND {ordered} = {ordered}"
    events = Events(address, "quotes", profile=profile, ordered=ordered).until_live()
    sent, found = quotes(3000, 60), []
    for taken in (1, 7, 20):
        found += events.take(taken)
        events.close()
        events = Events(address, "quotes", last_id=found[-1].last_id, profile=profile, ordered=ordered)
    sent += quotes(3100, 20)
    found += events.take(80 - len(found))
    events.close()
    assert sorted(ids(found)) == sorted(sent)


def test_a_reader_resumes_at_another_gateway_and_after_its_gateway_was_restarted(
    overlay: Running, quotes: Callable[[int, int], list[str]]
) -> None:
    first, second = overlay.gateways[1:3]
    where = overlay.addresses
    profile = "price >= 4000 AND price < 4200"
    events = Events(where[first], "quotes", profile=profile).until_live()
    sent = quotes(4000, 30)
    found = events.take(10)
    overlay.restart(first)
    events.close()
    sent += quotes(4030, 30)  # while nobody reads
    events = Events(where[first], "quotes", last_id=found[-1].last_id, profile=profile)
    found += events.take(25)
    events.close()
    sent += quotes(4060, 30)
    events = Events(where[second], "quotes", last_id=found[-1].last_id, profile=profile)
    found += events.take(90 - len(found))
    sent += quotes(4090, 5)
    found += events.take(5)
    events.close()
    assert sorted(ids(found)) == sorted(sent)
    assert len(set(ids(found))) == len(found)


def test_the_cursor_moves_on_where_nothing_matches(
    overlay: Running, address: str, quotes: Callable[[int, int], list[str]]
) -> None:
    events = Events(address, "quotes", profile="price = -1").until_live()
    sent = [id.rpartition(":") for id in quotes(0, 10)]
    last = {source: max(int(number) for place, _, number in sent if place == source) for source, _, _ in sent}
    told: dict[str, int] = {}
    for line in iter(events.response.readline, b""):
        assert not line.startswith(b"data:")
        if line.startswith(b"id:"):
            told = Cursor.read(line.decode().removeprefix("id: ").strip()).through
        if all(told.get(source, 0) >= number for source, number in last.items()):
            break
    events.close()
    assert told.keys() >= last.keys()


def test_a_named_session_waits_for_who_comes_back_without_a_cursor(
    overlay: Running, address: str, quotes: Callable[[int, int], list[str]]
) -> None:
    profile = "price >= 5000 AND price < 5100"
    events = Events(address, "quotes", profile=profile, session="night shift").until_live()
    assert ";" not in events.last_id  # its name is in the URL
    events.close()
    sent = quotes(5000, 20)
    events = Events(address, "quotes", profile=profile, session="night shift")
    assert sorted(ids(events.take(20))) == sorted(sent)
    events.close()


def test_the_later_of_two_readers_of_a_session_has_it(overlay: Running, address: str) -> None:
    first = Events(address, "quotes", profile="price = -2", session="shared").until_live()
    second = Events(address, "quotes", profile="price = -2", session="shared").until_live()
    assert list(first) == []  # it has ended
    publish(address, "quotes", {"symbol": "A", "price": -2})
    assert second.take(1)[0].data["json"]["price"] == -2
    second.close()


def test_who_reads_nothing_holds_a_bounded_number_of_messages_and_gets_all_later(
    overlay: Running, address: str
) -> None:
    profile = "price >= 6000 AND price < 6001"
    host, _, port = address.rpartition(":")
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
    slow.connect((host, int(port)))
    path = "/v1/streams/quotes/messages?profile=price%20%3E%3D%206000%20AND%20price%20%3C%206001"
    slow.sendall(f"GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n".encode())
    overlay.until(lambda whole: any(s.live and s.profile.text == profile for s in sessions(whole)))
    rows = [{"symbol": str(n) + "x" * 20_000, "price": 6000} for n in range(100)]
    count = 0
    for _ in range(8):  # 16 MB: more than the sockets of both ends hold
        count += publish(address, "quotes", rows).json["published"]
    gateway = overlay.gateways[0]
    held = overlay.look(lambda whole: whole.brokers[gateway].settings.held)
    session = session_of(overlay, gateway, profile)
    overlay.until(lambda whole: bool(session.ways) and any(way.filling for way in session.ways.values()))
    # What is under way, and what waits behind it of each source: the nearest may be another one the next time.
    assert overlay.look(lambda whole: session.waiting) <= (1 + len(session.ways)) * held
    assert overlay.look(lambda whole: session.sequence - session.base) < count
    slow.settimeout(60)
    mark, seen, rest = b'data: {"id":', 0, b""
    while seen < count:
        rest += slow.recv(1 << 18)
        seen += rest.count(mark)
        rest = rest[1 - len(mark) :]
    slow.close()
    assert seen == count


def sessions(whole: Embedded) -> list[Session]:
    return [s for h in whole.brokers.values() if h.node.gateway is not None for s in h.node.gateway.sessions.values()]


def test_curl_reads_a_stream_from_its_beginning(
    overlay: Running, address: str, quotes: Callable[[int, int], list[str]], require_program: Callable[[str], str]
) -> None:
    reader = Events(address, "quotes", profile="price >= 7000", session="keeps the log").until_live()
    sent = quotes(7000, 10)
    url = f"http://{address}/v1/streams/quotes/messages?start=earliest&profile=price%20%3E%3D%207000"
    curl = subprocess.Popen([require_program("curl"), "-sSN", url], stdout=subprocess.PIPE, text=True)
    assert curl.stdout is not None
    found = []
    for line in curl.stdout:
        if line.startswith('data: {"id"'):
            found.append(json.loads(line.removeprefix("data: "))["id"])
            if len(found) == len(sent):
                break
    curl.kill()
    curl.wait()
    reader.close()
    assert sorted(found) == sorted(sent)


@pytest.mark.parametrize(
    ("stream", "query", "status", "said"),
    [
        ("quotes", "profile=prise%20%3E%201", 400, "did you mean 'price'?"),
        ("quotes", "ordered=perhaps", 400, "neither true nor false"),
        ("quotes", "max_delay_ms=-1", 400, "max_delay_ms"),
        ("quotes", "start=yesterday", 400, "neither latest, earliest nor"),
        ("quotes", "cursor=b0", 400, "no part of a cursor"),
        ("topics", "", 400, "needs one"),
        ("quote", "", 404, "did you mean 'quotes'?"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_sent(
    address: str, stream: str, query: str, status: int, said: str
) -> None:
    answer = ask(address, f"/v1/streams/{stream}/messages?{query}")
    assert answer.status == status
    assert said in answer.json["error"]


def test_who_only_asks_for_the_head_gets_no_stream(address: str) -> None:
    answer = ask(address, "/v1/streams/quotes/messages", method="HEAD")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def test_a_bound_that_cannot_be_met_is_told_when_the_stream_is_live(overlay: Running, address: str) -> None:
    events = Events(address, "quotes", profile="price = -3", max_delay_ms="0.001")
    live = next(iter(events))
    events.close()
    assert live.name == "live"
    assert live.data["expected_delay_ms"] > 0.001
