from __future__ import annotations

import numpy as np
import pytest

from semcast.trees.graph import Graph
from semcast.trees.topology import Broker, Link, Topology, TopologyError


def test_brokers_are_in_natural_order_whatever_order_they_come_in() -> None:
    links = [Link("b10", "b1"), Link("b2", "b1", 3, 7)]
    made = Topology.of([Broker("b10"), Broker("b2"), Broker("b1")], links)
    assert [broker.id for broker in made.brokers] == ["b1", "b2", "b10"]
    assert made == Topology.of([Broker("b1"), Broker("b2"), Broker("b10")], [Link("b1", "b2", 3, 7), Link("b1", "b10")])
    assert [(link.a, link.b) for link in made.links] == [("b1", "b2"), ("b1", "b10")]


def test_a_topology_survives_its_file() -> None:
    brokers = [Broker("a", 0.25, 0.5, ("gateway", "source")), Broker("b", roles=("gateway",)), Broker("é")]
    made = Topology.of(brokers, [Link("a", "b", 2, 5.5), Link("b", "é")])
    assert Topology.from_json(made.to_json()) == made
    assert made.gateways == (0, 1)
    assert made.degree == pytest.approx(4 / 3)


def test_a_file_may_leave_out_all_but_the_names() -> None:
    made = Topology.from_json('{"brokers": [{"id": "a"}, {"id": "b"}], "links": [{"a": "b", "b": "a"}], "more": 1}')
    assert made.links == (Link("a", "b", 1, 1),)


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("[]", "not a topology: Expected `object`, got `array`"),
        ('{"brokers": [{"id": 1}], "links": []}', r"\$.brokers\[0\].id"),
        ('{"brokers": [], "links": []}', "at least one broker"),
        ('{"brokers": [{"id": ""}], "links": []}', "without an id"),
        ('{"brokers": [{"id": "a"}, {"id": "a"}], "links": []}', "two brokers are named 'a'"),
        ('{"brokers": [{"id": "a"}], "links": [{"a": "a", "b": "a"}]}', "'a' is linked to itself"),
        ('{"brokers": [{"id": "a"}], "links": [{"a": "a", "b": "c"}]}', "names 'c', which is no broker"),
        ('{"brokers": [{"id": "a"}, {"id": "b"}], "links": []}', r"no way from 'a' to 'b' \(1 of 2 brokers\)"),
        (
            '{"brokers": [{"id": "a"}, {"id": "b"}], "links": [{"a": "a", "b": "b", "cost": 0}]}',
            "from 0.001 to 1,000,000",
        ),
        ('{"brokers": [{"id": "a"}, {"id": "b"}], "links": [{"a": "a", "b": "b"}, {"a": "b", "b": "a"}]}', "twice"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(file: str, what: str) -> None:
    with pytest.raises(TopologyError, match=what):
        Topology.from_json(file)


def test_an_unknown_broker_is_named() -> None:
    made = Topology.of([Broker("a"), Broker("b")], [Link("a", "b")])
    with pytest.raises(TopologyError, match="there is no broker 'c'; there are 2, from 'a' to 'b'"):
        made.node("c")


def test_of_equally_short_ways_the_smallest_parent_is_taken() -> None:
    square = Graph.of(4, [(3, 2), (1, 3), (0, 2), (1, 0)])
    assert square.paths(0).to(3) == [0, 1, 3]
    assert square.paths(3).to(0) == [3, 1, 0]


def test_paths_follow_the_weight_that_is_asked_for() -> None:
    triangle = Graph.of(3, [(0, 1), (1, 2), (0, 2)], costs=[1, 1, 3], delays=[5, 5, 1])
    assert triangle.paths(0).to(2) == [0, 1, 2]
    assert triangle.paths(0, "delay").to(2) == [0, 2]


def test_distances_equal_those_of_a_slow_relaxation() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        nodes = int(rng.integers(2, 30))
        pairs = {tuple(sorted(rng.choice(nodes, 2, replace=False).tolist())) for _ in range(2 * nodes)}
        ends = sorted(pairs)
        costs = rng.integers(1, 5, len(ends)).astype(float)
        graph = Graph.of(nodes, ends, costs)
        expected = _relaxed(nodes, ends, costs.tolist())
        found = graph.paths(0)
        assert found.distance.tolist() == expected
        for node in range(nodes):
            if 0 < found.distance[node] < np.inf:
                arc = graph.arc(int(found.parent[node]), node)
                assert found.distance[found.parent[node]] + graph.costs[arc] == found.distance[node]
        assert graph.unreached(0).tolist() == [node for node in range(nodes) if expected[node] == np.inf]


def _relaxed(nodes: int, ends: list[tuple[int, ...]], costs: list[float]) -> list[float]:
    distance = [0.0] + [np.inf] * (nodes - 1)
    for _ in range(nodes):
        for (a, b), cost in zip(ends, costs, strict=True):
            distance[a] = min(distance[a], distance[b] + cost)
            distance[b] = min(distance[b], distance[a] + cost)
    return distance
