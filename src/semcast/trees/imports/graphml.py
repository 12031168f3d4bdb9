"""GraphML: the Topology Zoo's, networkx's and yEd's files.

A file comes from anywhere, so nothing in it is trusted: a document type, and with it every entity, is refused,
nothing is loaded, and size and depth are bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from lxml import etree

from semcast.trees.imports.network import Edge, Network, Node
from semcast.trees.topology import TopologyError

MAX_BYTES = 1 << 27
_NAMES = ("label", "name")
_LONGITUDES, _LATITUDES = ("longitude", "lon", "lng"), ("latitude", "lat")
_COSTS, _DELAYS = ("cost", "weight"), ("delay_ms", "delay", "latency_ms", "latency")

Element = Any  # lxml's stubs know no iteration by wildcard


def read_graphml(text: bytes) -> Network:
    """The network of a file; TopologyError says what is wrong with it.

    Names come from ``label`` or ``name``, places from ``Longitude`` and ``Latitude``, else from ``x`` and ``y``, else
    from yEd's drawing; costs from ``cost`` or ``weight``, delays in ms from ``delay_ms``, ``delay`` or ``latency``.
    All others are passed over, and so is the direction of links.
    """
    root = _parsed(text)
    keys = {key.get("id", ""): (key.get("attr.name") or "").lower() for key in root.iter("{*}key")}
    edges = [_edge(edge, keys) for edge in root.iter("{*}edge")]
    linked = {end for edge in edges for end in (edge.a, edge.b)}
    if root.find(".//{*}hyperedge") is not None:
        raise TopologyError("this GraphML has hyperedges; a link has two ends")
    # In yEd a group of nodes is a node that holds a graph.
    found = [node for node in root.iter("{*}node") if node.find("{*}graph") is None or _id(node, "id") in linked]
    values = [_values(node, keys) for node in found]
    geographic = any(_number(value, _LONGITUDES) is not None for value in values)
    nodes = [_node(node, value, geographic) for node, value in zip(found, values, strict=True)]
    return Network(nodes, edges, geographic)


def _parsed(text: bytes) -> Element:
    if len(text) > MAX_BYTES:
        raise TopologyError(f"too large for GraphML: {len(text):,} bytes, at most {MAX_BYTES:,} are read")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False
    )
    try:
        tree = etree.fromstring(text, parser).getroottree()
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise TopologyError(f"not readable as XML: {error}") from None
    if tree.docinfo.internalDTD is not None:
        raise TopologyError("a document type is not accepted in GraphML")
    root = tree.getroot()
    if etree.QName(root).localname != "graphml":
        raise TopologyError(f"not GraphML: the file holds <{etree.QName(root).localname}>")
    return root


def _values(element: Element, keys: Mapping[str, str]) -> dict[str, str]:
    """What the element's own data say, by attribute name in lower case."""
    data = ((keys.get(item.get("key", ""), ""), item.text) for item in element.iterfind("{*}data"))
    return {name: text.strip() for name, text in data if name and text and text.strip()}


def _node(element: Element, values: Mapping[str, str], geographic: bool) -> Node:
    name = next((values[key] for key in _NAMES if values.get(key, "None") not in ("None", "?")), None)
    if geographic:
        place = _number(values, _LONGITUDES), _number(values, _LATITUDES)
        if None not in place and not (abs(place[0] or 0) <= 180 and abs(place[1] or 0) <= 90):
            raise TopologyError(f"node {_id(element, 'id')!r} is not on earth: {place[0]:g}, {place[1]:g}")
    else:
        place = _number(values, ("x",)), _number(values, ("y",))
    drawn = element.find("{*}data/{*}ShapeNode")
    if drawn is None:
        drawn = next(_drawn(element), None)
    if drawn is not None:
        label, box = drawn.find(".//{*}NodeLabel"), drawn.find(".//{*}Geometry")
        name = name or ((label.text or "").strip() or None if label is not None else None)
        if not geographic and place == (None, None) and box is not None:
            place = _centre(box)
    return Node(_id(element, "id"), name, *(place if None not in place else (None, None)))


def _drawn(element: Element) -> Iterator[Element]:
    """yEd's drawing of a node, whatever its form."""
    for item in element.iterfind("{*}data"):
        yield from (child for child in item if child.find("{*}Geometry") is not None)


def _centre(box: Element) -> tuple[float | None, float | None]:
    x, y, width, height = (_float(box.get(key)) for key in ("x", "y", "width", "height"))
    if x is None or y is None:
        return None, None
    return x + (width or 0) / 2, -(y + (height or 0) / 2)  # yEd counts downwards


def _edge(element: Element, keys: Mapping[str, str]) -> Edge:
    values = _values(element, keys)
    ends = _id(element, "source"), _id(element, "target")
    cost, delay = (_number(values, names) for names in (_COSTS, _DELAYS))
    for value in (cost, delay):
        if value is not None and value <= 0:
            raise TopologyError(f"the link {ends[0]!r}–{ends[1]!r} needs a cost and a delay above 0, not {value:g}")
    return Edge(*ends, cost, delay)


def _id(element: Element, name: str) -> str:
    value = element.get(name)
    if not value:
        raise TopologyError(f"line {element.sourceline}: <{etree.QName(element).localname}> without {name!r}")
    return str(value)


def _number(values: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    return next((number for name in names if (number := _float(values.get(name))) is not None), None)


def _float(text: str | None) -> float | None:
    """A finite number, or None: the Topology Zoo writes words where it does not know."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
