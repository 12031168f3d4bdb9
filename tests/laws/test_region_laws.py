"""Masks of two levels: nobody is missed on any tree, and nothing is added where regions are parts of the tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semcast.planning.headers import one_level
from semcast.planning.regions import OUTSIDE, Regions, two_level
from semcast.trees import evaluate
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Routed
from semcast.trees.graph import Graph
from semcast.trees.joins import Routes, low_cost_tree
from semcast.trees.tree import Tree
from tests.laws.masked_worlds import worlds
from tests.laws.overlays import nodes_of

Inner = dict[int, int]
"""Per region that is named, its gateways."""


class Behind(NamedTuple):
    """What a broker knows of one of its links."""

    gateways: int
    """The gateways of its own region behind it, as bits."""
    regions: int
    """The other regions with any gateway behind it."""


def region_masks(tree: Tree, regions: Regions) -> dict[int, dict[int, Behind]]:
    """Per broker of the tree and each of its links there, by the broker at the other end, what is behind it."""
    masks: dict[int, dict[int, Behind]] = {node: {} for node in tree.nodes}
    everyone = _held(tree.nodes, regions)
    below = {node: _held([node], regions) for node in tree.nodes}
    for parent, child in reversed(tree.links.tolist()):
        below[parent] = [a | b for a, b in zip(below[parent], below[child], strict=True)]
        above = [a & ~b for a, b in zip(everyone, below[child], strict=True)]
        masks[parent][child] = _behind(below[child], regions.region.get(parent, OUTSIDE))
        masks[child][parent] = _behind(above, regions.region.get(child, OUTSIDE))
    return masks


def _held(nodes: Iterable[int], regions: Regions) -> list[int]:
    """Per region the gateways among some nodes."""
    found = [0] * len(regions)
    for node in nodes:
        if node in regions.home:
            number, bit = regions.home[node]
            found[number] |= 1 << bit
    return found


def _behind(held: Sequence[int], own: int) -> Behind:
    others = sum(1 << number for number, inner in enumerate(held) if inner and number != own)
    return Behind(held[own] if own != OUTSIDE else 0, others)


def forwarded(
    masks: dict[int, dict[int, Behind]], regions: Regions, at: int, named: Inner, over: int | None = None
) -> tuple[list[int], list[Inner]]:
    """Follow a message as brokers do, who read region bits and the mask of their own region: where it comes to, and
    what it names on every link."""
    own = regions.region.get(at, OUTSIDE)
    reached, sent = [at], []
    for other, behind in masks[at].items():
        if other == over:
            continue
        passed = {region: inner for region, inner in named.items() if region != own and behind.regions >> region & 1}
        if named.get(own, 0) & behind.gateways:
            passed[own] = named[own] & behind.gateways
        if passed:
            further, more = forwarded(masks, regions, other, passed, at)
            reached += further
            sent += [passed, *more]
    return reached, sent


def header(regions: Regions, named: Inner) -> int:
    """A byte and the regions, and for each of them a byte and its gateways; bits or numbers, whichever is shorter."""
    inner = [1 + min((len(regions.members[r]) + 7) // 8, held.bit_count()) for r, held in named.items()]
    return 1 + min((len(regions) + 7) // 8, len(named)) + sum(inner)


def _tree(graph: Graph, data: st.DataObject, nodes: list[int]) -> Tree:
    return low_cost_tree(Routes(graph), data.draw(nodes_of(graph)), data.draw(st.permutations(nodes))).tree()


@given(data=st.data())
def test_nobody_is_missed_and_what_is_sent_is_what_is_counted(data: st.DataObject) -> None:
    world = data.draw(worlds(max_sources=1))
    source = world.sources[0]
    everyone = sorted({*world.gateways, source})
    tree = _tree(world.graph, data, everyone)
    cut_from = data.draw(st.sampled_from([tree, _tree(world.graph, data, everyone)]))
    regions = Regions.of(cut_from, world.gateways, data.draw(st.sampled_from([None, 1, 2, 9])))
    assert sorted(node for held in regions.members for node in held) == world.gateways
    demand = Demand.from_sets(world.gateways, world.sets[0])
    routed = Routed([tree], demand.any_wanted[None, :], masked=True)
    masks = region_masks(tree, regions)
    links = total = 0
    for wanted in world.sets[0]:
        named: Inner = {}
        for node in wanted:
            region, bit = regions.home[node]
            named[region] = named.get(region, 0) | 1 << bit
        reached, sent = forwarded(masks, regions, source, named)
        assert wanted <= set(reached)
        assert len(set(reached)) == len(reached)
        links += len(sent)
        total += sum(header(regions, passed) for passed in sent)
    counted = two_level(world.graph, routed, demand, source, [regions])
    assert (counted.transmissions, counted.bytes) == (links, total)
    exact = evaluate.transmissions(world.graph, routed, demand, source).on_trees.sum()
    assert counted.transmissions >= exact == one_level(world.graph, routed, demand, source).transmissions
    if cut_from is tree:
        assert counted.transmissions == exact


@given(data=st.data())
def test_regions_are_connected_parts_of_about_the_size_asked_for(data: st.DataObject) -> None:
    world = data.draw(worlds())
    tree = _tree(world.graph, data, world.gateways)
    size = data.draw(st.integers(1, 7))
    regions = Regions.of(tree, world.gateways, size)
    inside = [tree.root, *(child for parent, child in tree.links.tolist())]
    joined = sum(regions.region[a] == regions.region[b] for a, b in tree.links.tolist())
    assert len(inside) - joined == len(regions), "as many parts as regions"
    assert all(4 * len(held) >= size for held in regions.members[1:]), "but the one with the root"
    most = np.bincount(tree.links.ravel(), minlength=world.graph.num_nodes).max(initial=1)
    assert all(len(held) <= max(2 * size, 1 + most * size / 4) for held in regions.members)
