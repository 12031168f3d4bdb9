from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from semcast.trees.generators import KINDS, TransitStub, flat_random, generate, power_law, transit_stub, waxman
from semcast.trees.graph import hop_diameter
from semcast.trees.roles import SOURCE, with_roles
from semcast.trees.topology import Broker, Link, Topology, TopologyError


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("brokers", "links"), [(1, 0), (2, 1), (3, 3), (5, 10), (6, 12)])
def test_without_a_degree_few_brokers_have_what_links_they_can(kind: str, brokers: int, links: int) -> None:
    topology = generate(kind, brokers, rng())
    assert (len(topology.brokers), len(topology.links), len(topology.gateways)) == (brokers, links, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("brokers", "degree", "what"),
    [
        (0, None, "at least one broker, not 0"),
        (2, 4, r"2 brokers that are connected have a mean degree from 1 \(a tree\) to 1 "),
        (30, 30, r"from 1.933 \(a tree\) to 29 \(all linked to all\), not 30"),
        (30, 1, "not 1"),
        (1, 3, "not 3"),
        (30, math.nan, "not nan"),
        (30, math.inf, "not inf"),
    ],
)
def test_a_degree_that_cannot_be_is_refused(kind: str, brokers: int, degree: float | None, what: str) -> None:
    with pytest.raises(TopologyError, match=what):
        generate(kind, brokers, rng(), degree=degree)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(TopologyError, match="no kind of topology 'mesh'; there is random, waxman"):
        generate("mesh", 5, rng())


def test_every_pair_is_as_likely_in_a_flat_random_graph() -> None:
    seen = np.zeros((8, 8))
    for seed in range(3000):
        a, b = np.sort(flat_random(8, rng(seed), 3).ends, axis=1).T
        seen[a, b] += 1
    shares = seen[np.triu_indices(8, 1)] / 3000
    assert shares.mean() == pytest.approx(3 / 7)
    assert np.abs(shares - 3 / 7).max() < 4.5 * math.sqrt(3 / 7 * 4 / 7 / 3000)


def test_waxman_links_pairs_by_its_formula() -> None:
    """With alpha given, the share of linked pairs at each distance is alpha · exp(-d / (beta · L))."""
    sketch = waxman(1500, rng(), alpha=0.6, beta=0.15)
    at = sketch.positions
    row, column = np.triu_indices(1500, 1)
    distance = np.hypot(*(at[row] - at[column]).T)
    linked = np.hypot(*(at[sketch.ends[:, 0]] - at[sketch.ends[:, 1]]).T)
    bins = np.linspace(0, 0.7, 8)
    there, drawn = np.histogram(distance, bins)[0], np.histogram(linked, bins)[0]
    expected = 0.6 * np.exp(-distance / (0.15 * math.sqrt(2)))
    mean = np.histogram(distance, bins, weights=expected)[0] / there
    assert np.abs(drawn / there - mean).max() < 5 * np.sqrt(mean / there).max()


def test_the_alpha_of_a_degree_gives_that_degree_again() -> None:
    sketch = waxman(2000, rng(), degree=6, beta=0.3)
    again = waxman(2000, rng(7), alpha=sketch.parameters["alpha"], beta=0.3)
    assert 2 * len(again.ends) / 2000 == pytest.approx(6, rel=0.06)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"alpha": 0.5, "degree": 4}, "decide the same thing"),
        ({"alpha": 0}, "alpha must be above 0 and at most 1, not 0"),
        ({"alpha": 1.5}, "at most 1"),
        ({"beta": 0}, "beta must be above 0"),
        ({"beta": -1}, "beta must be above 0"),
    ],
)
def test_waxman_parameters_out_of_range_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(TopologyError, match=what):
        waxman(30, rng(), **options)


def test_a_tiny_reach_still_gives_a_connected_graph() -> None:
    assert generate("waxman", 50, rng(), degree=3).degree == 3
    assert len(Topology.of(*_parts(waxman(50, rng(), degree=3, beta=1e-6).topology())).links) == 75


def _parts(topology: Topology) -> tuple[tuple[Broker, ...], tuple[Link, ...]]:
    return topology.brokers, topology.links


def test_degrees_of_a_power_law_graph_fall_with_exponent_three() -> None:
    degrees = np.bincount(power_law(20_000, rng(), 4).ends.ravel())
    tail = degrees[degrees >= 8]
    exponent = 1 + len(tail) / np.log(tail / 7.5).sum()  # maximum likelihood (Clauset, Shalizi and Newman 2009)
    assert exponent == pytest.approx(3, abs=0.25)
    assert degrees.max() > 100
    flat = np.bincount(flat_random(20_000, rng(), 4).ends.ravel())
    assert flat.max() < 30


def test_a_power_law_graph_of_a_broken_degree_mixes_two_numbers_of_links() -> None:
    ends = power_law(1000, rng(), 5).ends
    brought = np.bincount(ends.max(axis=1), minlength=1000)
    assert set(brought[3:].tolist()) == {2, 3}


