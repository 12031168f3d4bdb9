"""Compiled: would a tree be cheaper with one more node, whose links take the place of dearer ones?

Trees are those of ``exchange_kernels``: ``parent``, ``up`` (what the link above a node costs), and room to log changes.
"""

from __future__ import annotations

from numba import njit

from semcast.trees.steiner_kernels import OUTSIDE

HELD = -3
"""A parent: the node is in the tree, and its place in it is found by the next ``span``."""


@njit(cache=True, nogil=True)
def _hang(tree, node, top, above, cost, logged):  # type: ignore[no-untyped-def]
    """Turn the way from ``node`` up to ``top`` round, and hang ``node`` at ``above``; the link above ``top`` is cut.

    Returns how many changes are logged.
    """
    while True:
        tree.log[logged, 0] = node
        tree.log[logged, 1] = tree.parent[node]
        tree.log_costs[logged] = tree.up[node]
        logged += 1
        next_ = tree.parent[node]
        next_cost = tree.up[node]
        tree.parent[node] = above
        tree.up[node] = cost
        if node == top:
            return logged
        above = node
        cost = next_cost
        node = next_


@njit(cache=True, nogil=True)
def _insertion(indptr, heads, costs, root, tree, node):  # type: ignore[no-untyped-def]
    """What the cheapest spanning tree saves by one more node; below 0 where it costs more.

    The tree is hung at the new node by one of its links. Each further link takes the place of the dearest one
    on the way it closes, if that one is dearer. The tree is put back after it.
    """
    logged = 0
    saved = 0.0
    for arc in range(indptr[node], indptr[node + 1]):
        end = heads[arc]
        if tree.parent[end] == OUTSIDE:
            continue
        if logged == 0:
            logged = _hang(tree, end, root, node, costs[arc], 0)
            saved -= costs[arc]
            continue
        dearest = end
        step = end
        while step != node:
            if tree.up[step] > tree.up[dearest]:
                dearest = step
            step = tree.parent[step]
        if tree.up[dearest] > costs[arc] and logged + len(tree.order) <= len(tree.log):
            saved += tree.up[dearest] - costs[arc]
            logged = _hang(tree, end, dearest, node, costs[arc], logged)
    for place in range(logged - 1, -1, -1):
        tree.parent[tree.log[place, 0]] = tree.log[place, 1]
        tree.up[tree.log[place, 0]] = tree.log_costs[place]
    return saved


@njit(cache=True, nogil=True)
def insert(indptr, heads, costs, root, tree, start, slack, budget):  # type: ignore[no-untyped-def]
    """Put the first node after ``start`` into the tree that saves something; returns it, or -1."""
    nodes = len(indptr) - 1
    for step in range(nodes):
        node = (start + step) % nodes
        if tree.parent[node] == OUTSIDE and budget[0] > 0:
            budget[0] -= 1
            if _insertion(indptr, heads, costs, root, tree, node) > slack:
                tree.parent[node] = HELD
                return node
    return -1
