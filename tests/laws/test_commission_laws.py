"""Plans that are made elsewhere: the same as here, and taken only if they lose nothing."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.channels.overlap import overlap
from semcast.planning.plan import Plan, PlanError
from semcast.protocol.coordinator.commissions import Commission, Found, accepted, by_statistics
from semcast.protocol.coordinator.orders import Order
from semcast.protocol.coordinator.planner import Statistics
from semcast.trees.generators import generate
from semcast.trees.topology import Topology
from tests.laws.overlays import topologies
from tests.laws.plan_orders import order_of, reorganisation

SCHEMES = ("masked", "semcast", "semcast-o", "semcast-noisemerge", "semcast-threshold")


@st.composite
def orders(draw: st.DrawFn, scheme: str) -> Order:
    """A reorganisation, of a plan that is in force or of none."""
    topology = draw(topologies())
    names = [broker.id for broker in topology.brokers]
    gateways = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple)
    wanted = {f"p{n}": draw(gateways) for n in range(draw(st.integers(0, 6)))}
    rows = st.lists(st.lists(st.sampled_from([*wanted, "gone"]), unique=True, max_size=4).map(tuple), max_size=6)
    bounds = {(held[0], name): draw(st.floats(0, 30)) for name, held in wanted.items() if draw(st.booleans())}
    seed = draw(st.integers(0, 2**32))
    before = order_of(topology, scheme, wanted, seed).made() if draw(st.booleans()) else None
    samples = {name: draw(rows) for name in names[:2]}
    return order_of(topology, scheme, wanted, seed, 2, bounds, before, samples)


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=25)
@given(data=st.data())
def test_a_plan_made_elsewhere_is_the_one_that_would_have_been_made_here(scheme: str, data: st.DataObject) -> None:
    order = data.draw(orders(scheme))
    assert by_statistics(order)
    commission = Commission.unpacked(Commission.of(order).packed())
    statistics = Statistics(commission.rows)
    selectivity = commission.selectivity(statistics)
    if selectivity is not None:
        statistics = Statistics(commission.rows, matrix=overlap(selectivity, least=1.0))
    found = Found.unpacked(commission.found(statistics).packed())
    assert accepted(order, found) == order.made()


@pytest.fixture(scope="module")
def overlay() -> Topology:
    return generate("waxman", 12, np.random.default_rng(5), degree=3.0)


def test_a_plan_of_another_order_is_not_taken(overlay: Topology) -> None:
    order, found = reorganisation(overlay, "semcast")
    for change in ({"term": 6}, {"epoch": 3}, {"scheme": "masked"}, {"subscriptions": {}}, {"gateways": ()}):
        with pytest.raises(PlanError, match="than was ordered"):
            accepted(order, Found(msgspec.structs.replace(found.plan, **change)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_plan_that_uses_links_that_are_not_there_is_not_taken(overlay: Topology, scheme: str) -> None:
    order, found = reorganisation(overlay, scheme)
    linked = {frozenset((link.a, link.b)) for link in overlay.links}
    channels = list(found.plan.channels)
    number, leaf, strange = next(
        (number, child, other)
        for number, channel in enumerate(channels)
        for parent, child in channel.tree
        if all(child != above for above, _ in channel.tree)
        for other in (channel.rendezvous, *(below for _, below in channel.tree))
        if other not in (parent, child) and frozenset((other, child)) not in linked
    )
    kept = tuple(link for link in channels[number].tree if link[1] != leaf)
    channels[number] = msgspec.structs.replace(channels[number], tree=(*kept, (strange, leaf)))
    with pytest.raises(PlanError, match="the topology has none"):
        accepted(order, Found(msgspec.structs.replace(found.plan, channels=tuple(channels))))


def test_a_masked_plan_with_a_tree_that_does_not_hold_every_source_is_not_taken(overlay: Topology) -> None:
    order, found = reorganisation(overlay, "masked")
    source, (first, *others) = order.wishes.sources[1], found.plan.channels
    parents = {parent for parent, _ in first.tree}
    assert source not in parents | {first.rendezvous}, "a leaf of the tree, in this overlay"
    tree = tuple(link for link in first.tree if link[1] != source)
    gateways = tuple(gateway for gateway in first.gateways if gateway != source)
    bent = msgspec.structs.replace(first, tree=tree, gateways=gateways)
    with pytest.raises(PlanError, match="does not span"):
        accepted(order, Found(msgspec.structs.replace(found.plan, channels=(bent, *others))))


def test_a_plan_whose_expressions_leave_messages_out_is_not_taken(overlay: Topology) -> None:
    order, found = reorganisation(overlay, "semcast")
    assert accepted(order, found) == order.made()
    for number in range(len(found.plan.channels)):
        with pytest.raises(PlanError, match="on no channel that reaches it"):
            accepted(order, Found(_without(found.plan, number)))


def _without(plan: Plan, number: int) -> Plan:
    """The channel carries only what all of its profiles match and another one too, which nothing does."""
    channels = list(plan.channels)
    others = [profile for profile in plan.subscriptions if profile not in channels[number].profiles]
    expression = " & ".join([*channels[number].profiles, *others])
    channels[number] = msgspec.structs.replace(channels[number], expression=expression)
    return msgspec.structs.replace(plan, channels=tuple(channels))


@pytest.mark.parametrize("scheme", ["unicast", "spt"])
def test_schemes_that_ask_no_statistics_order_nothing_elsewhere(overlay: Topology, scheme: str) -> None:
    order, _ = reorganisation(overlay, scheme)
    assert not by_statistics(order)


@settings(max_examples=60)
@given(st.binary(max_size=60))
def test_whatever_comes_in_place_of_an_order_or_a_plan_is_refused_with_a_reason(data: bytes) -> None:
    for kind in (Commission, Found):
        with pytest.raises(PlanError):
            kind.unpacked(data)
