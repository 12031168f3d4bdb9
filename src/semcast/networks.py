"""Networks from outside, as topologies: TopoHub's by name, GraphML and topology files by path."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from semcast.model import SemcastError
from semcast.trees.generators import Costs
from semcast.trees.imports import Changes, Edge, Network, Node, cleaned, read_graphml
from semcast.trees.topology import Topology, TopologyError

EXTRA = "semcast[topohub]"


def topohub_names() -> list[str]:
    """Every network of TopoHub, as group/name: topozoo, sndlib, caida, backbone, gabriel."""
    return sorted(name.removesuffix(".json") for name in _files(_data()))


def topohub(name: str, *, costs: Costs = "unit") -> tuple[Topology, Changes]:
    """A network of TopoHub by its name; the error for an unknown one suggests near names.

    Its coordinates are degrees where all of them can be (the Topology Zoo, CAIDA, half of SNDlib); otherwise they
    are a plane, and TopoHub's own distances mean nothing there.
    """
    data = _data()
    if name not in topohub_names():
        raise SemcastError(f"TopoHub has no network {name!r}{_near(name)}; --list names all")
    found: dict[str, Any] = msgspec.json.decode((data / f"{name}.json").read_bytes())
    nodes = [Node(str(node["id"]), node.get("name"), *(node.get("pos") or (None, None))) for node in found["nodes"]]
    edges = [Edge(str(edge["source"]), str(edge["target"])) for edge in found["edges"]]
    return cleaned(Network(nodes, edges, _on_earth(nodes)), costs=costs)


def graphml(path: Path, *, largest: bool = False, costs: Costs = "unit") -> tuple[Topology, Changes]:
    """A network from a GraphML file."""
    try:
        return cleaned(read_graphml(_read(path)), largest=largest, costs=costs)
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from None


def topology_file(path: Path) -> Topology:
    """A topology from its own JSON file."""
    try:
        return Topology.from_json(_read(path))
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SemcastError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None


def _data() -> Any:
    try:
        import topohub
    except ImportError:
        raise SemcastError(f"real networks by name need TopoHub's collection: pip install '{EXTRA}'") from None
    return resources.files(topohub) / "data"


def _files(folder: Any, before: str = "") -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{before}{entry.name}/")
        elif entry.name.endswith(".json"):
            yield before + entry.name


def _near(name: str) -> str:
    """The names that are most like it, upper and lower case aside; a bare name is looked for in every group."""
    names = topohub_names()
    wanted = name.lower().rpartition("/")[2]
    last = {full: full.lower().rpartition("/")[2] for full in names}
    near = difflib.get_close_matches(wanted, sorted(set(last.values())), n=3, cutoff=0.6) if wanted else []
    found = [full for short in near for full in names if last[full] == short]
    group = name.rpartition("/")[0] + "/"
    found = sorted(found, key=lambda full: not full.startswith(group))[:3]
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def _on_earth(nodes: list[Node]) -> bool:
    return all(abs(node.x or 0) <= 180 and abs(node.y or 0) <= 90 for node in nodes)
