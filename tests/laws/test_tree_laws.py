"""Laws of dissemination trees under any sequence of joins and leaves (2005 §4, 2004 §4)."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.trees.graph import Graph
from semcast.trees.joins import Closest, Routes, join, join_within, low_cost_tree
from semcast.trees.tree import DisseminationTree, Tree
from tests.laws.overlays import graphs, nodes_of

CLOSEST: tuple[Closest, ...] = get_args(Closest)


def _table(tree: DisseminationTree) -> dict[int, tuple[int | None, frozenset[int]]]:
    """What every broker on the tree knows of it."""
    return {node: (tree.parent.get(node), frozenset(tree.children[node])) for node in tree}


@pytest.mark.parametrize("closest", CLOSEST)
@given(data=st.data())
def test_a_tree_spans_its_members_through_any_joins_and_leaves(closest: Closest, data: st.DataObject) -> None:
    graph = data.draw(graphs())
    tree = DisseminationTree(graph, data.draw(nodes_of(graph)))
    routes = Routes(graph)
    members: set[int] = set()
    for gateway in data.draw(st.lists(nodes_of(graph), max_size=30)):
        before, links = _table(tree), set(tree.parent.items())
        if gateway in members and data.draw(st.booleans()):
            change = tree.leave(gateway)
            members.remove(gateway)
            assert not change.added
        else:
            change = join(tree, gateway, routes, closest)
            members.add(gateway)
            assert not change.removed
        tree.validate()
        assert tree.destinations == members
        after = {(child, parent) for parent, child in change.added}
        assert set(tree.parent.items()) == links - {(child, parent) for parent, child in change.removed} | after
        on_the_way = {node for link in (*change.added, *change.removed) for node in link}
        changed = {node for node in before.keys() | set(tree) if before.get(node) != _table(tree).get(node)}
        assert changed <= on_the_way, "a broker off the route changed its table"
    rebuilt = low_cost_tree(routes, tree.root, sorted(members), closest)
    assert rebuilt.destinations == tree.destinations


@given(data=st.data())
def test_a_low_cost_join_goes_to_the_closest_and_no_further_than_the_tree(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    routes = Routes(graph)
    root, gateway = data.draw(nodes_of(graph)), data.draw(nodes_of(graph))
    closest = data.draw(st.sampled_from(CLOSEST))
    tree = low_cost_tree(routes, root, data.draw(st.lists(nodes_of(graph), max_size=6)), closest)
    targets = (tree.destinations if closest == "destination" else set(tree)) or {root}
    nearest = min(float(graph.paths(target).distance[gateway]) for target in targets)
    added = join(tree, gateway, routes, closest).added
    cost = sum(float(graph.costs[graph.arc(*link)]) for link in added)
    assert cost <= nearest + 1e-9
    assert [child for _, child in added[-1:]] in ([], [gateway])


@given(data=st.data())
def test_a_delay_bound_is_kept_or_reported_for_those_who_cannot_have_it(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    root = data.draw(nodes_of(graph))
    routes = Routes(graph)
    shortest = graph.paths(root, "delay").distance
    tree = DisseminationTree(graph, root)
    closest = data.draw(st.sampled_from(CLOSEST))
    bounds: dict[int, float] = {}
    for gateway in data.draw(st.lists(nodes_of(graph), max_size=20)):
        if gateway in bounds and data.draw(st.booleans()):
            tree.leave(gateway)
            del bounds[gateway]
        else:
            bound = data.draw(st.one_of(st.floats(0, 30), st.just(float(shortest[gateway]))))
            joined = join_within(tree, gateway, bound, routes, closest)
            assert joined.met == (shortest[gateway] <= bound + 1e-6)
            assert joined.delay_ms == pytest.approx(tree.delay_ms[gateway])
            bounds[gateway] = max(bound, float(shortest[gateway]))
        tree.validate()
        assert tree.destinations == bounds.keys()
        for member, bound in bounds.items():
            assert tree.delay_ms[member] <= bound + 1e-6


@given(data=st.data())
def test_without_fallback_who_cannot_have_the_bound_changes_nothing(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    root, gateway = data.draw(nodes_of(graph)), data.draw(nodes_of(graph))
    routes = Routes(graph)
    tree = low_cost_tree(routes, root, data.draw(st.lists(nodes_of(graph), max_size=5)))
    before, members = _table(tree), set(tree.destinations)
    joined = join_within(tree, gateway, -0.5, routes, fallback=False)
    assert not joined.met
    assert (_table(tree), tree.destinations) == (before, members)


@given(data=st.data())
def test_a_loose_bound_gives_the_low_cost_tree(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    root = data.draw(nodes_of(graph))
    order = data.draw(st.lists(nodes_of(graph), max_size=10))
    routes = Routes(graph)
    bounded = DisseminationTree(graph, root)
    for gateway in order:
        assert join_within(bounded, gateway, 1e6, routes).climbs == 0
    assert bounded.parent == low_cost_tree(routes, root, order).parent


@given(data=st.data())
def test_a_tree_hung_up_elsewhere_has_the_same_links(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    tree = low_cost_tree(Routes(graph), data.draw(nodes_of(graph)), data.draw(st.lists(nodes_of(graph)))).tree()
    node = data.draw(st.sampled_from(sorted(tree.nodes)))
    turned = tree.rooted_at(node)
    assert turned.root == node
    assert sorted(turned.numbers(graph).tolist()) == sorted(tree.numbers(graph).tolist())
    assert turned.links.tolist() == Tree.joining(graph, node, tree.numbers(graph).tolist()).links.tolist()
    assert turned.cost(graph) == pytest.approx(tree.cost(graph))
    assert turned.distances(graph, "cost")[tree.root] == pytest.approx(tree.distances(graph, "cost")[node])


def test_links_that_are_no_tree_are_refused() -> None:
    graph = Graph.of(5, [(0, 1), (1, 2), (0, 2), (3, 4)])
    with pytest.raises(ValueError, match="loop"):
        Tree.joining(graph, 0, [0, 1, 2])
    with pytest.raises(ValueError, match="do not hang together"):
        Tree.joining(graph, 0, [0, 3])
