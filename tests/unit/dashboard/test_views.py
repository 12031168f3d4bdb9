"""What views make of what an overlay says."""

from __future__ import annotations

import msgspec
import pytest

from semcast.dashboard import views
from semcast.dashboard.comparison import compare
from semcast.dashboard.overlaps import overlaps
from semcast.dashboard.rates import Rates
from semcast.dashboard.snapshot import Snapshot
from semcast.dashboard.watching import counters_of
from tests.unit.dashboard.worlds import snapshot

MATCHED = {"s": [["p0"], ["p0", "p1"], ["p2"], []]}


def rated(found: Snapshot) -> Rates:
    """Two looks, two seconds apart, between which every link from s carried ten messages."""
    rates = Rates()
    rates.take(0, counters_of(found))
    told = counters_of(found)
    rates.take(
        2, {name: value + 10 * (name[0] == "transmissions" and name[1][0] == "s") for name, value in told.items()}
    )
    return rates


def test_messages_cost_what_can_be_counted_by_hand() -> None:
    found = snapshot()
    assert found.planned is not None
    compared = compare(found.planned, found.topology, set(), MATCHED)
    assert compared is not None
    # p0: s-m-g1 (2); p1 too: s-m, m-g1, m-g2 (3) or by shortest paths s-m-g1 and s-g2 (3); p2: s-m-g2 (2), or s-g2 (1)
    assert compared.costs["plan"] == pytest.approx((2 + 3 + 2 + 0) / 4)
    assert compared.costs["spt"] == pytest.approx((2 + 3 + 1 + 0) / 4)
    assert compared.costs["unicast"] == pytest.approx((2 + 3 + 1 + 0) / 4)
    assert compared.costs["oracle"] == pytest.approx(compared.costs["spt"])
    assert compared.loads["plan"] == {("m", "s"): 3 / 4, ("g1", "m"): 2 / 4, ("g2", "m"): 2 / 4}
    assert compared.loads["spt"] == {("m", "s"): 2 / 4, ("g1", "m"): 2 / 4, ("g2", "s"): 2 / 4}
    assert compared.carried == {"c0": 3 / 4}


def test_nothing_is_compared_while_the_plan_counts_on_who_is_down_or_nothing_was_sampled() -> None:
    found = snapshot()
    assert found.planned is not None
    assert compare(found.planned, found.topology, {"m"}, MATCHED) is None
    assert compare(found.planned, found.topology, set(), {"s": []}) is None


def test_loads_are_measured_in_both_directions_and_expected_at_the_rate_of_now() -> None:
    found = snapshot()
    assert found.planned is not None
    compared = compare(found.planned, found.topology, set(), MATCHED)
    told = views.loads(found, rated(found), compared)
    names = [(link["a"], link["b"]) for link in views.overlay(found)["links"]]
    assert dict(zip(names, told["now"], strict=True)) == {
        ("g1", "m"): [0, 0], ("g2", "m"): [0, 0], ("g2", "s"): [0, 5], ("m", "s"): [0, 5],
    }  # fmt: skip
    assert len(told["expected"]["unicast"]) == len(names)
    assert told["links_up"] == [True] * 4


def test_a_link_is_down_when_one_end_is() -> None:
    found = snapshot()
    found.brokers["g1"]["up"] = False
    told = views.loads(found, Rates(), None)
    names = [(link["a"], link["b"]) for link in views.overlay(found)["links"]]
    assert [name for name, up in zip(names, told["links_up"], strict=True) if not up] == [("g1", "m")]
    assert told["expected"] == {}


def test_a_channel_says_how_much_of_it_was_sent_where_and_how_much_was_wanted() -> None:
    channels = {
        "s": {"sent": {"c0": {"messages": 10, "to": {"g1": 8, "g2": 2}}}},
        "g1": {"received": {"c0": {"messages": 8, "useful": 6}}},
        "g2": {"received": {"c0": {"messages": 2, "useful": 2}}},
    }
    (told,) = views.channels(snapshot(channels=channels), Rates(), None)["channels"]
    assert (told["carried"], told["reach"]) == (10, 0.5)
    assert (told["received"], told["useful"], told["noise"]) == (10, 8, pytest.approx(0.2))
    assert (told["profiles"], told["links"]) == (3, 3)
    (idle,) = views.channels(snapshot(), Rates(), None)["channels"]
    assert (idle["reach"], idle["noise"]) == (None, None)


def test_profiles_overlap_and_contain_each_other_as_the_sample_says() -> None:
    told = overlaps(snapshot())
    assert [profile["id"] for profile in told["profiles"]] == ["p0", "p1", "p2"]
    assert told["matrix"] == [[1, 0.5, 0], [1, 1, 0], [0, 0, 1]]
    assert [profile["parent"] for profile in told["profiles"]] == [None, 0, None]
    assert overlaps(snapshot(samples={}))["profiles"] == []


def test_all_that_is_shown_can_be_said_as_json() -> None:
    found, rates = snapshot(), rated(snapshot())
    assert found.planned is not None
    compared = compare(found.planned, found.topology, set(), MATCHED)
    shown = [
        views.summary(found, rates, compared), views.overlay(found), views.loads(found, rates, compared),
        views.channels(found, rates, compared), views.subscribers(found, rates), views.events(found), overlaps(found),
    ]  # fmt: skip
    assert all(msgspec.json.encode(view) for view in shown)


@pytest.mark.parametrize(
    ("what", "details", "text"),
    [
        ("plan", {"epoch": 4, "channels": 2, "reorganised": True}, "plan 4: 2 channels, decided anew"),
        ("plan", {"epoch": 5, "channels": 1, "reorganised": False}, "plan 5: 1 channel, adapted"),
        ("broker is gone", {"broker": "b1", "reason": "it closed"}, "b1 is gone: it closed"),
        ("something new", {"size": 3}, "something new: size 3"),
    ],
)  # fmt: skip
def test_an_event_is_told_in_a_sentence(what: str, details: dict[str, object], text: str) -> None:
    event = {"at": 1.0, "what": what, "who": "c0", "details": details}
    assert views.events(snapshot(events=[event]))["events"][0]["text"].startswith(text)
