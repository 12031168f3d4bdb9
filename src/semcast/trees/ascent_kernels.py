"""The compiled loop of Wong's dual ascent."""

from __future__ import annotations

import numpy as np
from numba import njit

from semcast.trees.kernels import pop, push


@njit("float64(uint64[::1])", cache=True, nogil=True)
def chance(state):  # type: ignore[no-untyped-def]
    """The next number in [0, 1) of a xorshift generator, whose state must not be 0."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.float64(x >> np.uint64(11)) / 9007199254740992.0


@njit(
    "Tuple((int64, int64, float64))(int32[::1], int32[::1], int32[::1], float64[::1], float64, int64, int64, "
    "uint8[::1], int32[::1], int64, int32[::1], int32[::1])",
    cache=True,
    nogil=True,
)
def component(  # type: ignore[no-untyped-def]
    indptr, heads, reverse, reduced, zero, root, terminal, active, mark, stamp, inside, arcs
):  # fmt: skip
    """The nodes from which saturated arcs lead to ``terminal``, and the arcs that enter them.

    Returns the number of nodes (0 where the root or another active terminal is among them: nothing is to be
    raised then), the number of arcs, and the smallest reduced cost of these.
    """
    mark[terminal] = stamp
    inside[0] = terminal
    count = 1
    place = 0
    found = 0
    while place < count:
        node = inside[place]
        place += 1
        for arc in range(indptr[node], indptr[node + 1]):
            tail = heads[arc]
            if mark[tail] == stamp:
                continue
            entering = reverse[arc]
            if reduced[entering] > zero:
                arcs[found] = entering
                found += 1
            elif tail == root or active[tail]:
                return 0, 0, 0.0
            else:
                mark[tail] = stamp
                inside[count] = tail
                count += 1
    kept = 0
    least = np.inf
    for place in range(found):
        entering = arcs[place]
        if mark[heads[reverse[entering]]] != stamp:
            arcs[kept] = entering
            kept += 1
            least = min(least, reduced[entering])
    return count, kept, least


@njit("int32[::1](int32[::1], int64)", cache=True, nogil=True)
def _room(array, size):  # type: ignore[no-untyped-def]
    if size <= len(array):
        return array
    larger = np.empty(2 * size, np.int32)
    larger[: len(array)] = array
    return larger


@njit(
    "Tuple((float64, float64[::1], int32[::1], int32[::1]))(int32[::1], int32[::1], int32[::1], float64[::1], "
    "float64, int64, int32[::1], float64, uint64[::1], boolean)",
    cache=True,
    nogil=True,
)
def ascend(indptr, heads, reverse, reduced, zero, root, terminals, noise, state, keep):  # type: ignore[no-untyped-def]
    """Raise the duals of cuts until saturated arcs lead from the root to all terminals.

    A cut is a set of nodes with a terminal and without the root; it may be raised by the least reduced cost of the
    arcs that enter it. The cut that the fewest arcs enter comes first; ``noise`` multiplies that number by a chance
    factor up to 1 + noise. ``reduced`` is lowered in place. Returns the sum of the duals and, if ``keep``, the dual
    of each raised cut, how many nodes it has, and these nodes one cut after the other. Infinity where a terminal
    cannot be reached.
    """
    nodes = len(indptr) - 1
    active = np.zeros(nodes, np.uint8)
    keys = np.empty(len(terminals) + 1, np.float64)
    heap = np.empty(len(terminals) + 1, np.int32)
    size = 0
    for terminal in terminals:
        active[terminal] = 1
        size = push(keys, heap, size, 0.0, terminal)
    mark = np.zeros(nodes, np.int32)
    inside = np.empty(nodes, np.int32)
    arcs = np.empty(len(heads), np.int32)
    duals = np.empty(256, np.float64)
    counts = np.empty(256, np.int32)
    members = np.empty(256, np.int32)
    bound = 0.0
    stamp = cuts = used = 0
    while size:
        terminal = heap[0]
        promised = keys[0]
        size = pop(keys, heap, size)
        stamp += 1
        count, found, least = component(
            indptr, heads, reverse, reduced, zero, root, terminal, active, mark, stamp, inside, arcs
        )
        if count == 0:
            # Whatever joins the other terminal to the root joins this one too.
            active[terminal] = 0
            continue
        if found == 0:
            return np.inf, duals[:0], counts[:0], members[:0]
        score = found * (1.0 + noise * chance(state)) if noise else np.float64(found)
        size = push(keys, heap, size, score, terminal)
        if score > promised and heap[0] != terminal:
            continue
        for place in range(found):
            reduced[arcs[place]] -= least
        bound += least
        if keep:
            if cuts == len(duals):
                duals = np.concatenate((duals, np.empty_like(duals)))
            counts = _room(counts, cuts + 1)
            members = _room(members, used + count)
            duals[cuts] = least
            counts[cuts] = count
            members[used : used + count] = inside[:count]
            used += count
            cuts += 1
    return bound, duals[:cuts].copy(), counts[:cuts].copy(), members[:used].copy()
