"""The compiled inner loops over Data frames: are they what they say, and what goes on over which link?

``check`` is the only one that may see a frame that nobody has checked.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from semcast.model.bits import lowest, ones

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
_NARROW = np.uint64(1 << 32)


@njit(types.uint64(_BYTES, types.int64, types.int64), cache=True, nogil=True, inline="always")
def get(data, at, width):  # type: ignore[no-untyped-def]
    """A number of so many bytes, the lowest first."""
    value = np.uint64(0)
    for place in range(width):
        value |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return value


@njit("int64(uint8[::1], int64, uint64, int64)", cache=True, nogil=True, inline="always")
def put(out, at, value, width):  # type: ignore[no-untyped-def]
    """Write a number; returns where the next one goes."""
    for place in range(width):
        out[at + place] = (value >> np.uint64(8 * place)) & np.uint64(255)
    return at + width


@njit(types.int64(types.uint8[::1], types.int64, _BYTES, types.int64, types.int64), cache=True, nogil=True)
def copied(out, at, data, first, last):  # type: ignore[no-untyped-def]
    """Copy a piece of a frame; returns where the next one goes."""
    to = out[at : at + last - first]
    of = data[first:last]
    for place in range(len(to)):
        to[place] = of[place]
    return at + last - first


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
    count = np.int64(get(data, 12, 4))
    gaps_at = HEADER + np.int64(get(data, 8, 2)) + np.int64(get(data, 10, 2))
    masks_at = gaps_at + gap_bytes * (count - 1 if count else 0)
    masks_size = np.int64(get(data, 32, 4))
    lengths_at = masks_at + masks_size
    end = lengths_at + 4 * count
    if end > len(data):
        return 1
    if gap_bytes != 4 and gap_bytes != 8:
        return 2
    number = get(data, 24, 8)
    for place in range(gaps_at, masks_at, gap_bytes):
        following = number + get(data, place, gap_bytes)
        if following <= number:  # no gap, or beyond 64 bits
            return 3
        number = following
    for place in range(lengths_at, lengths_at + 4 * count, 4):
        end += np.int64(get(data, place, 4))
    if end != len(data):
        return 4
    return check_masks(data, np.int64(data[6]), count, masks_at, masks_size)


@njit(types.uint64[:, ::1](_BYTES, types.int64, types.int64, types.int64, types.int64), cache=True, nogil=True)
def masks_of(data, form, count, at, size):  # type: ignore[no-untyped-def]
    """The masks as rows of words."""
    if form == ROWS:
        width = size // max(1, count)
        found = np.zeros((count, (width + 7) >> 3), np.uint64)
        for m in range(count):
            for place in range(0, width, 8):
                found[m, place >> 3] = get(data, at + m * width + place, min(8, width - place))
        return found
    width = form - ROWS
    highest = np.int64(0)
    for place in range(at + width * count, at + size, width):
        gateway = np.int64(get(data, place, width))
        if gateway > highest:
            highest = gateway
    found = np.zeros((count, (highest >> 6) + 1), np.uint64)
    place = at + width * count
    for m in range(count):
        for _ in range(np.int64(get(data, at + m * width, width))):
            gateway = np.int64(get(data, place, width))
            found[m, gateway >> 6] |= np.uint64(1) << np.uint64(gateway & 63)
            place += width
    return found


@njit("int64(uint64[:,::1], uint64[::1], uint64[::1], int64[::1], uint64[:,::1], int64[::1])", cache=True, nogil=True)
def choose(masks, link, numbers, bodies, cut, plan):  # type: ignore[no-untyped-def]
    """Cut all masks to a link's and count what is left; 1 where everything is, unchanged.

    ``plan`` gets the messages, their form of masks, the bytes of a mask (of a number in lists), the bytes of all
    masks, the bytes of a gap between numbers, and the bytes of bodies.
    """
    words = masks.shape[1]
    reach = min(words, len(link))
    union = np.zeros(words, np.uint64)
    chosen = 0
    total = 0
    most = 0
    body_bytes = 0
    gap_bytes = 4
    before = np.uint64(0)
    same = True
    for m in range(len(masks)):
        own = 0
        for w in range(words):
            left = masks[m, w] & link[w] if w < reach else np.uint64(0)
            same = same and left == masks[m, w]
            cut[m, w] = left
            union[w] |= left
            own += ones(left)
        if own:
            if chosen and numbers[m] - before >= _NARROW:
                gap_bytes = 8
            before = numbers[m]
            chosen += 1
            total += own
            most = max(most, own)
            body_bytes += bodies[m + 1] - bodies[m]
    gateways = 0
    for w in range(words):
        if union[w]:
            word = union[w]
            gateways = 64 * w
            while word:
                gateways += 1
                word >>= np.uint64(1)
    row = (gateways + 7) >> 3
    width = 1 if gateways <= 256 and most < 256 else 2
    plan[0] = chosen
    if row * chosen <= width * (chosen + total):
        plan[1] = ROWS
        plan[2] = row
        plan[3] = row * chosen
    else:
        plan[1] = ROWS + width
        plan[2] = width
        plan[3] = width * (chosen + total)
    plan[4] = gap_bytes
    plan[5] = body_bytes
    return 1 if same and chosen == len(masks) else 0


@njit("int64(uint8[::1], int64, uint64[:,::1], int64[::1])", cache=True, nogil=True)
def put_masks(out, at, cut, plan):  # type: ignore[no-untyped-def]
    """Write the column of masks that are left; returns where the next one goes."""
    words = cut.shape[1]
    width = plan[2]
    if plan[1] != ROWS:
        listed = at + width * plan[0]
        for m in range(len(cut)):
            own = 0
            for w in range(words):
                word = cut[m, w]
                own += ones(word)
                while word:
                    listed = put(out, listed, np.uint64(64 * w + lowest(word)), width)
                    word &= word - np.uint64(1)
            if own:
                at = put(out, at, np.uint64(own), width)
        return listed
    for m in range(len(cut)):
        any_left = np.uint64(0)
        for w in range(words):
            any_left |= cut[m, w]
        if any_left:
            for place in range(0, width, 8):
                at = put(out, at, cut[m, place >> 3], min(8, width - place))
    return at


@njit(
    types.void(
        types.uint8[::1], types.int64, types.int64, _BYTES, types.int64,
        types.uint64[::1], types.int64[::1], types.uint64[:, ::1], types.int64[::1],
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def put_frame(out, at, size, data, names, numbers, bodies, cut, plan):  # type: ignore[no-untyped-def]
    """Write the frame of those messages that have something left of their mask."""
    chosen = np.empty(plan[0], np.int64)
    found = 0
    for m in range(len(cut)):
        for w in range(cut.shape[1]):
            if cut[m, w]:
                chosen[found] = m
                found += 1
                break
    put(out, at, np.uint64(size - 4), 4)
    copied(out, at + 4, data, 4, HEADER + names)
    put(out, at + 6, np.uint64(plan[1]), 1)
    put(out, at + 7, np.uint64(plan[4]), 1)
    put(out, at + 12, np.uint64(plan[0]), 4)
    put(out, at + 24, numbers[chosen[0]], 8)
    put(out, at + 32, np.uint64(plan[3]), 4)
    at += HEADER + names
    for place in range(1, len(chosen)):
        at = put(out, at, numbers[chosen[place]] - numbers[chosen[place - 1]], plan[4])
    at = put_masks(out, at, cut, plan)
    for m in chosen:
        at = put(out, at, np.uint64(bodies[m + 1] - bodies[m]), 4)
    begun = 0
    for place in range(len(chosen)):
        # Neighbours are copied at once: they lie one behind the other here too.
        if place + 1 == len(chosen) or chosen[place + 1] != chosen[place] + 1:
            at = copied(out, at, data, bodies[chosen[begun]], bodies[chosen[place] + 1])
            begun = place + 1


@njit(types.int64(_BYTES, types.uint64[:, ::1], types.int64[::1], types.uint8[::1]), cache=True, nogil=True)
def split(data, links, ends, out):  # type: ignore[no-untyped-def]
    """Write the frame of every link, one behind the other, as far as there is room; returns the room that they need.

    ``ends[l]`` gets where link l's frame ends, which is where it begins if there is none, or −1 where the frame goes
    on as it is.
    """
    form = np.int64(data[6])
    gap_bytes = np.int64(data[7])
    names = np.int64(get(data, 8, 2) + get(data, 10, 2))
    count = np.int64(get(data, 12, 4))
    masks_size = np.int64(get(data, 32, 4))
    gaps_at = HEADER + names
    masks_at = gaps_at + gap_bytes * (count - 1 if count else 0)
    lengths_at = masks_at + masks_size
    masks = masks_of(data, form, count, masks_at, masks_size)
    numbers = np.empty(count, np.uint64)
    bodies = np.empty(count + 1, np.int64)
    bodies[0] = lengths_at + 4 * count
    number = get(data, 24, 8)
    for m in range(count):
        numbers[m] = number
        if m + 1 < count:
            number += get(data, gaps_at + m * gap_bytes, gap_bytes)
        bodies[m + 1] = bodies[m] + np.int64(get(data, lengths_at + 4 * m, 4))
    cut = np.empty_like(masks)
    plan = np.empty(6, np.int64)
    at = 0
    for link in range(len(links)):
        if choose(masks, links[link], numbers, bodies, cut, plan):
            ends[link] = -1
            continue
        if plan[0]:
            size = HEADER + names + plan[4] * (plan[0] - 1) + plan[3] + 4 * plan[0] + plan[5]
            if at + size <= len(out):
                put_frame(out, at, size, data, names, numbers, bodies, cut, plan)
            at += size
        ends[link] = at
    return at
