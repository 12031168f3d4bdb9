"""The compiled steps that every Steiner heuristic is made of.

A tree is an array of parents: of the root it is ROOT, of a node outside the tree OUTSIDE.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from semcast.trees.kernels import pop, push

ROOT = -1
OUTSIDE = -2


@njit("int64(int32[::1], int32[::1], float64[::1], int64, uint8[::1], int32[::1])", cache=True, nogil=True)
def grow(indptr, heads, weights, root, wanted, parent):  # type: ignore[no-untyped-def]
    """Takahashi and Matsuyama's heuristic: always join the wanted node that is closest to the tree by a shortest path.

    One Dijkstra search, which goes on from the joined path instead of starting again. Weights must be above 0 and
    may differ between the arcs of a link. Returns how many wanted nodes cannot be reached.
    """
    nodes = len(indptr) - 1
    distance = np.full(nodes, np.inf)
    before = np.full(nodes, ROOT, np.int32)
    keys = np.empty(2 * len(heads) + nodes + 1, np.float64)
    heap = np.empty(2 * len(heads) + nodes + 1, np.int32)
    parent[:] = OUTSIDE
    parent[root] = ROOT
    left = 0
    for node in range(nodes):
        if wanted[node] and node != root:
            left += 1
    distance[root] = 0.0
    size = push(keys, heap, 0, 0.0, root)
    while left and size:
        near = keys[0]
        node = heap[0]
        size = pop(keys, heap, size)
        if near > distance[node]:
            continue
        if wanted[node] and parent[node] == OUTSIDE:
            left -= 1
            while parent[node] == OUTSIDE:
                parent[node] = before[node]
                distance[node] = 0.0
                size = push(keys, heap, size, 0.0, node)
                node = before[node]
            continue
        if size + indptr[node + 1] - indptr[node] + nodes > len(keys):
            keys = np.concatenate((keys, np.empty_like(keys)))
            heap = np.concatenate((heap, np.empty_like(heap)))
        for arc in range(indptr[node], indptr[node + 1]):
            head = heads[arc]
            far = near + weights[arc]
            if far < distance[head]:
                distance[head] = far
                before[head] = node
                size = push(keys, heap, size, far, head)
            elif far == distance[head] and node < before[head]:
                before[head] = node
    return left


@njit("float64(int32[::1], int32[::1], float64[::1], int64, uint8[::1], int32[::1])", cache=True, nogil=True)
def span(indptr, heads, costs, root, wanted, parent):  # type: ignore[no-untyped-def]
    """Make ``parent`` a cheapest tree over the nodes it holds, without leaves that nobody wants; returns its cost.

    Nodes are held where ``parent`` is not OUTSIDE, whatever else it says; they must be connected. Prim's algorithm.
    """
    nodes = len(indptr) - 1
    held = parent != OUTSIDE
    best = np.full(nodes, np.inf)
    order = np.empty(nodes, np.int32)
    keys = np.empty(len(heads) + 1, np.float64)
    heap = np.empty(len(heads) + 1, np.int32)
    best[root] = 0.0
    parent[root] = ROOT
    size = push(keys, heap, 0, 0.0, root)
    count = 0
    while size:
        node = heap[0]
        size = pop(keys, heap, size)
        if not held[node]:
            continue
        held[node] = False
        order[count] = node
        count += 1
        for arc in range(indptr[node], indptr[node + 1]):
            head = heads[arc]
            if held[head] and costs[arc] < best[head]:
                best[head] = costs[arc]
                parent[head] = node
                size = push(keys, heap, size, costs[arc], head)
    cost = 0.0
    needed = wanted.copy()
    for place in range(count - 1, 0, -1):
        node = order[place]
        if needed[node]:
            needed[parent[node]] = 1
            cost += best[node]
        else:
            parent[node] = OUTSIDE
    return cost


@njit("void(uint8[::1], int32[::1])", cache=True, nogil=True)
def prune(wanted, parent):  # type: ignore[no-untyped-def]
    """Put outside what lies on no way from the root to a wanted node."""
    needed = np.zeros(len(parent), np.uint8)
    for end in range(len(parent)):
        node = end
        while wanted[end] and node >= 0 and not needed[node]:
            needed[node] = 1
            node = parent[node]
    for node in range(len(parent)):
        if not needed[node]:
            parent[node] = OUTSIDE


@njit("int64(int64, int32[::1], int32[::1])", cache=True, nogil=True)
def preorder(root, parent, order):  # type: ignore[no-untyped-def]
    """Every node before its children, a node's descendants in one piece, children ascending; returns their number."""
    nodes = len(parent)
    first = np.full(nodes, -1, np.int32)
    following = np.full(nodes, -1, np.int32)
    for node in range(nodes):
        above = parent[node]
        if above >= 0:
            following[node] = first[above]
            first[above] = node
    stack = np.empty(nodes, np.int32)
    stack[0] = root
    size = 1
    count = 0
    while size:
        size -= 1
        node = stack[size]
        order[count] = node
        count += 1
        child = first[node]
        while child >= 0:
            stack[size] = child
            size += 1
            child = following[child]
    return count


@njit("void(int32[::1], int32[::1], int32[::1], int32[::1], int64, int32[::1])", cache=True, nogil=True)
def arcs_of(indptr, heads, parent, order, count, arcs):  # type: ignore[no-untyped-def]
    """For each node of the order but the first, the arc that leads to it from its parent."""
    for place in range(1, count):
        node = order[place]
        low = indptr[parent[node]]
        high = indptr[parent[node] + 1]
        while low < high:
            middle = (low + high) >> 1
            if heads[middle] < node:
                low = middle + 1
            else:
                high = middle
        arcs[place - 1] = low
