"""The compiled local search over Steiner trees: key paths are exchanged, key vertices dropped, nodes inserted.

Key nodes are the terminals and the nodes where the tree branches; a key path is a way of the tree between two key
nodes with none inside. A move takes out a key path, or a branching node with all its key paths, and joins what
falls apart by the shortest ways there are (Uchoa and Werneck 2010). These are found in the Voronoi diagram of the
tree: it is repaired only in the regions of the nodes that were taken out. Where link costs differ, a node may also
be put in whose links replace dearer ones; with equal costs no node can gain by that.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba import njit

from semcast.trees.ascent_kernels import chance
from semcast.trees.insertion_kernels import HELD, insert
from semcast.trees.kernels import pop, push
from semcast.trees.steiner_kernels import OUTSIDE, preorder, span

# Inside one kernel only, so that helpers need not take twenty arrays each.
_Tree = namedtuple("_Tree", "parent order enter leave kids up label gone low log log_costs")
_Regions = namedtuple("_Regions", "distance base before first following bad bad_nodes saved saved_ends keys heap")


@njit(cache=True, nogil=True)
def _tree(parent):  # type: ignore[no-untyped-def]
    nodes = len(parent)
    ints = np.zeros((7, nodes), np.int32)
    log = np.empty((4 * nodes, 2), np.int32)
    return _Tree(
        parent, ints[0], ints[1], ints[2], ints[3], np.zeros(nodes), ints[4], ints[5], ints[6], log, np.empty(len(log))
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _regions(nodes, arcs):  # type: ignore[no-untyped-def]
    ints = np.full((5, nodes), -1, np.int32)
    keys = np.empty(2 * arcs + 1)
    heap = np.empty(2 * arcs + 1, np.int32)
    far = np.full(nodes, np.inf)
    saved_ends = np.empty((nodes, 2), np.int32)
    bad = np.zeros(nodes, np.uint8)
    return _Regions(
        far, ints[0], ints[1], ints[2], ints[3], bad, ints[4], np.empty(nodes), saved_ends, keys, heap
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _survey(indptr, heads, costs, root, tree):  # type: ignore[no-untyped-def]
    """Number the tree so that the nodes below v are ``order[enter[v]:leave[v]]``; returns how many there are."""
    count = preorder(root, tree.parent, tree.order)
    tree.kids[:] = 0
    for place in range(count):
        node = tree.order[place]
        tree.enter[node] = place
        tree.leave[node] = place + 1
    for place in range(count - 1, 0, -1):
        node = tree.order[place]
        above = tree.parent[node]
        tree.kids[above] += 1
        tree.leave[above] = max(tree.leave[above], tree.leave[node])
        for arc in range(indptr[above], indptr[above + 1]):
            if heads[arc] == node:
                tree.up[node] = costs[arc]
                break
    return count


@njit(cache=True, nogil=True)
def _spread(indptr, heads, costs, regions, size, everywhere):  # type: ignore[no-untyped-def]
    """Dijkstra's algorithm from what is in the heap, over all nodes or only over the bad ones."""
    distance = regions.distance
    while size:
        near = regions.keys[0]
        node = regions.heap[0]
        size = pop(regions.keys, regions.heap, size)
        if near > distance[node]:
            continue
        for arc in range(indptr[node], indptr[node + 1]):
            head = heads[arc]
            far = near + costs[arc]
            if far < distance[head] and (everywhere or regions.bad[head]):
                distance[head] = far
                regions.base[head] = regions.base[node]
                regions.before[head] = node
                size = push(regions.keys, regions.heap, size, far, head)


@njit(cache=True, nogil=True)
def _list_regions(regions):  # type: ignore[no-untyped-def]
    regions.first[:] = -1
    for node in range(len(regions.base)):
        base = regions.base[node]
        if base >= 0:
            regions.following[node] = regions.first[base]
            regions.first[base] = node


@njit(cache=True, nogil=True)
def _climb(tree, wanted, node, end, gone, removed):  # type: ignore[no-untyped-def]
    """Take out the key path above ``node``, up to ``end`` or the first key node; returns the two sums, and its top."""
    removed += tree.up[node]
    node = tree.parent[node]
    while node != end and not wanted[node] and tree.kids[node] == 1:
        tree.gone[gone] = node
        gone += 1
        removed += tree.up[node]
        node = tree.parent[node]
    return gone, removed, node


