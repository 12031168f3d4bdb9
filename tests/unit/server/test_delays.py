"""Delays of links as brokers measure them: what planning is given, and when that changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semcast.server.delays import MeasuredDelays
from semcast.trees.generators import generate
from semcast.trees.topology import Broker, Link, Topology
from tests.laws.plan_orders import order_of

PAIR = Topology.of([Broker("a"), Broker("b"), Broker("c")], [Link("a", "b", 2.0, 40.0), Link("c", "b", 1.0, 7.0)])


def delays_of(topology: Topology) -> dict[tuple[str, str], float]:
    return {(link.a, link.b): link.delay_ms for link in topology.links}


def test_half_a_round_trip_takes_the_place_of_what_was_declared() -> None:
    found = MeasuredDelays()
    found.told("b", {"a": {"rtt_ms": 5.0}, "c": {"rtt_ms": None}})
    measured = found.on(PAIR)
    assert delays_of(measured) == {("a", "b"): 2.5, ("b", "c"): 7.0}
    assert [link.cost for link in measured.links] == [link.cost for link in PAIR.links]
    assert delays_of(PAIR) == {("a", "b"): 40.0, ("b", "c"): 7.0}


def test_of_the_two_ends_the_one_that_waits_less_is_believed() -> None:
    found = MeasuredDelays()
    found.told("a", {"b": {"rtt_ms": 30.0}})
    found.told("b", {"a": {"rtt_ms": 20.0}})
    assert found.used == {("a", "b"): 10.0}


def test_a_way_that_became_longer_is_believed_when_both_ends_see_it() -> None:
    found = MeasuredDelays()
    found.told("a", {"b": {"rtt_ms": 20.0}})
    found.told("b", {"a": {"rtt_ms": 20.0}})
    found.told("a", {"b": {"rtt_ms": 90.0}})
    assert found.used == {("a", "b"): 10.0}
    found.told("b", {"a": {"rtt_ms": 80.0}})
    assert found.used == {("a", "b"): 40.0}


@given(st.lists(st.floats(40.0, 48.0)))
def test_jitter_changes_nothing(round_trips: list[float]) -> None:
    found = MeasuredDelays()
    found.told("a", {"b": {"rtt_ms": 44.0}})
    first = found.on(PAIR)
    for rtt in round_trips:
        found.told("a", {"b": {"rtt_ms": rtt}})
        assert found.on(PAIR) is first


def test_a_link_without_any_delay_still_has_the_least_that_a_topology_knows() -> None:
    found = MeasuredDelays()
    found.told("a", {"b": {"rtt_ms": 0.0}})
    assert delays_of(found.on(PAIR))["a", "b"] == 0.001


def test_an_order_on_measured_links_has_other_delays_and_nothing_else() -> None:
    overlay = generate("waxman", 12, np.random.default_rng(5), degree=3.0)
    far = overlay.brokers[-1].id
    order = order_of(overlay, "semcast", {"p0": (far,)}, 3, bounds={(far, "p0"): 0.01})
    found = MeasuredDelays()
    for link in overlay.links:
        found.told(link.a, {link.b: {"rtt_ms": 2_000.0}})
    slow = found.ordered(order)
    assert (slow.number, slow.planner, slow.wanted) == (order.number, order.planner, order.wanted)
    assert slow.made().deployment.late[f"{far}/p0"] >= 1_000.0 > order.made().deployment.late[f"{far}/p0"]