def test_transit_stub_takes_all_of_gt_itms_parameters() -> None:
    parameters = TransitStub(4, 6, 3, 8, extra_transit_stub=10, extra_stub_stub=5, stub_edges=0.42)
    sketch = transit_stub(600, rng(), parameters=parameters)
    assert sketch.edge is not None
    assert sketch.edge.sum() == 576
    told = dict(sketch.parameters)
    assert told.pop("edge_probability") > 0.4
    assert list(told.values()) == [4, 6, 3, 8, 10, 5]
    across = sketch.edge[sketch.ends].sum(axis=1) == 1
    assert across.sum() == 72 + 10  # each stub's own link, and the extra ones


def test_transit_links_are_long_and_stub_links_short() -> None:
    sketch = transit_stub(600, rng(), 4)
    assert sketch.edge is not None
    links = sketch.topology().links
    level = sketch.edge[[[int(link.a[1:]), int(link.b[1:])] for link in links]].sum(axis=1)
    delay = np.array([link.delay_ms for link in links])
    assert np.median(delay[level == 0]) > 2 * np.median(delay[level == 1]) > 2 * np.median(delay[level == 2])


@pytest.mark.parametrize(
    ("brokers", "parameters", "what"),
    [
        (600, {"transit_domains": 0}, "--transit-domains must be 1 or more"),
        (600, {"stub_edges": 1.1}, "--stub-edges is a probability"),
        (600, {"extra_stub_stub": -1}, "--extra-stub-stub must be 0 or more"),
        (20, {"transit_domains": 5, "transit_nodes": 5}, "25 transit nodes are more than 20 brokers"),
        (20, {"transit_domains": 2, "transit_nodes": 5, "stubs": 2}, "20 brokers leave 10"),
        (601, {"transit_domains": 4, "transit_nodes": 6, "stubs": 3, "stub_nodes": 8}, "hold 600 brokers, not 601"),
        (100, {"extra_stub_stub": 500}, "leaves room for 101 extra links, not 501"),
    ],
)
def test_transit_stub_parameters_that_do_not_fit_are_refused(
    brokers: int, parameters: dict[str, Any], what: str
) -> None:
    with pytest.raises(TopologyError, match=what):
        transit_stub(brokers, rng(), parameters=TransitStub(**parameters))


def test_extra_links_are_refused_where_there_is_no_room_for_them() -> None:
    with pytest.raises(TopologyError, match="there is room for 0 extra stub-stub links"):
        transit_stub(6, rng(), parameters=TransitStub(1, 1, 1, 5, extra_stub_stub=1, stub_edges=1))
    with pytest.raises(TopologyError, match="decide the same thing"):
        transit_stub(100, rng(), 4, TransitStub(stub_edges=0.4))


def test_gateways_are_stub_nodes_before_transit_nodes() -> None:
    sketch = transit_stub(100, rng())
    assert sketch.edge is not None
    stubs = int(sketch.edge.sum())
    few = with_roles(sketch.topology(), rng(), gateways=stubs / 100, edge=sketch.edge)
    assert list(few.gateways) == np.flatnonzero(sketch.edge).tolist()
    assert len(with_roles(sketch.topology(), rng(), gateways=1, edge=sketch.edge).gateways) == 100


def test_roles_are_drawn_anew_or_left_as_they_are() -> None:
    brokers = [Broker(f"b{i}", roles=("gateway", "rack-7") if i == 0 else ()) for i in range(40)]
    line = Topology.of(brokers, [Link(f"b{i}", f"b{i + 1}") for i in range(39)])
    kept = with_roles(line, rng(), gateways=None, sources=3)
    assert kept.gateways == (0,)
    assert sum(SOURCE in broker.roles for broker in kept.brokers) == 3
    drawn = with_roles(line, rng(), gateways=0.5, sources=None)
    assert len(drawn.gateways) == 20
    assert "rack-7" in drawn.brokers[0].roles
    assert drawn.links == line.links


@pytest.mark.parametrize(("gateways", "sources"), [(0, 0), (1.1, 0), (-0.2, 0), (math.nan, 0), (0.2, 41), (0.2, -1)])
def test_roles_that_cannot_be_given_are_refused(gateways: float, sources: int) -> None:
    line = Topology.of([Broker(f"b{i}") for i in range(40)], [Link(f"b{i}", f"b{i + 1}") for i in range(39)])
    with pytest.raises(TopologyError):
        with_roles(line, rng(), gateways=gateways, sources=sources)


def test_links_cost_one_or_their_delay() -> None:
    by_distance = generate("waxman", 30, rng(), costs="distance")
    assert all(link.cost == link.delay_ms for link in by_distance.links)
    assert {link.cost for link in generate("waxman", 30, rng()).links} == {1.0}


def test_the_diameter_is_counted_in_links_and_exact_for_small_overlays() -> None:
    line = Topology.of([Broker(f"b{i}") for i in range(40)], [Link(f"b{i}", f"b{i + 1}", 7, 3) for i in range(39)])
    assert hop_diameter(line.graph) == (39, True)
    long = Topology.of([Broker(f"b{i}") for i in range(1200)], [Link(f"b{i}", f"b{i + 1}") for i in range(1199)])
    assert hop_diameter(long.graph) == (1199, False)
    assert hop_diameter(Topology.of([Broker("b0")], []).graph) == (0, True)
