"""Semantic routers, told as other overlays are."""

from __future__ import annotations

from typing import Any

import pytest

from semcast.dashboard import views
from semcast.dashboard.comparison import compare
from semcast.dashboard.overlaps import overlaps
from semcast.dashboard.rates import Rates
from semcast.dashboard.routers import completed
from semcast.dashboard.snapshot import Snapshot
from semcast.dashboard.trying import why
from tests.unit.dashboard.worlds import session, snapshot

RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
REGION = {region: f'chart {{region = "{region}"}}' for region in (1, 2)}


def chart(number: int, region: int) -> dict[str, Any]:
    body = f"<rdf:RDF {RDF}><rdf:Description><chart><region>{region}</region></chart></rdf:Description></rdf:RDF>"
    about = {"id": f"s:{number}", "stream": "charts", "time_ms": number, "payload": body}
    return {**about, "epoch": 0, "profiles": [], "way": []}


def routers(**changes: Any) -> Snapshot:
    """s has sent charts of the regions 1, 1, 2 and 3; g1 wants the first, g2 both of the first two."""
    found = snapshot()
    wishes = {"g1": [1], "g2": [1, 2]}
    sessions = {
        gateway: [session(f"{gateway}/{region}", REGION[region]) | {"stream": "charts", "language": "semantic"}
                  for region in regions]
        for gateway, regions in wishes.items()
    }  # fmt: skip
    charts = [chart(number, region) for number, region in enumerate((1, 1, 2, 3))]
    for broker in found.brokers.values():
        counts = ("filters", "filter_nodes", "packets_in", "packets_out", "filtered", "updates_out")
        broker["router"] = dict.fromkeys(counts, 2)
    given: dict[str, Any] = {
        "overlay": found.overlay | {"scheme": "semnet", "streams": {"charts": {"language": "semantic"}}},
        "status": found.status | {"term": 0, "epoch": 0, "channels": 0, "subscriptions": 0},
        "plan": {"epoch": 0, "channels": []},
        "wanted": [],
        "sessions": sessions,
        "samples": {"s": {"matched": [()] * 4, "streams": {"charts": charts}}},
    }
    return snapshot(**{**given, **changes})


def test_sessions_and_messages_say_what_no_coordinator_knows() -> None:
    found = completed(routers())
    assert {it["profile"]: it["gateways"] for it in found.wanted} == {REGION[1]: ["g1", "g2"], REGION[2]: ["g2"]}
    assert found.planned is not None
    assert {channel.id: channel.tree for channel in found.planned.channels} == {
        "s": (("s", "g2"), ("s", "m"), ("m", "g1"))
    }
    ways = [[way["to"] for way in seen["way"]] for seen in found.samples["s"]["streams"]["charts"]]
    assert ways == [[["g1", "g2"]], [["g1", "g2"]], [["g2"]], []]


def test_messages_of_routers_cost_what_can_be_counted_by_hand() -> None:
    found = completed(routers())
    assert found.planned is not None
    matched = {source: told["matched"] for source, told in found.samples.items()}
    compared = compare(found.planned, found.topology, set(), matched)
    assert compared is not None
    assert compared.costs["plan"] == pytest.approx((3 + 3 + 1 + 0) / 4)  # s-m-g1 and s-g2, twice; s-g2
    assert compared.costs["spt"] == compared.costs["plan"]


def test_a_reader_is_told_the_way_of_its_message_and_views_have_what_there_is() -> None:
    found = completed(routers())
    told = why(found, "g1/1")
    assert [reason["way"][0]["path"] for reason in told["messages"]] == [["s", "m", "g1"]] * 2
    assert told["messages"][0]["way"][0]["also_to"] == ["g2"]
    shown = views.channels(found, Rates(), None)
    assert shown["channels"] == []
    assert [row["id"] for row in shown["routers"]] == ["g1", "g2", "m", "s"]
    summary = views.summary(found, Rates(), None)
    assert (summary["filters"], summary["profiles"], summary["channels"]) == (8, 2, 0)
    assert [row["text"] for row in overlaps(found)["profiles"]] == [REGION[1], REGION[2]]


def test_trees_and_their_version_change_with_who_wants_something() -> None:
    few = routers()
    del few.sessions["g1"]
    one, both = completed(few), completed(routers())
    versions = {views.summary(found, Rates(), None)["version"] for found in (one, both)}
    assert len(versions) == 2
    assert completed(routers(sessions={})).planned is None
