"""GraphML as other programs write it."""

from __future__ import annotations

NETWORKX = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d1" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d2" for="edge" attr.name="delay_ms" attr.type="double"/>
  <key id="d3" for="node" attr.name="x" attr.type="double"/>
  <key id="d4" for="node" attr.name="y" attr.type="double"/>
  <graph edgedefault="directed">
    <node id="n0"><data key="d3">10</data><data key="d4">10</data></node>
    <node id="n1"><data key="d3">30</data><data key="d4">10</data></node>
    <node id="n10"><data key="d3">30</data><data key="d4">25</data></node>
    <edge source="n0" target="n1"><data key="d1">3</data><data key="d2">7</data></edge>
    <edge source="n1" target="n0"><data key="d1">2</data><data key="d2">9</data></edge>
    <edge source="n10" target="n1"/>
  </graph>
</graphml>"""
