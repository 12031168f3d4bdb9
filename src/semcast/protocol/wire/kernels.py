"""The compiled inner loops over Data frames: are they what they say, and what goes on over which link?

``check`` is the only one that may see a frame that nobody has checked.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from semcast.model.bits import length, lowest, ones
from semcast.protocol.wire.memory import copy, load2, load4, load8, store1, store2, store4, store8

_BYTES = types.Array(types.uint8, 1, "C", readonly=True)  # a frame is not ours to write

# As in data_codec and framing, and said again: numba's cache of a kernel notices changes of this file only.
HEADER = 36
ALL, ROWS, LISTS, WIDE_LISTS = 0, 1, 2, 3
MAX_GATEWAYS = 8192
MAX_SPREAD = 16 * 1024 * 1024

FAULTS = (
    "",
    "a data frame ends before its columns do",
    "gaps between message numbers have 4 or 8 bytes",
    "message numbers do not ascend",
    "the bodies of a data frame are not as long as it says",
    "masks of an unknown form",
    "the masks of a data frame are not as long as their form asks for",
    f"a mask names a gateway twice, out of order, or beyond {MAX_GATEWAYS}",
    "masks of too many gateways for so many messages",
)
"""What ``check`` finds."""
SLACK = 8
"""Bytes behind a frame that writing it may spoil."""
_NARROW = np.uint64(1 << 32)


@njit(types.uint64(_BYTES, types.int64, types.int64), cache=True, nogil=True, inline="always")
def get(data, at, width):  # type: ignore[no-untyped-def]
    """A number of 1 to 8 bytes, the lowest first."""
    if at + 8 <= len(data):
        return load8(data, at) & (~np.uint64(0) >> np.uint64(64 - 8 * width))
    value = np.uint64(0)
    for place in range(width):
        value |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return value


@njit("int64(uint8[::1], int64, uint64, int64)", cache=True, nogil=True, inline="always")
def put(out, at, value, width):  # type: ignore[no-untyped-def]
    """Write a number of 1, 2, 4 or 8 bytes; returns where the next one goes."""
    if width == 1:
        store1(out, at, value)
    elif width == 2:
        store2(out, at, value)
    elif width == 4:
        store4(out, at, value)
    else:
        store8(out, at, value)
    return at + width


@njit(types.int64(_BYTES, types.int64, types.int64, types.int64, types.int64), cache=True, nogil=True)
def check_masks(data, form, count, at, size):  # type: ignore[no-untyped-def]
    """What is wrong with a column of masks, as ``check`` says; the column lies within the frame."""
    if form > WIDE_LISTS:
        return 5
    if form == ALL or count == 0:
        return 6 if size else 0
    if form == ROWS:
        return 6 if size % count or size // count > MAX_GATEWAYS // 8 else 0
    width = form - ROWS
    place = at + width * count
    end = at + size
    if place > end:
        return 6
    highest = np.int64(0)
    for m in range(count):
        last = place + width * np.int64(get(data, at + width * m, width))
        if last > end:
            return 6
        before = np.int64(-1)
        while place < last:
            gateway = np.int64(get(data, place, width))
            if gateway <= before or gateway >= MAX_GATEWAYS:
                return 7
            before = gateway
            place += width
        highest = max(highest, before)
    if place != end:
        return 6
    return 8 if count * ((highest + 8) >> 3) > MAX_SPREAD else 0


@njit(types.int64(_BYTES), cache=True, nogil=True)
def check(data):  # type: ignore[no-untyped-def]
    """The place of what is wrong with a frame in FAULTS; 0 if nothing is. ``data`` is at least a header long.

    Names are not looked at.
    """
    gap_bytes = np.int64(data[7])
    count = np.int64(load4(data, 12))
    gaps_at = HEADER + np.int64(load2(data, 8)) + np.int64(load2(data, 10))
    masks_at = gaps_at + gap_bytes * (count - 1 if count else 0)
    masks_size = np.int64(load4(data, 32))
    lengths_at = masks_at + masks_size
    end = lengths_at + 4 * count
    if end > len(data):
        return 1
    if gap_bytes != 4 and gap_bytes != 8:
        return 2
    number = load8(data, 24)
    for place in range(gaps_at, masks_at, gap_bytes):
        following = number + get(data, place, gap_bytes)
        if following <= number:  # no gap, or beyond 64 bits
            return 3
        number = following
    for place in range(lengths_at, lengths_at + 4 * count, 4):
        end += np.int64(load4(data, place))
    if end != len(data):
        return 4
    return check_masks(data, np.int64(data[6]), count, masks_at, masks_size)


@njit(types.int64(_BYTES, types.int64, types.int64, types.int64, types.int64), cache=True, nogil=True)
def mask_words(data, form, count, at, size):  # type: ignore[no-untyped-def]
    """How many words the longest mask takes."""
    if form == ROWS:
        return (size // max(1, count) + 7) >> 3
    width = form - ROWS
    highest = np.int64(0)
    for place in range(at + width * count, at + size, width):
        highest = max(highest, np.int64(get(data, place, width)))
    return (highest >> 6) + 1


@njit(
    types.void(_BYTES, types.int64, types.int64, types.int64, types.int64, types.uint64[:, ::1]),
    cache=True,
    nogil=True,
)
def spread(data, form, count, at, size, found):  # type: ignore[no-untyped-def]
    """Write the masks as rows of at least ``mask_words`` words."""
    for m in range(count):
        for w in range(found.shape[1]):
            found[m, w] = 0
    if form == ROWS:
        width = size // max(1, count)
        for m in range(count):
            for place in range(0, width, 8):
                found[m, place >> 3] = get(data, at + m * width + place, min(8, width - place))
        return
    width = form - ROWS
    place = at + width * count
    for m in range(count):
        for _ in range(np.int64(get(data, at + m * width, width))):
            gateway = np.int64(get(data, place, width))
            found[m, gateway >> 6] |= np.uint64(1) << np.uint64(gateway & 63)
            place += width


@njit(types.uint64[:, ::1](_BYTES, types.int64, types.int64, types.int64, types.int64), cache=True, nogil=True)
def masks_of(data, form, count, at, size):  # type: ignore[no-untyped-def]
    """The masks as rows of words."""
    found = np.empty((count, mask_words(data, form, count, at, size)), np.uint64)
    spread(data, form, count, at, size, found)
    return found


@njit(
    types.void(_BYTES, types.int64, types.int64, types.int64, types.uint64[::1], types.int64[::1]),
    cache=True,
    nogil=True,
)
def columns(data, gaps_at, lengths_at, count, numbers, bodies):  # type: ignore[no-untyped-def]
    """The messages' numbers, and where each body begins; behind the last, where it ends."""
    gap_bytes = np.int64(data[7])
    number = load8(data, 24)
    place = lengths_at + 4 * count
    for m in range(count):
        numbers[m] = number
        if m + 1 < count:
            number += get(data, gaps_at + m * gap_bytes, gap_bytes)
        bodies[m] = place
        place += np.int64(load4(data, lengths_at + 4 * m))
    bodies[count] = place


