"""Blocks of conjunctions → one set of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.matching.relational.index import Block, Interval

_MOSTLY = 0.75  # of the conjunctions are found by equality


class Arrays(NamedTuple):
    """What the kernels read of an index; the order of the fields is that of their arguments."""

    terms: NDArray[np.int64]  # profile, begin, end, order, shares its profile
    test_ptr: NDArray[np.int64]
    tests: NDArray[np.int32]  # attribute, lane (an attribute sorted by an order)
    test_low: NDArray[np.unsignedinteger]
    test_width: NDArray[np.unsignedinteger]
    list_ptr: NDArray[np.int64]
    lists: NDArray[np.int32]  # attribute, first and last of its bounds
    bounds: NDArray[np.uint32]
    near_ptr: NDArray[np.int64]
    nears: NDArray[np.int32]  # latitude, longitude, flags
    near_values: NDArray[np.float64]


class Orders(NamedTuple):
    """The orders that a batch is sorted in, and what is wanted of each."""

    access: NDArray[np.int64]  # attribute sorted by, -1: the order as it is
    origins: NDArray[np.int64]  # where an order's starts begin; one more than there are orders
    lanes: NDArray[np.int64]  # per lane: order, attribute


def assemble(blocks: Sequence[Block], ends: dict[int, int], width: type[Any]) -> tuple[Arrays, Orders]:
    """Concatenate ``blocks``; ``ends[a]`` is the number of codes of attribute a (1 for attribute -1)."""
    access = np.array(sorted({block.access for block in blocks}), np.int64)
    order_of = {attribute: at for at, attribute in enumerate(access.tolist())}
    origins = np.concatenate(([0], np.cumsum([ends[a] + 1 for a in access.tolist()]))).astype(np.int64)
    profiles = _joined([_spread(block.profiles, block) for block in blocks])
    rank = np.empty(len(profiles), np.int64)
    rank[_processing_order(blocks, profiles, order_of)] = np.arange(len(profiles))
    ends_at = np.cumsum([block.intervals.low.size for block in blocks])
    places = [
        place.reshape(block.intervals.low.shape)
        for place, block in zip(np.split(rank, ends_at[:-1]) if blocks else [], blocks, strict=True)
    ]  # [interval, box] in each block

    terms = np.empty((len(profiles), 5), np.int64)
    for block, place in zip(blocks, places, strict=True):
        origin = origins[order_of[block.access]]
        terms[place, 0] = block.profiles
        terms[place, 1] = origin + block.intervals.low
        terms[place, 2] = origin + block.intervals.high
        terms[place, 3] = order_of[block.access]
    same = terms[1:, 0] == terms[:-1, 0]  # conjunctions of one profile, if it has several, are neighbours
    terms[:, 4] = np.concatenate((same, [False])) | np.concatenate(([False], same)) if len(terms) else 0

    test_ptr, slots = _pointers(blocks, places, lambda block: len(block.tests))
    tests = np.empty((test_ptr[-1], 2), np.int32)
    low, span = np.empty(test_ptr[-1], width), np.empty(test_ptr[-1], width)
    for block, slot in zip(blocks, slots, strict=True):
        for at, (attribute, interval) in enumerate(block.tests):
            tests[slot + at, 0] = attribute
            tests[slot + at, 1] = order_of[block.access]
            low[slot + at] = interval.low
            span[slot + at] = interval.high - interval.low
    lanes = _number_lanes(tests, len(access))

    lists, bounds, list_ptr = _lists(blocks, places)
    nears, values, near_ptr = _nears(blocks, places)
    arrays = Arrays(terms, test_ptr, tests, low, span, list_ptr, lists, bounds, near_ptr, nears, values)
    return arrays, Orders(access, origins, lanes)


def _number_lanes(tests: NDArray[np.int32], orders: int) -> NDArray[np.int64]:
    """Replace each test's order by the number of its lane; return the lanes as (order, attribute)."""
    if not len(tests):
        return np.empty((0, 2), np.int64)
    attributes = int(tests[:, 0].max()) + 1
    key = tests[:, 1].astype(np.int64) * attributes + tests[:, 0]
    used = np.zeros(orders * attributes, np.bool_)
    used[key] = True
    tests[:, 1] = (np.cumsum(used) - 1)[key]
    return np.stack(np.divmod(np.flatnonzero(used), attributes), axis=1)


