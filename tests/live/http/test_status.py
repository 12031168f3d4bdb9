"""What a broker and a coordinator say of themselves over HTTP."""

from __future__ import annotations

import pytest

import semcast
from tests.live.http.metrics import metrics
from tests.live.http.running import Events, Running, ask, publish
from tests.live.overlays import settled

pytestmark = pytest.mark.system


@pytest.mark.parametrize("name", ["c0", "b0", "b3", "b7"])
def test_everybody_is_healthy_and_says_who_it_is(overlay: Running, name: str) -> None:
    address = overlay.addresses[name]
    health = ask(address, "/healthz")
    assert (health.status, health.json["reasons"]) == (200, [])
    assert ask(address, "/statusz").json["name"] == name
    assert metrics(address)["semcast_uptime_seconds"] > 0


def test_the_status_is_the_one_that_the_native_protocol_gives(overlay: Running) -> None:
    async def asked() -> dict[str, object]:
        async with semcast.connect(overlay.whole.addresses()["c0"]) as client:
            return await client.ask("status")

    over_http = ask(overlay.addresses["c0"], "/statusz").json
    native = overlay.call(asked)
    assert over_http.keys() == native.keys()
    assert over_http["epoch"] == native["epoch"]


def test_sessions_show_their_profile_and_how_far_they_are(overlay: Running, address: str) -> None:
    events = Events(address, "quotes", profile="price = -10", max_delay_ms="0.001").until_live()
    id = publish(address, "quotes", {"symbol": "A", "price": -10}).json["ids"][0]
    events.take(1)
    overlay.until(lambda whole: True)
    sessions = ask(address, "/subz").json["sessions"]
    session = next(session for session in sessions if session["profile"] == "price = -10")
    events.close()
    source, _, number = id.rpartition(":")
    assert session["live"]
    assert session["ordered"]
    assert session["max_delay_ms"] == 0.001
    assert session["expected_delay_ms"] > 0.001
    assert session["cursor"][source] <= int(number)
    assert session["staleness"]["messages"] == 1
    everywhere = ask(overlay.addresses["c0"], "/subz").json["subscriptions"]
    assert "price = -10" in [subscription["profile"] for subscription in everywhere]


def test_trees_at_a_coordinator_reach_every_gateway_and_brokers_know_their_place(
    overlay: Running, address: str
) -> None:
    events = Events(address, "quotes", profile="price = -11").until_live()
    found = ask(overlay.addresses["c0"], "/treez").json["trees"]
    channels = ask(overlay.addresses["c0"], "/channelz").json["channels"]
    events.close()
    assert [tree["channel"] for tree in found] == [channel["id"] for channel in channels]
    tree = found[0]
    reached = {tree["rendezvous"], *(child for _, child in tree["tree"])}
    assert set(tree["gateways"]) <= reached
    children = [child for parent, child in tree["tree"] if parent == tree["rendezvous"]]
    places = ask(overlay.addresses[tree["rendezvous"]], "/treez").json["trees"]
    place = next(place for place in places if place["channel"] == tree["channel"])
    assert place["parent"] is None
    assert sorted(place["children"]) == sorted(children)
    assert "c0" in ask(address, "/channelz").json["coordinators"]


def test_deliveries_and_links_are_counted(overlay: Running, address: str) -> None:
    events = Events(address, "quotes", profile="price = -12").until_live()
    source = overlay.look(lambda whole: next(name for name, host in whole.brokers.items() if host.node.source))
    before, links = metrics(address), metrics(overlay.addresses[source])
    publish(address, "quotes", [{"symbol": "A", "price": -12}] * 20, {"source": source})
    events.take(20)
    after, links_after = metrics(address), metrics(overlay.addresses[source])
    events.close()
    assert after["semcast_deliveries_total"] - before["semcast_deliveries_total"] == 20
    assert after["semcast_staleness_seconds_count"] - before["semcast_staleness_seconds_count"] == 20
    assert after['semcast_staleness_seconds_bucket{le="+Inf"}'] == after["semcast_staleness_seconds_count"]
    assert after["semcast_http_readers"] >= 1
    assert links_after["semcast_log_end"] - links["semcast_log_end"] == 20

    def sent(found: dict[str, float]) -> float:
        return sum(value for name, value in found.items() if name.startswith("semcast_link_messages_out_total"))

    assert address == overlay.addresses[source] or sent(links_after) - sent(links) >= 20
    assert after["process_resident_memory_bytes"] > 1 << 20


