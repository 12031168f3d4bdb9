"""Laws of every kind of drawn topology."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from semcast.trees.generators import KINDS, TransitStub, generate, transit_stub, waxman
from semcast.trees.generators.domains import Domains
from semcast.trees.topology import Topology

kinds = pytest.mark.parametrize("kind", KINDS)
sizes = st.one_of(st.integers(1, 12), st.integers(13, 400))
seeds = st.integers(0, 2**32)


def made(kind: str, brokers: int, seed: int, degree: float | None = None, gateways: float = 0.2) -> Topology:
    return generate(kind, brokers, np.random.default_rng(seed), degree=degree, gateways=gateways)


@kinds
@settings(deadline=None, max_examples=60)
@given(brokers=sizes, share=st.floats(0, 1), seed=seeds)
def test_size_and_degree_are_those_asked_for_and_all_hangs_together(
    kind: str, brokers: int, share: float, seed: int
) -> None:
    least, most = 2 * (brokers - 1) / brokers, min(brokers - 1, 20)
    degree = least + share * max(0, most - least)
    topology = made(kind, brokers, seed, degree)
    # The way in checks anew that no link is double, none a loop, and that all brokers are connected.
    assert Topology.of(topology.brokers, topology.links) == topology
    assert [broker.id for broker in topology.brokers] == [f"b{i}" for i in range(brokers)]
    assert abs(topology.degree - degree) <= 1 / brokers + 1e-9


@kinds
@settings(deadline=None, max_examples=40)
@given(brokers=st.integers(2, 14), seed=seeds)
def test_the_densest_topology_links_all_to_all(kind: str, brokers: int, seed: int) -> None:
    assert len(made(kind, brokers, seed, brokers - 1).links) == brokers * (brokers - 1) // 2


@kinds
@settings(deadline=None, max_examples=30)
@given(brokers=st.integers(8, 200), seed=seeds)
def test_a_seed_gives_the_same_bytes_and_another_seed_others(kind: str, brokers: int, seed: int) -> None:
    assert made(kind, brokers, seed).to_json() == made(kind, brokers, seed).to_json()
    assert made(kind, brokers, seed).to_json() != made(kind, brokers, seed + 1).to_json()


@kinds
@settings(deadline=None, max_examples=30)
@given(brokers=sizes, seed=seeds)
def test_a_drawn_topology_survives_its_file(kind: str, brokers: int, seed: int) -> None:
    topology = made(kind, brokers, seed)
    assert Topology.from_json(topology.to_json()) == topology


@kinds
@settings(deadline=None, max_examples=40)
@given(brokers=sizes, share=st.floats(0.01, 1), seed=seeds)
def test_gateways_are_the_share_asked_for_and_change_no_link(kind: str, brokers: int, share: float, seed: int) -> None:
    topology = made(kind, brokers, seed, gateways=share)
    assert len(topology.gateways) == max(1, int(share * brokers + 0.5))
    assert topology.links == made(kind, brokers, seed).links


@kinds
@settings(deadline=None, max_examples=30)
@given(brokers=sizes, seed=seeds)
def test_brokers_stand_in_the_unit_square_and_delays_are_their_distances(kind: str, brokers: int, seed: int) -> None:
    topology = made(kind, brokers, seed)
    at = np.array([(broker.x, broker.y) for broker in topology.brokers], float)
    assert (at >= 0).all()
    assert (at <= 1).all()
    for link in topology.links:
        apart = float(np.hypot(*(at[topology.node(link.a)] - at[topology.node(link.b)])))
        assert link.delay_ms == pytest.approx(max(0.05, apart / 2**0.5 * 100), abs=2e-3)
        assert link.cost == 1


@settings(deadline=None, max_examples=40)
@given(brokers=st.integers(2, 80), seed=seeds, low=st.floats(0.01, 1), high=st.floats(0.01, 1))
def test_a_larger_alpha_links_more(brokers: int, seed: int, low: float, high: float) -> None:
    assume(low < high)
    few, many = (len(waxman(brokers, np.random.default_rng(seed), alpha=a).ends) for a in (low, high))
    assert few <= many


@settings(deadline=None, max_examples=60)
@given(
    brokers=st.integers(20, 300),
    domains=st.integers(1, 4),
    nodes=st.integers(1, 4),
    probability=st.one_of(st.none(), st.floats(0, 1)),
    seed=seeds,
)
def test_every_domain_is_connected_in_itself(
    brokers: int, domains: int, nodes: int, probability: float | None, seed: int
) -> None:
    parameters = TransitStub(domains, nodes, transit_edges=probability, stub_edges=probability, top_edges=probability)
    sketch = transit_stub(brokers, np.random.default_rng(seed), parameters=parameters)
    drawn = Domains.draw(brokers, parameters.sizes(brokers), np.random.default_rng(seed))
    assert len(sketch.positions) == brokers
    assert len(drawn.transit) == domains
    for members in (*drawn.transit, *drawn.stubs):
        assert _reached(set(members.tolist()), sketch.ends.tolist()) == set(members.tolist())
    assert sketch.edge is not None
    assert np.flatnonzero(~sketch.edge).tolist() == sorted(np.concatenate(drawn.transit).tolist())


def _reached(members: set[int], ends: list[list[int]]) -> set[int]:
    """What can be reached from one of the members without leaving them."""
    near: dict[int, set[int]] = {node: set() for node in members}
    for a, b in ends:
        if a in members and b in members:
            near[a].add(b)
            near[b].add(a)
    seen, todo = set[int](), [min(members)]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += near[node]
    return seen


@kinds
@pytest.mark.parametrize("degree", [3, 7.5, 20])
def test_ten_thousand_brokers_have_the_degree_asked_for(kind: str, degree: float) -> None:
    topology = made(kind, 10_000, 1, degree)
    assert len(topology.brokers) == 10_000
    assert topology.degree == pytest.approx(degree, abs=1e-4)
    assert len(topology.gateways) == 2000
    assert not len(topology.graph.unreached(0))
