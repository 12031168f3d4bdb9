"""Publishing over HTTP: durable when it is answered, refused with a reason, once however often it is sent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pyarrow as pa
import pytest

from semcast.server.embedded import Embedded
from tests.live.http.running import Events, Running, ask, publish, warm

pytestmark = pytest.mark.system


def ends(whole: Embedded) -> int:
    return sum(host.node.source.log.end for host in whole.brokers.values() if host.node.source is not None)


def test_a_message_is_in_the_log_when_it_is_answered(overlay: Running, address: str) -> None:
    before = overlay.look(ends)
    answer = publish(address, "quotes", {"symbol": "A", "price": 1.5})
    assert answer.status == 200
    source, _, number = answer.json["ids"][0].rpartition(":")
    log = overlay.look(lambda whole: whole.brokers[source].store.log)
    assert log is not None
    assert log.durable >= int(number)
    assert overlay.look(ends) == before + 1


def test_each_line_is_a_message(overlay: Running, address: str) -> None:
    body = '{"symbol": "A"}\n\n{"symbol": "B"}\r\n{"symbol": "C"}'
    answer = publish(address, "quotes", body, content_type="application/x-ndjson; charset=utf-8")
    assert answer.json["published"] == 3
    numbers = [int(id.rpartition(":")[2]) for id in answer.json["ids"]]
    assert numbers == list(range(numbers[0], numbers[0] + 3))


def test_a_line_that_does_not_fit_is_named_and_nothing_is_published(overlay: Running, address: str) -> None:
    before = overlay.look(ends)
    answer = publish(address, "quotes", [{"symbol": "A"}, {"symbol": 7}, {"symbol": "C"}])
    assert answer.status == 422
    assert answer.json == {"error": "line 2: 'symbol' should be a string, and is 7", "line": 2}
    assert overlay.look(ends) == before


@pytest.mark.parametrize(
    ("stream", "body", "status", "said"),
    [
        ("qoutes", "{}", 404, "did you mean 'quotes'?"),
        ("quotes", "{", 422, "no JSON"),
        ("quotes", "", 422, "no JSON"),
        ("news", "<a>", 422, "cannot be read as XML"),
        ("topics", "x", 422, "needs a topic"),
        ("quotes", json.dumps({"symbol": "A" * (5 << 20)}), 413, "are the most"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(
    address: str, stream: str, body: str, status: int, said: str
) -> None:
    answer = publish(address, stream, body)
    assert answer.status == status
    assert said in answer.json["error"]


@pytest.mark.timeout(900)  # an engine that was never compiled on this machine takes minutes
def test_xml_and_topics_with_all_that_belongs_to_them_arrive(overlay: Running, address: str) -> None:
    warm("xpath", "/story[@by]", pa.table({"payload": ['<story by="x"/>']}))
    news = Events(address, "news", profile="/story[@by]").until_live()
    publish(address, "news", '<story by="x"/>', content_type="application/xml")
    assert news.take(1)[0].data["payload"] == '<story by="x"/>'
    news.close()
    topics = Events(address, "topics", profile="a/b").until_live()
    query = {"topic": "a/b/c", "key": "k", "header": "unit:°C", "time_ms": "1700000000000"}
    publish(address, "topics", b"\xff\x00", query)
    message = topics.take(1)[0].data
    topics.close()
    assert message["base64"] == "/wA="
    assert (message["topic"], message["key"], message["headers"]) == ("a/b/c", "k", {"unit": "°C"})
    assert message["time_ms"] == 1700000000000


def test_what_is_sent_again_with_its_key_is_there_once(overlay: Running) -> None:
    before = overlay.look(ends)
    rows = [{"symbol": "once", "price": n} for n in range(3)]
    first = publish(overlay.addresses["b0"], "quotes", rows, idempotency_key="order 66")
    again = [publish(address, "quotes", rows, idempotency_key="order 66") for address in overlay.addresses.values()
             if address != overlay.addresses["c0"]]  # fmt: skip
    assert {answer.status for answer in again} == {200}
    assert {answer.json["ids"][-1] for answer in again} == {first.json["ids"][-1]}
    assert overlay.look(ends) == before + 3


def test_an_origin_goes_on_from_request_to_request_and_leaves_no_number_out(overlay: Running, address: str) -> None:
    before = overlay.look(ends)

    def sent(number: int, count: int) -> int:
        rows = [{"symbol": "n", "price": number + n} for n in range(count)]
        return publish(address, "quotes", rows, origin_session="line 4", origin_number=str(number)).status

    assert [sent(0, 3), sent(3, 2), sent(3, 2)] == [200, 200, 200]
    late = publish(address, "quotes", {"symbol": "n"}, origin_session="line 4", origin_number="9")
    assert (late.status, late.json["expected"]) == (409, 5)
    assert sent(4, 3) == 200  # 4 is there already, 5 and 6 are not
    assert overlay.look(ends) == before + 7
    assert publish(address, "quotes", {}, origin_session="line 4", origin_number="x").status == 400


def test_a_source_without_a_lease_is_told_in_time_and_nothing_is_published_later(
    overlay: Running, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = overlay.look(lambda whole: whole.brokers["b0"].node.source or pytest.fail("b0 is no source"))
    before = source.log.end
    with monkeypatch.context() as patch:
        patch.setattr(source, "leased", lambda now: False)
        answer = publish(address, "quotes", {"symbol": "late"}, {"source": "b0", "patience_ms": "1500"})
        assert answer.status == 503
        assert "no lease" in answer.json["error"]
        assert "retry-after" in answer.headers
        assert not ask(overlay.addresses["b0"], "/healthz").json["healthy"]
    assert publish(address, "quotes", {"symbol": "next"}, {"source": "b0"}).status == 200
    assert source.log.end == before + 1


def test_curl_publishes_without_any_header(
    overlay: Running, address: str, require_program: Callable[[str], str]
) -> None:
    url = f"http://{address}/v1/streams/quotes/messages"
    done = subprocess.run([require_program("curl"), "-sS", "--fail", url, "-d", '{"symbol": "curl"}'],
                          capture_output=True, check=True)  # fmt: skip
    assert json.loads(done.stdout)["published"] == 1


def test_pages_of_another_origin_may_read_and_not_publish(overlay: Running, address: str) -> None:
    body = {"symbol": "A"}
    assert publish(address, "quotes", body, origin="https://elsewhere.example").status == 403
    assert publish(address, "quotes", body, origin=f"http://{address}").status == 200
    answer = ask(address, "/v1/streams", origin="https://elsewhere.example")
    assert answer.headers["access-control-allow-origin"] == "*"
    preflight = ask(address, "/v1/streams/quotes/messages", method="OPTIONS", origin="https://elsewhere.example")
    assert preflight.headers["access-control-allow-methods"] == "GET"


def test_who_cannot_do_it_says_who_can(overlay: Running) -> None:
    at_coordinator = publish(overlay.addresses["c0"], "quotes", {"symbol": "A"})
    assert at_coordinator.status == 421
    assert f"http://{overlay.addresses['b0']}" in at_coordinator.json["sources"].values()
    interior = next(name for name in overlay.addresses if name not in (*overlay.gateways, "c0"))
    at_interior = ask(overlay.addresses[interior], "/v1/streams/quotes/messages?profile=TRUE")
    assert at_interior.status == 421
    assert sorted(at_interior.json["gateways"]) == sorted(overlay.gateways)