@njit(cache=True, nogil=True)
def _take_out(tree, wanted, node, vertex):  # type: ignore[no-untyped-def]
    """The key path above a key node, or also the node with its key paths below.

    Returns the number of nodes that go, of the parts that stay (part p > 0 hangs at ``low[p]``), and the cost saved.
    """
    gone = 0
    removed = 0.0
    parts = 1
    if vertex:
        for place in range(tree.enter[node] + 1, tree.leave[node]):
            below = tree.order[place]
            if wanted[below] or tree.kids[below] > 1:
                more, sum_, top = _climb(tree, wanted, below, node, gone, removed)
                if top == node:
                    tree.low[parts] = below
                    parts += 1
                    gone = more
                    removed = sum_
        tree.gone[gone] = node
        gone += 1
    else:
        tree.low[1] = node
        parts = 2
    gone, removed, _ = _climb(tree, wanted, node, -1, gone, removed)
    return gone, parts, removed


@njit(cache=True, nogil=True)
def _label(tree, gone, parts, clear):  # type: ignore[no-untyped-def]
    for part in range(1, parts):
        for place in range(tree.enter[tree.low[part]], tree.leave[tree.low[part]]):
            tree.label[tree.order[place]] = 0 if clear else part
    for place in range(gone):
        tree.label[tree.gone[place]] = 0 if clear else -1


@njit(cache=True, nogil=True)
def _repair(indptr, heads, costs, tree, gone, regions):  # type: ignore[no-untyped-def]
    """Give the regions of the nodes that go to their neighbours; returns the number of nodes that changed."""
    changed = 0
    distance = regions.distance
    for place in range(gone):
        node = regions.first[tree.gone[place]]
        while node >= 0:
            regions.bad[node] = 1
            regions.bad_nodes[changed] = node
            regions.saved[changed] = distance[node]
            regions.saved_ends[changed, 0] = regions.base[node]
            regions.saved_ends[changed, 1] = regions.before[node]
            distance[node] = np.inf
            changed += 1
            node = regions.following[node]
    size = 0
    for place in range(changed):
        node = regions.bad_nodes[place]
        for arc in range(indptr[node], indptr[node + 1]):
            head = heads[arc]
            if not regions.bad[head] and distance[head] + costs[arc] < distance[node]:
                distance[node] = distance[head] + costs[arc]
                regions.base[node] = regions.base[head]
                regions.before[node] = head
        if distance[node] < np.inf:
            size = push(regions.keys, regions.heap, size, distance[node], node)
    _spread(indptr, heads, costs, regions, size, False)
    return changed


@njit(cache=True, nogil=True)
def _restore(regions, changed, undo):  # type: ignore[no-untyped-def]
    for place in range(changed):
        node = regions.bad_nodes[place]
        regions.bad[node] = 0
        if undo:
            regions.distance[node] = regions.saved[place]
            regions.base[node] = regions.saved_ends[place, 0]
            regions.before[node] = regions.saved_ends[place, 1]


@njit(cache=True, nogil=True)
def _redraw(indptr, heads, costs, tree, count, regions):  # type: ignore[no-untyped-def]
    """Make the diagram that of the tree as it is now; before, it had the ``count`` nodes of ``order``.

    Costs what the change is worth: nodes that left give their regions away, nodes that came take theirs.
    """
    left = 0
    for place in range(count):
        node = tree.order[place]
        if tree.parent[node] == OUTSIDE and regions.base[node] == node:
            tree.gone[left] = node
            left += 1
    if left:
        _list_regions(regions)
        _restore(regions, _repair(indptr, heads, costs, tree, left, regions), False)
    size = 0
    for node in range(len(tree.parent)):
        if tree.parent[node] != OUTSIDE and regions.base[node] != node:
            regions.distance[node] = 0.0
            regions.base[node] = node
            regions.before[node] = -1
            size = push(regions.keys, regions.heap, size, 0.0, node)
    _spread(indptr, heads, costs, regions, size, True)
    _list_regions(regions)


@njit(cache=True, nogil=True)
def _crossing(ends, link_costs, tree, regions, limit, links, lengths):  # type: ignore[no-untyped-def]
    """The links that join regions of different parts by a way shorter than ``limit``."""
    found = 0
    for link in range(len(ends)):
        one = ends[link, 0]
        other = ends[link, 1]
        length = regions.distance[one] + link_costs[link] + regions.distance[other]
        if length < limit and tree.label[regions.base[one]] != tree.label[regions.base[other]]:
            links[found] = link
            lengths[found] = length
            found += 1
    return found


