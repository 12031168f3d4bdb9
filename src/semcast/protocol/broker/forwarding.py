"""Forwarding in bytes: what a connection brings is decided for all links piece by piece, not frame by frame.

It does what ``Broker.forward`` does with the same frames, and the laws hold it to that. Frames that need more than a
look at the key and the masks are given to the machine instead, in their place.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate
from types import ModuleType

import msgspec
import numpy as np
from numpy.typing import NDArray

from semcast.protocol.broker.broker import Broker, Table
from semcast.protocol.contract import Command, Local, Passed, Received
from semcast.protocol.results import MessagesShed
from semcast.protocol.wire.codec import decode
from semcast.protocol.wire.data_codec import HEADER, encode_data, key_bytes
from semcast.protocol.wire.data_view import DataView, Links
from semcast.protocol.wire.frames import Data, Key, Leg
from semcast.protocol.wire.framing import DATA, PREFIX, FrameError, Held, whole

ROOM = 1 << 17
_ALL_ROOM = 1 << 24
_SMALL = 1 << 12
"""Bytes of a piece that are copied to where an array lies already: making one costs more, most of all when nothing has
happened for a while and the processor has to fetch the code for it."""
_NOWHERE = -1
_MORE, _FULL = 0, 1  # as in passing_kernels


@cache
def _kernels() -> ModuleType:
    # Only brokers need them, and numba takes a second to import.
    from semcast.protocol.broker import forwarding_kernels as passing_kernels

    return passing_kernels


class _Lanes:
    """The tables of one revision in arrays. The gateway here is one more neighbour, behind all others."""

    def __init__(self, tables: dict[Key, Table], me: str, room: int) -> None:
        plain = [(key, table) for key, table in _sendable(tables) if not table.filtered and _apart(table)]
        named = dict.fromkeys(link.broker for _, table in plain for link in table.entry.links if link.broker != me)
        self.neighbours = [*named, me]
        self.numbers = {name: number for number, name in enumerate(named)}
        held: list[tuple[int, int]] = []
        rows = []
        for key, table in plain:
            first = len(held)
            held += [(self.numbers[broker], mask) for broker, mask in table.links if broker != me]
            if table.entry.bit is not None:
                held.append((len(named), 1 << table.entry.bit))
            rows.append((key, first, len(held)))
        self.spans = {key: (first, last) for key, first, last in rows}
        """Per key its links, from the first to behind the last."""
        self.links: NDArray[np.int64] = np.array([number for number, _ in held], np.int64)
        self.rows = Links([mask for _, mask in held]).rows
        self.keys, self.tables = _tables(rows)
        self.slots = np.full(1 << (2 * len(rows) + 1).bit_length(), -1, np.int64)
        _kernels().fill_slots(self.keys, self.tables, self.slots)
        self.states = np.zeros((len(self.neighbours), 5), np.int64)
        self.part = min(room, max(room >> 3, _ALL_ROOM // len(self.neighbours)))
        """Bytes of the room that each neighbour has."""
        self.room = np.empty(len(self.neighbours) * self.part, np.uint8)
        self.bytes = self.room.data
        self._free = np.zeros(len(self.neighbours), np.uint8)

    def congested(self, names: set[str]) -> NDArray[np.uint8]:
        """A mark per neighbour."""
        if not names:
            return self._free
        return np.array([name in names for name in self.neighbours[:-1]] + [False], np.uint8)


def _sendable(tables: dict[Key, Table]) -> Iterator[tuple[bytes, Table]]:
    for key, table in tables.items():
        with suppress(OverflowError, UnicodeEncodeError):  # no frame on the wire can have such a key
            yield key_bytes(key), table


def _apart(table: Table) -> bool:
    """No neighbour twice: the room of a pass is measured for one copy each."""
    names = [link.broker for link in table.entry.links]
    return len(set(names)) == len(names)


def _tables(rows: list[tuple[bytes, int, int]]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All keys one behind the other; per table where its key begins and ends, and its links."""
    ends = list(accumulate(len(key) for key, _, _ in rows))
    found = [(end - len(key), end, first, last) for (key, first, last), end in zip(rows, ends, strict=True)]
    keys = np.frombuffer(b"".join(key for key, _, _ in rows), np.uint8)
    return keys, np.array(found, np.int64).reshape(-1, 4)


class _Run(msgspec.Struct, gc=False):
    """What a pass decided."""

    found: list[Command | Local]
    end: int
    why: int
    """It stopped there."""
    frames: int
    messages: int