@njit(
    "int64(uint64[:,::1], int64, uint64[:,::1], int64, uint64[::1], int64[::1], uint64[:,::1], int64[::1], int64[::1])",
    cache=True,
    nogil=True,
    forceinline=True,
)
def choose(masks, count, links, link, numbers, bodies, cut, chosen, plan):  # type: ignore[no-untyped-def]
    """Cut all masks to a link's and count what is left; 1 where everything is, unchanged.

    ``chosen`` gets the messages that go on and ``cut`` their masks, in the same rows. ``plan`` gets how many they are,
    their form of masks, the bytes of a mask (of a number in lists), the bytes of all masks, the bytes of a gap between
    numbers, and the bytes of bodies.
    """
    words = masks.shape[1]
    reach = min(words, links.shape[1])
    found = 0
    total = 0
    most = 0
    body_bytes = 0
    gap_bytes = 4
    top = -1
    same = True
    for m in range(count):
        own = 0
        for w in range(words):
            left = masks[m, w] & links[link, w] if w < reach else np.uint64(0)
            same = same and left == masks[m, w]
            cut[found, w] = left
            if left:
                own += ones(left)
                top = max(top, w)
        if own:
            if found and numbers[m] - numbers[chosen[found - 1]] >= _NARROW:
                gap_bytes = 8
            chosen[found] = m
            found += 1
            total += own
            most = max(most, own)
            body_bytes += bodies[m + 1] - bodies[m]
    union = np.uint64(0)
    for place in range(found):
        union |= cut[place, top]
    gateways = 64 * top + length(union) if found else 0
    row = (gateways + 7) >> 3
    width = 1 if gateways <= 256 and most < 256 else 2
    plan[0] = found
    if row * found <= width * (found + total):
        plan[1] = ROWS
        plan[2] = row
        plan[3] = row * found
    else:
        plan[1] = ROWS + width
        plan[2] = width
        plan[3] = width * (found + total)
    plan[4] = gap_bytes
    plan[5] = body_bytes
    return 1 if same and found == count else 0


