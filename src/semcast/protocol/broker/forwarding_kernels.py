"""The compiled pass over a piece of a connection: many frames, all links, one call.

What it does not understand it leaves to Python: it stops in front of it and says so.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from semcast.model.bits import length, lowest, ones
from semcast.protocol.wire.kernels import (
    ALL,
    HEADER,
    ROWS,
    SLACK,
    check,
    choose,
    columns,
    frame_size,
    mask_words,
    put,
    put_frame,
    spread,
)
from semcast.protocol.wire.memory import copy, load2, load4, store1, store4, store8

_BYTES = types.Array(types.uint8, 1, "C", readonly=True)

# As in framing, and said again: numba's cache of a kernel notices changes of this file only.
PREFIX = 6
VERSION = 2
DATA = 1
MAX_FRAME = 16 * 1024 * 1024

MORE, FULL, OTHER = 0, 1, 2
"""Why a pass ended: the rest is no whole frame; there is no room for another; the next frame is Python's."""

END, UPTO, FRAMES, MESSAGES, SHED = range(5)
"""Columns of what is known of a neighbour: bytes written for it; through where it gets the piece as it is, −1 where it
does not; frames and messages that it gets, and messages that it would have got if it were not congested."""

KEY, KEY_END, LINK, LINK_END = range(4)
"""Columns of tables."""


@njit(types.boolean(_BYTES, types.int64, types.int64), cache=True, nogil=True)
def is_text(data, at, end):  # type: ignore[no-untyped-def]
    """Whether bytes are UTF-8 as Python reads it: nothing longer than it must be, no surrogates."""
    while at < end:
        lead = data[at]
        at += 1
        if lead < 0x80:
            continue
        low, high, more = 0x80, 0xBF, 1
        if 0xC2 <= lead <= 0xDF:
            pass
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            low = 0xA0 if lead == 0xE0 else 0x80
            high = 0x9F if lead == 0xED else 0xBF
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            low = 0x90 if lead == 0xF0 else 0x80
            high = 0x8F if lead == 0xF4 else 0xBF
        else:
            return False
        if at + more > end or data[at] < low or data[at] > high:
            return False
        for place in range(at + 1, at + more):
            if data[place] & 0xC0 != 0x80:
                return False
        at += more
    return True


