"""The compiled inner loops of shortest paths.

Signatures are explicit and results cached on disk, as everywhere: a machine compiles them once.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit("int64(float64[::1], int32[::1], int64, float64, int64)", cache=True, nogil=True)
def push(keys, nodes, size, key, node):  # type: ignore[no-untyped-def]
    """Put a node into a binary heap ordered by (key, node); returns the new size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] < key or (keys[above] == key and nodes[above] <= node):
            break
        keys[place] = keys[above]
        nodes[place] = nodes[above]
        place = above
    keys[place] = key
    nodes[place] = node
    return size + 1


@njit("int64(float64[::1], int32[::1], int64)", cache=True, nogil=True)
def pop(keys, nodes, size):  # type: ignore[no-untyped-def]
    """Drop the first of a heap (read it before, at 0); returns the new size."""
    size -= 1
    key = keys[size]
    node = nodes[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        right = below + 1
        if right < size and (keys[right] < keys[below] or (keys[right] == keys[below] and nodes[right] < nodes[below])):
            below = right
        if key < keys[below] or (key == keys[below] and node <= nodes[below]):
            break
        keys[place] = keys[below]
        nodes[place] = nodes[below]
        place = below
    keys[place] = key
    nodes[place] = node
    return size


@njit("void(int32[::1], int32[::1], float64[::1], int64, float64[::1], int32[::1])", cache=True, nogil=True)
def shortest_paths(indptr, heads, weights, source, distance, parent):  # type: ignore[no-untyped-def]
    """Dijkstra's algorithm; ``distance`` comes as infinity and ``parent`` as -1.

    A node may be in the heap once per improvement, at most once per arc.
    """
    keys = np.empty(len(heads) + 1, np.float64)
    nodes = np.empty(len(heads) + 1, np.int32)
    distance[source] = 0.0
    size = push(keys, nodes, 0, 0.0, source)
    while size:
        near = keys[0]
        node = nodes[0]
        size = pop(keys, nodes, size)
        if near > distance[node]:
            continue
        for arc in range(indptr[node], indptr[node + 1]):
            head = heads[arc]
            far = near + weights[arc]
            if far < distance[head]:
                distance[head] = far
                parent[head] = node
                size = push(keys, nodes, size, far, head)
            elif far == distance[head] and node < parent[head]:
                parent[head] = node