@njit("int64(uint8[::1], int64, uint64[:,::1], int64[::1])", cache=True, nogil=True, forceinline=True)
def put_masks(out, at, cut, plan):  # type: ignore[no-untyped-def]
    """Write the column of masks that are left; returns where the next one goes."""
    words = cut.shape[1]
    width = plan[2]
    if plan[1] != ROWS:
        listed = at + width * plan[0]
        for m in range(plan[0]):
            own = 0
            for w in range(words):
                word = cut[m, w]
                while word:
                    own += 1
                    listed = put(out, listed, np.uint64(64 * w + lowest(word)), width)
                    word &= word - np.uint64(1)
            at = put(out, at, np.uint64(own), width)
        return listed
    for m in range(plan[0]):
        for place in range(0, width, 8):
            store8(out, at + place, cut[m, place >> 3])  # beyond the last one's end: what lies there is written later
        at += width
    return at


@njit(types.int64(types.int64, types.int64[::1]), cache=True, nogil=True, inline="always")
def frame_size(names, plan):  # type: ignore[no-untyped-def]
    """The bytes of the frame that ``choose`` planned."""
    return HEADER + names + plan[4] * (plan[0] - 1) + plan[3] + 4 * plan[0] + plan[5]


@njit(
    types.int64(
        types.uint8[::1], types.int64, _BYTES, types.int64,
        types.uint64[::1], types.int64[::1], types.uint64[:, ::1], types.int64[::1], types.int64[::1],
    ),
    cache=True,
    nogil=True, forceinline=True,
)  # fmt: skip
def put_frame(out, at, data, names, numbers, bodies, cut, chosen, plan):  # type: ignore[no-untyped-def]
    """Write the frame of the chosen messages; returns where the next one goes. Up to SLACK bytes behind are spoilt."""
    found = plan[0]
    copy(out, at, data, 0, HEADER + names)
    store4(out, at, np.uint64(frame_size(names, plan) - 4))
    store1(out, at + 6, np.uint64(plan[1]))
    store1(out, at + 7, np.uint64(plan[4]))
    store4(out, at + 12, np.uint64(found))
    store8(out, at + 24, numbers[chosen[0]])
    store4(out, at + 32, np.uint64(plan[3]))
    at += HEADER + names
    for place in range(1, found):
        at = put(out, at, numbers[chosen[place]] - numbers[chosen[place - 1]], plan[4])
    at = put_masks(out, at, cut, plan)
    for place in range(found):
        m = chosen[place]
        store4(out, at, np.uint64(bodies[m + 1] - bodies[m]))
        at += 4
    begun = 0
    for place in range(found):
        # Neighbours are copied at once: they lie one behind the other here too.
        if place + 1 == found or chosen[place + 1] != chosen[place] + 1:
            first = bodies[chosen[begun]]
            size = bodies[chosen[place] + 1] - first
            copy(out, at, data, first, size)
            at += size
            begun = place + 1
    return at


@njit(types.int64(_BYTES, types.uint64[:, ::1], types.int64[::1], types.uint8[::1]), cache=True, nogil=True)
def split(data, links, ends, out):  # type: ignore[no-untyped-def]
    """Write the frame of every link, one behind the other, as far as there is room; returns the room that they need.

    ``ends[l]`` gets where link l's frame ends, which is where it begins if there is none, or −1 where the frame goes
    on as it is.
    """
    form = np.int64(data[6])
    names = np.int64(load2(data, 8) + load2(data, 10))
    count = np.int64(load4(data, 12))
    masks_size = np.int64(load4(data, 32))
    gaps_at = HEADER + names
    masks_at = gaps_at + np.int64(data[7]) * (count - 1 if count else 0)
    masks = masks_of(data, form, count, masks_at, masks_size)
    numbers = np.empty(count, np.uint64)
    bodies = np.empty(count + 1, np.int64)
    columns(data, gaps_at, masks_at + masks_size, count, numbers, bodies)
    cut = np.empty_like(masks)
    chosen = np.empty(count, np.int64)
    plan = np.empty(6, np.int64)
    at = 0
    for link in range(len(links)):
        if choose(masks, count, links, link, numbers, bodies, cut, chosen, plan):
            ends[link] = -1
            continue
        if plan[0]:
            size = frame_size(names, plan)
            if at + size + SLACK <= len(out):
                put_frame(out, at, data, names, numbers, bodies, cut, chosen, plan)
            at += size
        ends[link] = at
    return at + SLACK
