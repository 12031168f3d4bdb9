from __future__ import annotations

import math

import pytest

from semcast.trees.imports import Edge, Network, Node, cleaned, read_graphml
from semcast.trees.imports.network import great_circle_km
from semcast.trees.topology import Link, TopologyError
from tests.unit.trees.graphml import NETWORKX

ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d36" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d29">40.71427</data><data key="d32">-74.00597</data><data key="d33">New York</data></node>
    <node id="1"><data key="d29">41.85003</data><data key="d32">-87.65005</data><data key="d33">Chicago</data></node>
    <node id="2"><data key="d33">None</data></node>
    <node id="3"><data key="d33">Chicago</data></node>
    <edge source="0" target="1"><data key="d36">10</data></edge>
    <edge source="1" target="0" />
    <edge source="1" target="2" />
    <edge source="3" target="2" />
    <edge source="3" target="3" />
  </graph>
</graphml>"""


YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key for="node" id="d6" yfiles.type="nodegraphics"/>
  <graph edgedefault="directed" id="G">
    <node id="n0" yfiles.foldertype="group"><data key="d6"><y:ProxyAutoBoundsNode/></data>
      <graph id="n0:">
        <node id="n0::n0"><data key="d6"><y:ShapeNode><y:Geometry height="30" width="30" x="0" y="0"/>
          <y:NodeLabel>top</y:NodeLabel></y:ShapeNode></data></node>
        <node id="n0::n1"><data key="d6"><y:GenericNode><y:Geometry height="30" width="30" x="0" y="200"/>
          <y:NodeLabel>below</y:NodeLabel></y:GenericNode></data></node>
      </graph></node>
    <edge id="e0" source="n0::n0" target="n0::n1"/>
  </graph>
</graphml>"""


def test_a_file_of_the_topology_zoo_is_read_with_names_places_and_delays() -> None:
    topology, changes = cleaned(read_graphml(ZOO.encode()))
    assert [broker.id for broker in topology.brokers] == ["Chicago (1)", "Chicago (3)", "New York", "2"]
    assert (changes.loops, changes.doubles, changes.apart, changes.unplaced, changes.guessed) == (1, 1, 0, 2, 2)
    assert len(changes.lines()) == 4
    far = next(link for link in topology.links if link.b == "New York")
    assert far.delay_ms == pytest.approx(1144 / 199.86, rel=0.01)  # km at two thirds of the speed of light
    assert far.cost == 1
    places = {broker.id: (broker.x, broker.y) for broker in topology.brokers}
    assert places["2"] == (None, None)
    assert places["New York"] == (1.0, 0.0)
    assert places["Chicago (1)"][0] == 0.0


def test_of_several_links_the_least_cost_and_delay_count_in_any_order() -> None:
    network = read_graphml(NETWORKX.encode())
    topology, _ = cleaned(network)
    assert topology.links[0] == Link("n0", "n1", 2, 7)
    assert topology.links[1].delay_ms == pytest.approx(0.75 / math.sqrt(2) * 100, abs=1e-3)
    turned, _ = cleaned(Network(network.nodes[::-1], network.edges[::-1], network.geographic))
    assert turned == topology


def test_a_drawing_of_yed_is_read_with_labels_and_places_and_without_its_groups() -> None:
    topology, _ = cleaned(read_graphml(YED.encode()))
    assert {broker.id: broker.y for broker in topology.brokers} == {"below": 0.0, "top": 1.0}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "not readable as XML"),
        (b"<graphml>", "not readable as XML"),
        (b"<html/>", "not GraphML: the file holds <html>"),
        (b"<graphml/>", "no nodes"),
        (b"<graphml><graph><node/></graph></graphml>", "<node> without 'id'"),
        (b"<graphml><graph><node id='a'/><edge source='a'/></graph></graphml>", "<edge> without 'target'"),
        (b"<graphml><graph><node id='a'/><edge source='a' target='b'/></graph></graphml>", "'b', which is no node"),
        (b"<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "two nodes have the id 'a'"),
        (b"<graphml><graph><node id='a'/><hyperedge/></graph></graphml>", "hyperedges"),
        (NETWORKX.replace(">7<", ">0<").encode(), "a delay above 0"),
        (ZOO.replace("40.71427", "140").encode(), "not on earth"),
        (b'<!DOCTYPE g [<!ENTITY a "x">]><graphml>&a;</graphml>', "document type is not accepted"),
        (b'<!DOCTYPE g SYSTEM "file:///etc/passwd"><graphml/>', "document type is not accepted"),
    ],
)
def test_what_is_wrong_with_a_graphml_file_is_said(text: bytes, what: str) -> None:
    with pytest.raises(TopologyError, match=what):
        cleaned(read_graphml(text))


def test_entities_are_not_expanded_before_a_file_is_refused() -> None:
    lol = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    text = f'<!DOCTYPE g [<!ENTITY l0 "lol">{lol}]><graphml>&l11;</graphml>'
    with pytest.raises(TopologyError):
        read_graphml(text.encode())


def test_unconnected_parts_are_an_error_unless_the_largest_is_asked_for() -> None:
    network = Network([Node(c) for c in "abcde"], [Edge("a", "b"), Edge("c", "d"), Edge("d", "e")])
    with pytest.raises(TopologyError, match=r"in 2 parts .* the largest has 3 of 5 nodes"):
        cleaned(network)
    topology, changes = cleaned(network, largest=True)
    assert [broker.id for broker in topology.brokers] == ["c", "d", "e"]
    assert changes.apart == 2


def test_names_that_clash_with_ids_give_way_to_ids() -> None:
    network = Network([Node("1", "2"), Node("2", None)], [Edge("1", "2")])
    assert [broker.id for broker in cleaned(network)[0].brokers] == ["1", "2"]


def test_a_network_across_the_pacific_is_not_torn() -> None:
    network = Network([Node("Fiji", None, 178, -18), Node("Samoa", None, -172, -14)], [Edge("Fiji", "Samoa")], True)
    topology, _ = cleaned(network)
    places = {broker.id: broker.x for broker in topology.brokers}
    assert places == {"Fiji": 0.0, "Samoa": 1.0}
    assert topology.links[0].delay_ms == pytest.approx(great_circle_km(178, -18, -172, -14) / 199.86, rel=1e-3)


def test_a_great_circle_is_as_long_as_it_is_known_to_be() -> None:
    assert great_circle_km(0, 0, 180, 0) == pytest.approx(math.pi * 6371.0088)
    assert great_circle_km(-0.1278, 51.5074, 2.3522, 48.8566) == pytest.approx(343.6, abs=0.5)


def test_brokers_in_one_place_still_have_a_delay() -> None:
    network = Network([Node("a", None, 5, 50), Node("b", None, 5, 50)], [Edge("a", "b")], True)
    assert cleaned(network)[0].links[0].delay_ms == 0.05