@njit(types.uint64(_BYTES, types.int64, types.int64), cache=True, nogil=True)
def mixed(data, at, end):  # type: ignore[no-untyped-def]
    """A hash of a key (FNV-1a, its upper half folded in: slots are found by the lowest bits)."""
    value = np.uint64(0xCBF29CE484222325)
    for place in range(at, end):
        value = (value ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
    return value ^ (value >> np.uint64(32))


@njit(types.boolean(_BYTES, types.int64, _BYTES, types.int64, types.int64), cache=True, nogil=True)
def equal(data, at, other, first, size):  # type: ignore[no-untyped-def]
    place = 0
    while place < size and data[at + place] == other[first + place]:
        place += 1
    return place == size


@njit(types.void(_BYTES, types.int64[:, ::1], types.int64[::1]), cache=True, nogil=True)
def fill_slots(keys, tables, slots):  # type: ignore[no-untyped-def]
    """Make the hash table: a power of two of slots, more than tables, all −1 before."""
    last = np.uint64(len(slots) - 1)
    for table in range(len(tables)):
        slot = mixed(keys, tables[table, KEY], tables[table, KEY_END]) & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = table


@njit(
    types.int64(_BYTES, types.int64, types.int64, _BYTES, types.int64[:, ::1], types.int64[::1]),
    cache=True,
    nogil=True,
)
def table_of(data, at, end, keys, tables, slots):  # type: ignore[no-untyped-def]
    """The table of a key, −1 if there is none."""
    last = np.uint64(len(slots) - 1)
    slot = mixed(data, at, end) & last
    while slots[slot] >= 0:
        table = slots[slot]
        first = tables[table, KEY]
        if tables[table, KEY_END] - first == end - at and equal(data, at, keys, first, end - at):
            return table
        slot = (slot + np.uint64(1)) & last
    return -1


@njit(
    types.void(types.int64[:, ::1], types.int64, types.uint8[::1], _BYTES, types.int64),
    cache=True,
    nogil=True,
    forceinline=True,
)
def own_bytes(states, to, room, piece, start):  # type: ignore[no-untyped-def]
    """From here on a neighbour does not get the piece as it is; copy what it got so far."""
    if states[to, UPTO] >= 0:
        size = states[to, UPTO] - start
        copy(room, to * (len(room) // len(states)), piece, start, size)
        states[to, END] = size
        states[to, UPTO] = -1


@njit(
    types.void(
        types.int64[:, ::1], types.int64, types.uint8[::1], _BYTES, types.int64, types.int64, types.int64, types.int64,
    ),
    cache=True,
    nogil=True,
    forceinline=True,
)  # fmt: skip
def put_whole(states, to, room, piece, start, at, end, count):  # type: ignore[no-untyped-def]
    """A neighbour gets a frame as it is: by a longer slice of the piece where it had all before, else by a copy."""
    states[to, FRAMES] += 1
    states[to, MESSAGES] += count
    if states[to, UPTO] == at:
        states[to, UPTO] = end
        return
    own_bytes(states, to, room, piece, start)
    copy(room, to * (len(room) // len(states)) + states[to, END], piece, at, end - at)
    states[to, END] += end - at


@njit(
    types.UniTuple(types.int64, 2)(
        types.uint8[::1], types.int64, types.uint64[:, ::1], types.uint64[:, ::1], types.int64, types.int64, types.int64
    ),
    cache=True,
    nogil=True,
    forceinline=True,
)
def put_mask(out, at, masks, rows, link, own, top):  # type: ignore[no-untyped-def]
    """Write the mask of a single message, with ``own`` gateways up to word ``top``; where it ends, and its form."""
    gateways = 64 * top + length(masks[0, top] & rows[link, top])
    row = (gateways + 7) >> 3
    width = 1 if gateways <= 256 and own < 256 else 2
    if row <= width * (1 + own):
        for w in range(top + 1):
            store8(out, at + 8 * w, masks[0, w] & rows[link, w])
        return at + row, ROWS
    at = put(out, at, np.uint64(own), width)
    for w in range(top + 1):
        word = masks[0, w] & rows[link, w]
        while word:
            at = put(out, at, np.uint64(64 * w + lowest(word)), width)
            word &= word - np.uint64(1)
    return at, ROWS + width


_LINKS = (types.int64, types.int64, types.int64, types.int64[::1], types.uint64[:, ::1], types.uint8[::1])
_OUT = (types.int64[:, ::1], types.uint8[::1])


@njit(types.void(_BYTES, types.int64, types.int64, types.int64, *_LINKS, *_OUT), cache=True, nogil=True)
def pass_whole(piece, start, at, end, first, last, sender, links, rows, congested, states, room):  # type: ignore[no-untyped-def]
    """A frame without masks, over every link."""
    count = np.int64(load4(piece, at + 12))
    for link in range(first, last):
        to = links[link]
        if to == sender:
            continue
        if congested[to]:
            states[to, SHED] += count
        else:
            put_whole(states, to, room, piece, start, at, end, count)


@njit(
    types.void(_BYTES, types.int64, types.int64, types.int64, types.uint64[:, ::1], *_LINKS, *_OUT),
    cache=True,
    nogil=True,
)
def pass_single(piece, start, at, end, masks, first, last, sender, links, rows, congested, states, room):  # type: ignore[no-untyped-def]
    """A frame of one message: the same as ``pass_many`` does, in half of its time."""
    names_end = HEADER + np.int64(load2(piece, at + 8)) + np.int64(load2(piece, at + 10))
    body_at = names_end + np.int64(load4(piece, at + 32)) + 4
    body = end - at - body_at
    reach = min(masks.shape[1], rows.shape[1])
    beyond = False
    for w in range(reach, masks.shape[1]):
        beyond |= masks[0, w] != 0
    each = len(room) // len(states)
    for link in range(first, last):
        to = links[link]
        own = 0
        top = 0
        same = not beyond
        for w in range(reach):
            word = masks[0, w] & rows[link, w]
            same &= word == masks[0, w]
            if word:
                own += ones(word)
                top = w
        if own == 0 or to == sender:
            continue
        if congested[to]:
            states[to, SHED] += 1
            continue
        if same:
            put_whole(states, to, room, piece, start, at, end, 1)
            continue
        own_bytes(states, to, room, piece, start)
        out = to * each + states[to, END]
        copy(room, out, piece, at, names_end)
        place, form = put_mask(room, out + names_end, masks, rows, link, own, top)
        store1(room, out + 6, np.uint64(form))
        store1(room, out + 7, np.uint64(4))
        store4(room, out + 32, np.uint64(place - out - names_end))
        store4(room, place, np.uint64(body))
        copy(room, place + 4, piece, at + body_at, body)
        size = place + 4 + body - out
        store4(room, out, np.uint64(size - 4))
        states[to, END] += size
        states[to, FRAMES] += 1
        states[to, MESSAGES] += 1


@njit(
    types.void(
        _BYTES, types.int64, types.int64, types.int64, types.uint64[:, ::1], types.uint64[:, ::1],
        types.uint64[::1], types.int64[::1], types.int64[::1], *_LINKS, *_OUT,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def pass_many(  # type: ignore[no-untyped-def]
    piece, start, at, end, masks, cut, numbers, bodies, chosen,
    first, last, sender, links, rows, congested, states, room,
):  # fmt: skip
    """A frame with masks, each link its part."""
    plan = np.empty(6, np.int64)
    data = piece[at:end]
    count = np.int64(load4(data, 12))
    names = np.int64(load2(data, 8)) + np.int64(load2(data, 10))
    masks_at = HEADER + names + np.int64(data[7]) * (count - 1)
    columns(data, HEADER + names, masks_at + np.int64(load4(data, 32)), count, numbers, bodies)
    each = len(room) // len(states)
    for link in range(first, last):
        to = links[link]
        if to == sender:
            continue
        same = choose(masks, count, rows, link, numbers, bodies, cut, chosen, plan)
        if plan[0] == 0:
            continue
        if congested[to]:
            states[to, SHED] += plan[0]
            continue
        if same:
            put_whole(states, to, room, piece, start, at, end, count)
            continue
        own_bytes(states, to, room, piece, start)
        put_frame(room, to * each + states[to, END], data, names, numbers, bodies, cut, chosen, plan)
        states[to, END] += frame_size(names, plan)
        states[to, FRAMES] += 1
        states[to, MESSAGES] += plan[0]


@njit(
    types.UniTuple(types.int64, 4)(
        _BYTES, types.int64, types.int64, types.int64, _BYTES, types.int64[:, ::1], types.int64[::1], types.int64[::1],
        types.uint64[:, ::1], types.uint8[::1], *_OUT,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def pass_on(piece, start, stop, sender, keys, tables, slots, links, rows, congested, states, room):  # type: ignore[no-untyped-def]
    """Decide all Data frames from ``start`` to ``stop`` for every link but the sender's.

    Returns where it ended and why, and how many frames and messages that were.

    ``links[l]`` is the neighbour of link l and ``rows[l]`` the gateways behind it; no table has a neighbour twice.
    ``states`` has a row per neighbour, and ``room`` as many equal parts. Of a frame everything is checked before
    anything of it is written.
    """
    at = np.int64(start)
    whole_room = len(room) // len(states) - SLACK
    left = np.int64(whole_room)
    names_at = np.int64(-1)
    names = np.int64(0)
    key_bytes = np.int64(0)
    table = np.int64(-1)
    frames = np.int64(0)
    messages = np.int64(0)
    masks = np.empty((1, max(1, rows.shape[1])), np.uint64)
    cut = np.empty_like(masks)
    numbers = np.empty(1, np.uint64)
    bodies = np.empty(2, np.int64)
    chosen = np.empty(1, np.int64)
    states[:] = 0
    states[:, UPTO] = start
    while stop - at >= PREFIX:
        size = np.int64(load4(piece, at)) + 4
        if size < HEADER or size > MAX_FRAME + 4 or piece[at + 4] != VERSION or piece[at + 5] != DATA:
            return at, OTHER, frames, messages
        if size > stop - at:
            return at, MORE, frames, messages
        end = at + size
        count = np.int64(load4(piece, at + 12))
        most = size + 4 * count  # gaps may grow from 4 bytes to 8 where messages between are left out
        if most > left:
            return at, OTHER if most > whole_room else FULL, frames, messages
        data = piece[at:end]
        if check(data):
            return at, OTHER, frames, messages
        own_key = np.int64(load2(data, 8))
        own_names = own_key + np.int64(load2(data, 10))
        # Most frames have the names of the one before.
        known = names_at >= 0 and own_names == names and own_key == key_bytes
        if not (known and equal(piece, at + HEADER, piece, names_at, names)):
            names_at = at + HEADER
            names = own_names
            key_bytes = own_key
            table = table_of(data, HEADER, HEADER + own_key, keys, tables, slots)
            if table < 0 or not is_text(data, HEADER + own_key, HEADER + own_names):
                return at, OTHER, frames, messages
        left -= most
        frames += 1
        messages += count
        first = tables[table, LINK]
        last = tables[table, LINK_END]
        form = np.int64(data[6])
        if form == ALL:
            pass_whole(piece, start, at, end, first, last, sender, links, rows, congested, states, room)
        elif count:
            masks_size = np.int64(load4(data, 32))
            masks_at = HEADER + names + np.int64(data[7]) * (count - 1)
            words = mask_words(data, form, count, masks_at, masks_size)
            if count > len(masks) or words > masks.shape[1]:
                shape = (max(count, len(masks)), max(words, masks.shape[1]))
                masks = np.empty(shape, np.uint64)
                cut = np.empty(shape, np.uint64)
                numbers = np.empty(len(masks), np.uint64)
                bodies = np.empty(len(masks) + 1, np.int64)
                chosen = np.empty(len(masks), np.int64)
            spread(data, form, count, masks_at, masks_size, masks)
            if count == 1:
                pass_single(piece, start, at, end, masks, first, last, sender, links, rows, congested, states, room)
            else:
                pass_many(
                    piece, start, at, end, masks, cut, numbers, bodies, chosen,
                    first, last, sender, links, rows, congested, states, room,
                )  # fmt: skip
        at = end
    return at, MORE, frames, messages
