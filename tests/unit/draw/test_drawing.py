from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from lxml import etree
from matplotlib.image import imread

from semcast.draw.overlay import draw
from semcast.model import SemcastError
from semcast.model.palette import COLOURS, style
from semcast.trees.generators import generate
from semcast.trees.layout import laid_out, places
from semcast.trees.topology import Broker, Link, Topology


def shortest_path_trees(topology: Topology, count: int) -> dict[str, list[tuple[int, int]]]:
    return {f"channel {root}": spt(topology, root) for root in range(count)}


def spt(topology: Topology, root: int) -> list[tuple[int, int]]:
    paths = topology.graph.paths(root)
    order = np.argsort(paths.distance, kind="stable")[1:]
    return [(int(paths.parent[node]), int(node)) for node in order]


def strokes(path: Path) -> dict[str, int]:
    """How many lines of each colour an SVG has."""
    found = re.findall(r"stroke: (#[0-9a-f]{6})", path.read_text())
    return {colour: found.count(colour) for colour in set(found)}


def without_places(topology: Topology) -> Topology:
    bare = tuple(msgspec.structs.replace(broker, x=None, y=None) for broker in topology.brokers)
    return Topology(bare, topology.links)


def test_every_link_of_every_tree_is_drawn_in_the_trees_colour(tmp_path: Path) -> None:
    topology = generate("waxman", 25, np.random.default_rng(1), sources=1)
    trees = shortest_path_trees(topology, 3)
    draw(topology, trees, out=tmp_path / "t.svg", title="three trees")
    drawn = strokes(tmp_path / "t.svg")
    for number in range(3):
        # Its 24 links, its ring, and its line in the legend.
        assert drawn[style(number)[0].lower()] == 24 + 1 + 1
    assert drawn["#d9d9d9"] == len(topology.links) + 1
    text = (tmp_path / "t.svg").read_text()
    assert all(word in text for word in (*trees, "three trees", "gateway", "source", "rendezvous point", "b24"))


def test_trees_that_share_a_link_lie_beside_each_other(tmp_path: Path) -> None:
    pair = Topology.of([Broker("a", 0.0, 0.0), Broker("b", 1.0, 0.0)], [Link("a", "b")])
    draw(pair, {"one": [(0, 1)], "two": [(1, 0)]}, out=tmp_path / "t.svg")
    root = etree.parse(str(tmp_path / "t.svg")).getroot()
    heights = {}
    for path in root.iter("{*}path"):
        found = re.match(r"M (\S+) (\S+)\s+L (\S+) (\S+)", path.get("d", "") or "")
        colour = re.search(r"stroke: (#[0-9a-f]{6})", path.get("style", "") or "")
        if found and colour and abs(float(found[3]) - float(found[1])) > 100:
            heights[colour[1]] = float(found[2])
    one, two = heights[COLOURS[0].lower()], heights[COLOURS[1].lower()]
    assert 1.5 < abs(one - two) < 10


def test_the_same_input_gives_the_same_file(tmp_path: Path) -> None:
    topology = without_places(generate("transit-stub", 60, np.random.default_rng(1)))
    for name in ("a.svg", "b.svg", "a.png", "b.png"):
        draw(topology, shortest_path_trees(topology, 2), out=tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert imread(tmp_path / "a.png").shape[0] > 300


@pytest.mark.parametrize("brokers", [1, 2, 3])
def test_the_smallest_overlays_can_be_drawn(brokers: int, tmp_path: Path) -> None:
    topology = generate("random", brokers, np.random.default_rng(1))
    draw(topology, out=tmp_path / "t.svg")
    draw(without_places(topology), {"none": []}, out=tmp_path / "u.png")
    assert (tmp_path / "u.png").stat().st_size > 1000


def test_a_drawing_needs_a_known_format_and_a_folder(tmp_path: Path) -> None:
    topology = generate("random", 3, np.random.default_rng(1))
    with pytest.raises(SemcastError, match=r"a drawing ends in .svg or .png"):
        draw(topology, out=tmp_path / "t.pdf")
    with pytest.raises(SemcastError, match="no such file or directory"):
        draw(topology, out=tmp_path / "none" / "t.svg")


def test_28_channels_can_be_told_apart() -> None:
    assert len({style(number) for number in range(28)}) == 28
    assert len({style(number)[0] for number in range(7)}) == 7
    assert style(28) == style(0)


def test_a_layout_puts_linked_brokers_nearer_than_others() -> None:
    graph = generate("transit-stub", 120, np.random.default_rng(2)).graph
    at = laid_out(graph)
    assert len({tuple(place) for place in at.round(6).tolist()}) == 120
    apart = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    linked = apart[graph.ends[:, 0], graph.ends[:, 1]]
    assert linked.mean() < 0.3 * apart.mean()


def test_brokers_without_a_place_stand_near_their_neighbours() -> None:
    brokers = [Broker("a", 0.0, 0.0), Broker("b", 1.0, 0.0), Broker("c"), Broker("d")]
    at = places(Topology.of(brokers, [Link("a", "b"), Link("b", "c"), Link("c", "d")]))
    assert np.isfinite(at).all()
    assert at[:2].tolist() == [[0, 0], [1, 0]]
    assert np.hypot(*(at[2] - at[1])) < 0.1
    assert np.hypot(*(at[3] - at[2])) < 0.1