def test_a_coordinator_reorganises_when_it_is_asked_and_a_broker_does_not(overlay: Running, address: str) -> None:
    coordinator = overlay.addresses["c0"]
    before = overlay.look(lambda whole: whole.coordinators["c0"].notes["reorganised"])
    answer = ask(coordinator, "/reorganise", method="POST")
    assert (answer.status, answer.json["reorganising"]) == (202, True)
    assert before is not None
    assert ask(coordinator, "/reorganise").status == 405
    assert ask(coordinator, "/reorganise", method="POST", origin="https://elsewhere.example").status == 403
    assert ask(address, "/reorganise", method="POST").status == 404
    overlay.until(settled)  # channels may have changed, which nobody else here expects


def test_a_channel_counts_what_was_sent_to_whom_and_how_much_of_it_was_wanted(overlay: Running) -> None:
    source = next(name for name in overlay.look(lambda whole: list(whole.brokers)) if "sent" in channelz(overlay, name))
    gateway = next(name for name in overlay.gateways if name != source)
    events = Events(overlay.addresses[gateway], "quotes", profile="price = -13").until_live()
    before, received = totals(overlay, source, gateway)
    rows = [{"symbol": "A", "price": price} for price in (-13, -13, -14)]
    publish(overlay.addresses[source], "quotes", rows, {"source": source})
    assert [event.data["id"] for event in events.take(2)]
    after, received_after = totals(overlay, source, gateway)
    events.close()
    assert after - before == 2  # masks: what nobody there wants is not sent there
    assert received_after - received == 2


def channelz(overlay: Running, name: str) -> dict[str, dict[str, dict[str, int | dict[str, int]]]]:
    found: dict[str, dict[str, dict[str, int | dict[str, int]]]] = ask(overlay.addresses[name], "/channelz").json
    return found


def totals(overlay: Running, source: str, gateway: str) -> tuple[int, int]:
    sent = [channel["to"].get(gateway, 0) for channel in channelz(overlay, source)["sent"].values()]  # type: ignore[union-attr]
    useful = [channel["useful"] for channel in channelz(overlay, gateway)["received"].values()]
    return sum(sent), sum(useful)  # type: ignore[arg-type]


def test_a_source_shows_its_latest_messages_with_what_they_matched_and_their_way(overlay: Running) -> None:
    gateway = overlay.gateways[0]
    events = Events(overlay.addresses[gateway], "quotes", profile="price = -15").until_live()
    told = publish(overlay.addresses[gateway], "quotes", {"symbol": "A", "price": -15}).json
    events.take(1)
    found = ask(overlay.addresses[told["source"]], "/samplez").json
    events.close()
    seen = next(seen for seen in found["streams"]["quotes"] if seen["id"] == told["ids"][0])
    assert seen["json"] == {"symbol": "A", "price": -15}
    wanted = ask(overlay.addresses["c0"], "/subz").json["subscriptions"]
    texts = {subscription["id"]: subscription["profile"] for subscription in wanted}
    assert "price = -15" in [texts.get(profile) for profile in seen["profiles"]]
    assert gateway in [name for way in seen["way"] for name in way["to"]]
    assert seen["profiles"] in found["matched"]
    assert ask(overlay.addresses["c0"], "/samplez").json["streams"] == {}


def test_the_overlay_is_told_with_its_links_and_the_coordinator_tells_what_happened(overlay: Running) -> None:
    found = ask(overlay.addresses[overlay.gateways[0]], "/overlayz").json
    assert {broker["id"] for broker in found["topology"]["brokers"]} == set(found["members"])
    assert found["streams"]["quotes"]["language"] == "relational"
    assert found["coordinators"]["c0"] == overlay.addresses["c0"]
    events = ask(overlay.addresses["c0"], "/eventz").json["events"]
    assert {"leads", "plan", "epoch", "broker is here"} <= {event["what"] for event in events}
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