class Crossing:
    """Where all connections of a broker meet. Not to be shared between threads."""

    def __init__(self, broker: Broker, room: int = ROOM) -> None:
        """``room``: bytes per neighbour that one pass may write; larger frames go one by one."""
        self._broker = broker
        self._room = room
        self._revision: tuple[int, int] | None = None
        self._lanes: _Lanes | None = None

    def passage(self, sender: str, held: Held | None = None) -> Passage:
        """For one connection, as long as it lasts; ``held`` is what a decoder holds that read it before."""
        return Passage(self, sender, held)

    def begin(self, data: Data) -> list[Command | Local]:
        """What to do with a frame of the source here, encoded once for all links."""
        encoded = encode_data(data)
        if key_bytes(data.key) not in self.lanes().spans:
            forwarded = self._broker.forward(data, None)
            local = tuple(frame for frame in forwarded.local if isinstance(frame, Data))
            return [*forwarded.commands, *([Local(self._broker.me, local)] if local else [])]
        run = self.pass_on(encoded, np.frombuffer(encoded, np.uint8), 0, None)
        return run.found if run.frames else self.pass_large(DataView(encoded), None)

    def lanes(self) -> _Lanes:
        """Of the tables that the broker has now."""
        if self._lanes is None or self._revision != self._broker.revision:
            self._lanes = _Lanes(self._broker.tables, self._broker.me, self._room)
            self._revision = self._broker.revision
        return self._lanes

    def pass_on(self, data: bytes, array: NDArray[np.uint8], at: int, sender: str | None) -> _Run:
        """Decide the frames from ``at`` on, as far as the kernel can; ``array`` begins with the data."""
        lanes = self.lanes()
        end, why, frames, messages = _kernels().pass_on(
            array, at, len(data), lanes.numbers.get(sender or "", _NOWHERE), lanes.keys, lanes.tables, lanes.slots,
            lanes.links, lanes.rows, lanes.congested(self._broker.congested), lanes.states, lanes.room,
        )  # fmt: skip
        found = self._found(lanes, data, at, sender) if frames else []
        return _Run(found, end, why, frames, messages)

    def _found(self, lanes: _Lanes, data: bytes, at: int, sender: str | None) -> list[Command | Local]:
        found: list[Command | Local] = []
        same, same_end = b"", at
        begin = -lanes.part
        for name, (written, upto, frames, messages, shed) in zip(lanes.neighbours, lanes.states.tolist(), strict=True):
            begin += lanes.part
            if shed:
                found.append(MessagesShed(name, shed))
            if not frames:
                continue
            if upto < 0:
                part = bytes(lanes.bytes[begin : begin + written])
            else:
                if upto != same_end:
                    same, same_end = data[at:upto], upto
                part = same
            found.append(Passed(name, part, frames, messages))
        if frames:  # the last is the gateway here
            found[-1] = Local(sender or self._broker.me, tuple(_frames(part)))
        return found

    def pass_large(self, view: DataView, sender: str | None) -> list[Command | Local]:
        """Decide one frame whose tree is known and for which there is no room in a pass."""
        lanes = self.lanes()
        first, last = lanes.spans[view.key]
        links = lanes.links[first:last].tolist()
        parts = view.split(Links.of(lanes.rows[first:last])) if view.masked else [view.data] * len(links)
        congested = lanes.congested(self._broker.congested)
        found: list[Command | Local] = []
        for number, part in zip(links, parts, strict=True):
            if part is None or lanes.neighbours[number] == sender:
                continue
            messages = HEADER.unpack_from(part)[7]
            if congested[number]:
                found += [MessagesShed(lanes.neighbours[number], messages)] if messages else []
            elif number < len(lanes.numbers):
                found.append(Passed(lanes.neighbours[number], part, 1, messages))
            else:
                found.append(Local(sender or self._broker.me, tuple(_frames(part))))
        return found


def _frames(data: bytes) -> Iterator[Data]:
    at = 0
    while at < len(data):
        end = at + whole(data, at)
        yield DataView(data[at:end]).frame()
        at = end


class Passage:
    """What one connection brings, cut anywhere."""

    def __init__(self, crossing: Crossing, sender: str, held: Held | None = None) -> None:
        self.sender = sender
        self._crossing = crossing
        self._held = Held() if held is None else held
        self._small_array = np.empty(_SMALL, np.uint8)
        self._small = self._small_array.data
        self._bytes = self._messages = self._frames = 0

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[Command | Local | Received]:
        """What to do about these bytes, in order: commands to carry out, and events for the machine.

        Each of them before the next is asked for: an event may change the tables that the rest is decided by. To be run
        to its end; FrameError comes after all that came before the fault.
        """
        data = self._held.together(data)
        try:
            at = yield from self._read(data)
            if at < len(data):
                self._held.keep(data, at)
        except FrameError as error:
            self._held.broke(error)
            raise

    def end(self) -> None:
        """Nothing more comes: FrameError if a frame had begun."""
        self._held.end()

    def came(self) -> tuple[int, int, int]:
        """Bytes, messages and frames of messages that came since this was last asked."""
        found = self._bytes, self._messages, self._frames
        self._bytes = self._messages = self._frames = 0
        return found

    def _count(self, size: int, messages: int, frames: int = 1) -> None:
        self._bytes += size
        self._messages += messages
        self._frames += frames

    def _read(self, data: bytes) -> Generator[Command | Local | Received, None, int]:
        """Returns where the last whole frame ends."""
        array = self._array(data)
        at = 0
        while len(data) - at >= PREFIX.size:
            if data[at + 5] == DATA:
                run = self._crossing.pass_on(data, array, at, self.sender)
                self._count(run.end - at, run.messages, run.frames)
                at = run.end
                yield from run.found
                if run.why == _MORE:
                    break
                if run.why == _FULL:
                    continue
            end = at + whole(data, at)
            if end > len(data):
                break
            yield from self._one(data[at:end])
            at = end
        return at

    def _array(self, data: bytes) -> NDArray[np.uint8]:
        """An array that begins with these bytes."""
        if len(data) > _SMALL:
            return np.frombuffer(data, np.uint8)
        self._small[: len(data)] = data
        return self._small_array

    def _one(self, data: bytes) -> list[Command | Local] | list[Received]:
        """A frame that a pass leaves out."""
        if data[5] != DATA:
            frame = decode(data)
            if isinstance(frame, Leg):
                self._count(len(data), len(frame.numbers))
            return [Received(self.sender, frame)]
        view = DataView(data)
        self._count(len(data), view.count)
        if view.key in self._crossing.lanes().spans:
            return self._crossing.pass_large(view, self.sender)
        return [Received(self.sender, view.frame())]
