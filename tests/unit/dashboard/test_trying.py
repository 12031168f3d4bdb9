"""Profiles that are tried, and why a subscriber gets what it gets."""

from __future__ import annotations

import pytest

from semcast.dashboard.trying import Rejected, path_on, tried, why
from semcast.model import SemcastError
from tests.unit.dashboard.worlds import CHANNEL, snapshot


def test_a_profile_is_judged_on_the_latest_messages_and_beside_the_live_ones() -> None:
    told = tried(snapshot(), "quotes", "NOT price <= 50")
    assert (told["canonical"], told["messages"], told["matched"]) == ("price > 50", 4, 1)
    assert told["matching"] == [{"id": "s:2", "stream": "quotes", "time_ms": 2, "json": {"price": 60, "symbol": "IBM"}}]
    assert told["covered_by"] == ["price > 10", "price > 50"]
    assert told["covers"] == []  # what says the same is covered, and covers nothing more
    assert tried(snapshot(), "quotes", "price > 1")["covers"] == ["price > 10", "price > 50"]


def test_a_profile_that_is_none_is_told_with_its_place() -> None:
    with pytest.raises(Rejected) as caught:
        tried(snapshot(), "quotes", "price > 5 AND prise > 1")
    assert (caught.value.json["position"], caught.value.json["length"]) == (14, 5)
    assert caught.value.json["hint"] == "did you mean 'price'?"
    with pytest.raises(Rejected, match="there is no stream 'none'"):
        tried(snapshot(), "none", "price > 5")


def test_a_subscriber_is_told_which_part_of_its_profile_and_which_way() -> None:
    told = why(snapshot(), "b")
    assert [reason["message"]["id"] for reason in told["messages"]] == ["s:3", "s:2"]
    assert [reason["because"] for reason in told["messages"]] == [["price < 5"], ["symbol = 'IBM'"]]
    (way,) = told["messages"][1]["way"]
    assert way == {"channel": "c0", "also_to": ["g1"], "path": ["s", "m", "g2"]}
    with pytest.raises(SemcastError, match="no session 'x'"):
        why(snapshot(), "x")


def test_a_way_over_a_tree_of_an_earlier_plan_is_not_made_up() -> None:
    found = snapshot()
    found.status["epoch"] = 4
    assert why(found, "b")["messages"][0]["way"][0]["path"] == []


def test_a_path_is_found_in_both_directions_and_none_where_there_is_none() -> None:
    tree = [("a", "b"), ("b", "c"), ("b", "d")]
    assert path_on(tree, "d", "c") == ["d", "b", "c"]
    assert path_on(tree, "a", "a") == ["a"]
    assert path_on(tree, "x", "c") == []


def test_where_trees_carry_everything_from_where_they_hang_a_leg_leads_there() -> None:
    found = snapshot()
    channel = {**CHANNEL, "rendezvous": "g1", "tree": [["g1", "m"], ["m", "s"], ["m", "g2"]], "expression": "p1"}
    found = snapshot(plan={**found.plan, "scheme": "semcast", "channels": [channel]})
    assert why(found, "b")["messages"][0]["way"][0]["path"] == ["s", "m", "g1", "m", "g2"]
