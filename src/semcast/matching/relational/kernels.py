"""The compiled inner loops of relational matching.

Signatures are explicit and results cached on disk, so a machine compiles them once, at the first
import; no Spark worker ever does. Codes are uint16 or uint32: half the width is twice the speed.

Loops take their slices first and index them from 0: with an offset in the index LLVM does not
vectorise them.
"""

from __future__ import annotations

from math import asin, cos, radians, sin, sqrt
from typing import Any

import numpy as np
from numba import njit, types

_EARTH_DIAMETER_KM = 2 * 6371.0088
_WIDTHS = ("uint16", "uint32")


_VALUES = types.Array(types.float64, 1, "C", readonly=True)  # Arrow's buffers are not ours to write


@njit(
    [
        types.void(_VALUES, types.float64[::1], types.int32[::1], types.float64, types.float64, types.int64, width[::1])
        for width in (types.uint16, types.uint32)
    ],
    cache=True,
    nogil=True,
)
def code_numbers(values, points, table, low, scale, start, codes):  # type: ignore[no-untyped-def]
    """``codes[i] = start + 2 · (points below) + (is a point)``; NaN is above all points.

    ``table`` says for each of its buckets where its points begin. A value's bucket is computed as its
    points' were, and that formula is monotone, so the answer is exact whatever its rounding.
    """
    buckets = len(table) - 1
    count = len(points)
    top = start + 2 * count
    for i in range(len(values)):
        value = values[i]
        if value != value:
            codes[i] = top
            continue
        place = (value - low) * scale
        bucket = 0
        if place >= buckets:
            bucket = buckets - 1
        elif place > 0:
            bucket = int(place)
        first = table[bucket]
        last = table[bucket + 1]
        while first < last:
            middle = (first + last) >> 1
            if points[middle] < value:
                first = middle + 1
            else:
                last = middle
        code = start + 2 * first
        if first < count and points[first] == value:
            code += 1
        codes[i] = code


