"""The compiled inner loop of the generators: which links hold a graph together."""

from __future__ import annotations

from numba import njit


@njit("int32(int32[::1], int32)", cache=True, nogil=True)
def find(parent, node):  # type: ignore[no-untyped-def]
    """The root of a node; the way to it is halved, so that the next search is shorter."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit("void(int32[:, ::1], int32[::1], boolean[::1])", cache=True, nogil=True)
def forest(ends, part, holds):  # type: ignore[no-untyped-def]
    """Mark the links that join two parts when they are added in the order given.

    ``part`` comes with every node on its own (0 … n-1) and leaves with the smallest node of its part.
    """
    for link in range(len(ends)):
        a = find(part, ends[link, 0])
        b = find(part, ends[link, 1])
        if a != b:
            holds[link] = True
            part[max(a, b)] = min(a, b)
    for node in range(len(part)):
        part[node] = find(part, node)