@njit(cache=True, nogil=True)
def _one(lengths, found, state):  # type: ignore[no-untyped-def]
    """Where the shortest is; of equals, any."""
    best = 0
    ties = 1
    for place in range(1, found):
        if lengths[place] < lengths[best]:
            best = place
            ties = 1
        elif lengths[place] == lengths[best]:
            ties += 1
            if chance(state) * ties < 1.0:
                best = place
    return best


@njit(cache=True, nogil=True)
def _join(ends, tree, regions, parts, limit, links, lengths, found, state):  # type: ignore[no-untyped-def]
    """Kruskal's algorithm over the parts; puts the links chosen first in ``links``, returns the cost or infinity."""
    if found < parts - 1:
        return np.inf
    if parts == 2:
        best = _one(lengths, found, state)
        links[0] = links[best]
        return lengths[best]
    for place in range(found - 1, 0, -1):
        other = int(chance(state) * (place + 1))
        links[place], links[other] = links[other], links[place]
        lengths[place], lengths[other] = lengths[other], lengths[place]
    order = np.argsort(lengths[:found], kind="mergesort")
    chosen = links[order]
    group = np.arange(parts)
    cost = 0.0
    count = 0
    for place in range(found):
        one = group[tree.label[regions.base[ends[chosen[place], 0]]]]
        other = group[tree.label[regions.base[ends[chosen[place], 1]]]]
        if one != other:
            group[group == one] = other
            links[count] = chosen[place]
            cost += lengths[order[place]]
            count += 1
            if count == parts - 1:
                return cost
            if cost > limit:
                break
    return np.inf


@njit(
    "float64(int32[::1], int32[::1], float64[::1], int32[:, ::1], float64[::1], int64, uint8[::1], int32[::1], "
    "int64, int64[::1], uint64[::1])",
    cache=True,
    nogil=True,
)
def improve(  # type: ignore[no-untyped-def]
    indptr, heads, costs, ends, link_costs, root, wanted, parent, sideways, budget, state
):  # fmt: skip
    """Make moves until none is left that saves something; returns the cost.

    The first ``sideways`` moves that save nothing are made as well: with unit costs most moves do not, and they
    lead to others that do. Each move looked at costs one of ``budget[0]``.
    """
    slack = 1e-9 * link_costs.mean()
    least = link_costs.min()
    cost = span(indptr, heads, costs, root, wanted, parent)
    tree = _tree(parent)
    regions = _regions(len(parent), len(heads))
    links = np.empty(len(ends), np.int64)
    lengths = np.empty(len(ends))
    alike = link_costs.max() - least <= slack
    count = turn = idle = last = 0
    changing = True
    while budget[0] > 0:
        if changing:
            _redraw(indptr, heads, costs, tree, count, regions)
            count = _survey(indptr, heads, costs, root, tree)
            changing = False
        if idle >= 2 * count:
            last = -1 if alike else insert(indptr, heads, costs, root, tree, last, slack, budget)
            if last < 0:
                break
            cost = span(indptr, heads, costs, root, wanted, parent)
            idle = 0
            changing = True
            continue
        idle += 1
        turn = (turn + 1) % (2 * count)
        node = tree.order[turn >> 1]
        vertex = turn & 1 == 1
        if node == root or (wanted[node] and vertex) or not (wanted[node] or tree.kids[node] > 1):
            continue
        gone, parts, removed = _take_out(tree, wanted, node, vertex)
        limit = removed + slack if sideways > 0 and gone else removed - slack
        if (parts - 1) * least >= limit:
            continue
        budget[0] -= 1
        _label(tree, gone, parts, False)
        changed = _repair(indptr, heads, costs, tree, gone, regions)
        found = _crossing(ends, link_costs, tree, regions, limit, links, lengths)
        added = _join(ends, tree, regions, parts, limit, links, lengths, found, state)
        better = added < limit
        if better:
            for place in range(gone):
                parent[tree.gone[place]] = OUTSIDE
            for place in range(parts - 1):
                for side in range(2):
                    end = ends[links[place], side]
                    while parent[end] == OUTSIDE:
                        parent[end] = HELD
                        end = regions.before[end]
        _restore(regions, changed, not better)
        _label(tree, gone, parts, True)
        if better:
            before = cost
            cost = span(indptr, heads, costs, root, wanted, parent)
            changing = True
            if cost < before - slack:
                idle = 0
            else:
                sideways -= 1
    return cost