@njit([f"void({w}[::1], int32[::1], int32[::1])" for w in _WIDTHS], cache=True, nogil=True)
def sort_rows(codes, starts, order):  # type: ignore[no-untyped-def]
    """Order rows by code (counting sort, stable); rows of code c are ``order[starts[c]:starts[c + 1]]``."""
    starts[:] = 0
    for i in range(len(codes)):
        starts[codes[i] + 1] += 1
    for c in range(1, len(starts)):
        starts[c] += starts[c - 1]
    for i in range(len(codes)):
        code = codes[i]
        order[starts[code]] = i
        starts[code] += 1
    for c in range(len(starts) - 1, 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0


@njit([f"void({w}[::1], int32[::1], {w}[::1])" for w in _WIDTHS], cache=True, nogil=True)
def gather(codes, order, out):  # type: ignore[no-untyped-def]
    for i in range(len(order)):
        out[i] = codes[order[i]]


@njit("boolean(float64, float64, float64, float64, float64, float64, int64)", cache=True, nogil=True, inline="always")
def _near(latitude, longitude, center_latitude, center_longitude, low, high, flags):  # type: ignore[no-untyped-def]
    """Does the distance test hold? flags: 1 low end excluded, 2 high end excluded, 4 asks for NULL."""
    if not (abs(latitude) <= 90.0 and abs(longitude) <= 180.0):
        return flags & 4 != 0
    if flags & 4:
        return False
    phi = radians(latitude)
    center = radians(center_latitude)
    half = sin((phi - center) / 2) ** 2
    half += cos(phi) * cos(center) * sin(radians(longitude - center_longitude) / 2) ** 2
    distance = _EARTH_DIAMETER_KM * asin(min(1.0, sqrt(max(0.0, half))))
    above = distance > low if flags & 1 else distance >= low
    below = distance < high if flags & 2 else distance <= high
    return above and below


@njit("boolean(int64, uint32[::1], int64, int64)", cache=True, nogil=True, inline="always")
def _listed(code, bounds, first, last):  # type: ignore[no-untyped-def]
    """Is ``code`` inside one of the intervals whose ascending ends are ``bounds[first:last]``?"""
    begin = first
    while first < last:
        middle = (first + last) >> 1
        if bounds[middle] <= code:
            first = middle + 1
        else:
            last = middle
    return (first - begin) & 1 == 1


_INDEX = (
    # terms, test_ptr, test_pair, test_low, test_width, list_ptr, lists, bounds, near_ptr, nears, near_values
    "int64[:, ::1], int64[::1], int32[:, ::1], {w}[::1], {w}[::1], int64[::1], int32[:, ::1], uint32[::1], "
    "int64[::1], int32[:, ::1], float64[:, ::1]"
)
_MATCH_ROWS = (
    "Tuple((int64, int64))({w}[:, ::1], {w}[:, ::1], int32[::1], int32[::1], float64[:, ::1], "
    + _INDEX
    + ", int64, int64, int32[::1], int32[::1], int32[::1])"
)


@njit([_MATCH_ROWS.format(w=w) for w in _WIDTHS], cache=True, nogil=True)
def match_rows(  # type: ignore[no-untyped-def]
    codes, sorted_codes, orders, starts, places,
    terms, test_ptr, tests, test_low, test_width, list_ptr, lists, bounds, near_ptr, nears, near_values,
    first, count, stamps, rows, profiles,
):  # fmt: skip
    """Append the (row, profile) pairs of conjunctions ``first``… to ``rows`` and ``profiles``.

    ``terms[c]`` = (profile, begin, end, order, shares its profile with others): the candidates
    of c are the rows between ``starts[begin]`` and ``starts[end]`` of one order; all its interval
    tests run over them as vectors, list and distance tests only over what is left. Returns the
    conjunction to go on with, once there is more room, and the number of pairs, each of which comes
    once.
    """
    words = np.empty((codes.shape[1] >> 3) + 1, np.uint64)
    keep = words.view(np.uint8)
    for c in range(first, len(terms)):
        begin = starts[terms[c, 1]]
        end = starts[terms[c, 2]]
        size = end - begin
        if size == 0:
            continue
        if count + size > len(rows):
            return c, count
        profile = np.int32(terms[c, 0])
        offset = terms[c, 3] * codes.shape[1]
        order = orders[offset + begin : offset + end]
        room = rows[count : count + size]
        test = test_ptr[c]
        last = test_ptr[c + 1]
        found = 0
        if test == last:
            for i in range(size):
                room[i] = order[i]
            found = size
        else:
            kept = keep[:size]
            lane = sorted_codes[tests[test, 1], begin:end]
            low = test_low[test]
            width = test_width[test]
            for i in range(size):
                kept[i] = lane.dtype.type(lane[i] - low) < width
            for t in range(test + 1, last):
                lane = sorted_codes[tests[t, 1], begin:end]
                low = test_low[t]
                width = test_width[t]
                for i in range(size):
                    kept[i] &= np.uint8(lane.dtype.type(lane[i] - low) < width)
            # Most conjunctions keep few of their candidates: eight that are all out cost one test.
            for word in range(size >> 3):
                if words[word] != 0:
                    for i in range(word << 3, (word << 3) + 8):
                        room[found] = order[i]
                        found += kept[i]
            for i in range((size >> 3) << 3, size):
                room[found] = order[i]
                found += kept[i]
        if list_ptr[c] < list_ptr[c + 1] or near_ptr[c] < near_ptr[c + 1] or terms[c, 4]:
            left = 0
            for i in range(found):
                row = room[i]
                if terms[c, 4] and stamps[row] == profile:
                    continue
                good = True
                for t in range(list_ptr[c], list_ptr[c + 1]):
                    if not _listed(
                        np.int64(codes[lists[t, 0], row]), bounds, np.int64(lists[t, 1]), np.int64(lists[t, 2])
                    ):
                        good = False
                        break
                if good:
                    for t in range(near_ptr[c], near_ptr[c + 1]):
                        v = near_values[t]
                        if not _near(
                            places[nears[t, 0], row],
                            places[nears[t, 1], row],
                            v[0],
                            v[1],
                            v[2],
                            v[3],
                            np.int64(nears[t, 2]),
                        ):
                            good = False
                            break
                if good:
                    stamps[row] = profile
                    room[left] = row
                    left += 1
            found = left
        for i in range(count, count + found):
            profiles[i] = profile
        count += found
    return len(terms), count


@njit("void(int32[::1], int32[::1], int64, int64[::1], int32[::1])", cache=True, nogil=True)
def by_row(rows, profiles, count, indptr, indices):  # type: ignore[no-untyped-def]
    """Turn distinct pairs into CSR ordered by row and, within a row, by profile."""
    indptr[:] = 0
    for i in range(count):
        indptr[rows[i] + 1] += 1
    for r in range(1, len(indptr)):
        indptr[r] += indptr[r - 1]
    for i in range(count):
        row = rows[i]
        indices[indptr[row]] = profiles[i]
        indptr[row] += 1
    for r in range(len(indptr) - 1, 0, -1):
        indptr[r] = indptr[r - 1]
    indptr[0] = 0
    for r in range(len(indptr) - 1):
        for i in range(indptr[r] + 1, indptr[r + 1]):
            if indices[i - 1] > indices[i]:
                indices[indptr[r] : indptr[r + 1]].sort()
                break


@njit("int64(int64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], int32[::1])", cache=True, nogil=True)
def list_candidates(terms, origins, shifts, bases, ptr, out):  # type: ignore[no-untyped-def]
    """Fill, for every bucket of codes of every order, the conjunctions whose candidates it may hold.

    Called with an empty ``out`` it only counts, into ``ptr``.
    """
    counting = len(out) == 0
    for c in range(len(terms)):
        g = terms[c, 3]
        first = bases[g] + ((terms[c, 1] - origins[g]) >> shifts[g])
        last = bases[g] + ((terms[c, 2] - 1 - origins[g]) >> shifts[g])
        for b in range(first, last + 1):
            if counting:
                ptr[b + 1] += 1
            else:
                out[ptr[b]] = c
                ptr[b] += 1
    if counting:
        for b in range(1, len(ptr)):
            ptr[b] += ptr[b - 1]
    else:
        for b in range(len(ptr) - 1, 0, -1):
            ptr[b] = ptr[b - 1]
        ptr[0] = 0
    return ptr[len(ptr) - 1]


@njit("int64(int32[::1], int64, int64)", cache=True, nogil=True)
def _sorted_and_distinct(profiles, begin, end):  # type: ignore[no-untyped-def]
    """Sort a row's profiles in place and drop repeated ones; one order's come sorted already."""
    for i in range(begin + 1, end):
        if profiles[i - 1] >= profiles[i]:
            profiles[begin:end].sort()
            kept = begin + 1
            for k in range(begin + 1, end):
                if profiles[k] != profiles[kept - 1]:
                    profiles[kept] = profiles[k]
                    kept += 1
            return kept
    return end


_MATCH_FEW = (
    "int64(uint32[:, ::1], float64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int32[::1], "
    + _INDEX
    + ", int64[::1], int32[::1])"
)


@njit([_MATCH_FEW.format(w=w) for w in _WIDTHS], cache=True, nogil=True)
def match_few(  # type: ignore[no-untyped-def]
    codes, places, access, origins, shifts, bases, ptr, candidates,
    terms, test_ptr, tests, test_low, test_width, list_ptr, lists, bounds, near_ptr, nears, near_values,
    indptr, profiles,
):  # fmt: skip
    """As match_rows and by_row for a few rows, each looked up on its own; -1 when there is no room."""
    count = 0
    for row in range(codes.shape[1]):
        begin = count
        indptr[row] = begin
        for g in range(len(access)):
            code = np.int64(0) if access[g] < 0 else np.int64(codes[access[g], row])
            bucket = bases[g] + (code >> shifts[g])
            position = origins[g] + code
            for i in range(ptr[bucket], ptr[bucket + 1]):
                c = candidates[i]
                good = terms[c, 1] <= position and position < terms[c, 2]
                t = test_ptr[c]
                while good and t < test_ptr[c + 1]:
                    good = test_low.dtype.type(codes[tests[t, 0], row] - test_low[t]) < test_width[t]
                    t += 1
                t = list_ptr[c]
                while good and t < list_ptr[c + 1]:
                    good = _listed(
                        np.int64(codes[lists[t, 0], row]), bounds, np.int64(lists[t, 1]), np.int64(lists[t, 2])
                    )
                    t += 1
                t = near_ptr[c]
                while good and t < near_ptr[c + 1]:
                    v = near_values[t]
                    good = _near(
                        places[nears[t, 0], row],
                        places[nears[t, 1], row],
                        v[0],
                        v[1],
                        v[2],
                        v[3],
                        np.int64(nears[t, 2]),
                    )
                    t += 1
                if good:
                    if count == len(profiles):
                        return -1
                    profiles[count] = terms[c, 0]
                    count += 1
        count = _sorted_and_distinct(profiles, begin, count)
    indptr[codes.shape[1]] = count
    return count


def warm() -> None:
    """Run a kernel once, so that a process that is forked afterwards starts with all of them loaded."""
    points = np.zeros(1)
    codes: Any = np.zeros(1, np.uint16)
    code_numbers(points, points, np.array([0, 1], np.int32), 0.0, 0.0, 0, codes)
    sort_rows(codes, np.zeros(3, np.int32), np.zeros(1, np.int32))