def _processing_order(
    blocks: Sequence[Block], profiles: NDArray[np.int64], order_of: dict[int, int]
) -> NDArray[np.int64]:
    """By place where most candidates are shared, else by profile.

    Conjunctions with the same candidates, one after the other, find them in the cache, and so do the
    pairs when they are put in order by row: twice as fast at a million profiles. But rows then get their
    profiles out of order unless the candidates are found by equality, and sorting them costs more than
    it gained. Conjunctions of one profile must meet, so that a pair is found once.
    """
    by_profile = np.argsort(profiles, kind="stable")
    ordered = profiles[by_profile]
    width = _joined([(block.intervals.high - block.intervals.low).ravel() for block in blocks])
    if (ordered[1:] == ordered[:-1]).any() or (width == 1).sum() < _MOSTLY * len(width):
        return by_profile
    place = _joined([((order_of[block.access] << 32) + block.intervals.low).ravel() for block in blocks])
    return by_profile[np.argsort(place[by_profile], kind="stable")]


def _spread(values: NDArray[np.int64], block: Block) -> NDArray[np.int64]:
    """What each box has, for each of its conjunctions."""
    return np.broadcast_to(values, block.intervals.low.shape).ravel()


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _pointers(
    blocks: Sequence[Block], places: Sequence[NDArray[np.int64]], count: Callable[[Block], int]
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """CSR pointers over all conjunctions, and for each block where its conjunctions' entries begin."""
    counts = np.zeros(sum(place.size for place in places), np.int64)
    for block, place in zip(blocks, places, strict=True):
        counts[place] = count(block)
    pointers = np.concatenate(([0], np.cumsum(counts)))
    return pointers, [pointers[place] for place in places]


def _lists(
    blocks: Sequence[Block], places: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.int64]]:
    pointers, slots = _pointers(blocks, places, lambda block: len(block.lists))
    lists = np.empty((pointers[-1], 3), np.int32)
    bounds: list[NDArray[np.uint32]] = []
    used = 0
    for block, slot in zip(blocks, slots, strict=True):
        for at, (attribute, intervals) in enumerate(block.lists):
            ends = _ends(intervals)
            first = used + ends.shape[1] * np.arange(len(ends))  # all conjunctions of a box look at the same bounds
            lists[slot + at, 0] = attribute
            lists[slot + at, 1] = first
            lists[slot + at, 2] = first + ends.shape[1]
            bounds.append(ends.ravel())
            used += ends.size
    return lists, np.concatenate(bounds) if bounds else np.empty(0, np.uint32), pointers


def _ends(intervals: Interval) -> NDArray[np.uint32]:
    """The bounds of each box's intervals, ascending: [box, bound]."""
    count, boxes = intervals.low.shape
    ends = np.empty((boxes, 2 * count), np.uint32)
    ends[:, ::2], ends[:, 1::2] = intervals.low.T, intervals.high.T
    return ends


def _nears(
    blocks: Sequence[Block], places: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    pointers, slots = _pointers(blocks, places, lambda block: len(block.nears))
    nears = np.empty((pointers[-1], 3), np.int32)
    values = np.empty((pointers[-1], 4), np.float64)
    for block, slot in zip(blocks, slots, strict=True):
        for at, near in enumerate(block.nears):
            nears[slot + at] = near.latitude, near.longitude, near.flags
            values[slot + at] = near.values
    return nears, values, pointers
