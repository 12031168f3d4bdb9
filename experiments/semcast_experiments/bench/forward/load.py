"""The load generator: one loop that sends encoded bytes and counts what comes back, the same for every server.

The sender is at most a window ahead of the slowest receiver, so that no server has to drop anything, and none is
judged by the size of its buffers.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from semcast_experiments.bench.forward.counting import Counter

BUFFER = 1 << 20
_WINDOW = 2 << 20
_CHUNK = 256 << 10
_QUIET_S = 2.0
_CHATTER_S = 0.1


@dataclass(frozen=True)
class Load:
    """Bytes to send, over and over, and how many messages of them each receiver gets."""

    data: bytes
    messages: int
    gets: tuple[int, ...]


@dataclass
class Line:
    """A socket to a server; ``counter`` reads ``buffer``."""

    socket: socket.socket
    buffer: bytearray
    counter: Counter
    chatter: bytes = b""
    """Sent every now and then: acks."""
    stopped: bool = False
    """Takes nothing."""

    def receive(self) -> int:
        size = self.socket.recv_into(self.buffer)
        if size:
            self.counter.add(size)
        return size


@dataclass(frozen=True)
class Lap:
    """What came of a round."""

    sent: int
    delivered: int
    """To all receivers together."""
    lost: int
    wall_s: float
    cpu_s: float
    """Of the server."""
    waited_s: float = 0.0
    """All its threads together could have run for so long and were not let."""


class Loop:
    """The lines of one server; the first ``fan`` receivers take part."""

    def __init__(
        self, sender: Line, receivers: list[Line], cpu: Callable[[], float], waited: Callable[[], float]
    ) -> None:
        self.sender, self.receivers = sender, receivers
        self._cpu, self._waited = cpu, waited
        for line in (sender, *receivers):
            line.socket.setblocking(False)

    def drain(self, quiet_s: float = 0.05) -> None:
        """Take in what is left of before, until no message comes for so long."""
        until = time.perf_counter() + quiet_s
        while time.perf_counter() < until:
            for line in (self.sender, *self.receivers):
                before = line.counter.messages
                while _read(line):
                    if line.counter.messages > before:
                        before, until = line.counter.messages, time.perf_counter() + quiet_s
            time.sleep(0.002)

    def run(self, load: Load, seconds: float) -> Lap:
        """Send the load, again and again, for so long; ends when all has come, or nothing comes any more."""
        self.drain()
        taking = [(line, gets) for line, gets in zip(self.receivers, load.gets, strict=False) if gets]
        live = [(line, gets) for line, gets in taking if not line.stopped]
        before = {id(line): line.counter.messages for line, _ in taking}
        selector = selectors.DefaultSelector()
        for line in (self.sender, *(line for line, _ in live)):
            selector.register(line.socket, selectors.EVENT_READ, line)
        begin, cpu, waited = time.perf_counter(), self._cpu(), self._waited()
        passes = self._pump(selector, load, live, before, begin + seconds)
        wall, used = time.perf_counter() - begin, self._cpu() - cpu
        selector.close()
        came = round(sum(line.counter.messages - before[id(line)] for line, _ in live))
        owed = passes * sum(gets for _, gets in live)
        return Lap(passes * load.messages, came, owed - came, wall, used, self._waited() - waited)

    def _pump(
        self,
        selector: selectors.BaseSelector,
        load: Load,
        live: list[tuple[Line, int]],
        before: dict[int, float],
        until: float,
    ) -> int:
        """How often the load was sent."""
        view, size = memoryview(load.data), len(load.data)
        sent = passes = 0
        came = 0.0
        last_news = next_chatter = time.perf_counter()
        while True:
            now = time.perf_counter()
            shares = [(line.counter.messages - before[id(line)]) / gets for line, gets in live]
            done = min(shares)
            if sum(shares) > came:
                came, last_news = sum(shares), now
            stuck = now - last_news > _QUIET_S  # what was begun is sent to its end: the next round begins with a frame
            if sent == 0 and (stuck or (passes and now >= until and done > passes - 1e-9)):
                return passes
            may_send = stuck or ((sent or not passes or now < until) and (passes - done) * size + sent < _WINDOW)
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if may_send else 0)
            selector.modify(self.sender.socket, wanted, self.sender)
            if now >= next_chatter:
                next_chatter = now + _CHATTER_S
                for line, _ in live:
                    _say(line)
            for key, events in selector.select(0.05):
                if events & selectors.EVENT_READ:
                    _read(key.data)
                if events & selectors.EVENT_WRITE:
                    sent += self.sender.socket.send(view[sent : sent + _CHUNK])
                    if sent == size:
                        sent, passes = 0, passes + 1

    def round_trips(self, single: bytes, fan: int, count: int, pause_s: float) -> list[float]:
        """Seconds from sending one message until all of ``fan`` receivers have it, one message after the other."""
        self.drain()
        lines = self.receivers[:fan]
        selector = selectors.DefaultSelector()
        for line in lines:
            selector.register(line.socket, selectors.EVENT_READ, line)
        found = []
        for _ in range(count):
            wanted = {id(line): line.counter.messages + 1 - 1e-9 for line in lines}
            begin = time.perf_counter()
            self.sender.socket.send(single)
            found.append(all_have(selector, wanted, begin + _QUIET_S) - begin)
            time.sleep(pause_s)
            _read(self.sender)
        selector.close()
        return found


def all_have(selector: selectors.BaseSelector, wanted: dict[int, float], until: float) -> float:
    """When the last line had read what it waits for; ``wanted`` is a line's id → messages, and what is left is late.

    A line's piece is counted after the clock was read: the heads of our frames take the load generator longer to look
    at than the bytes of others to add up, and no server is to be charged for that.
    """
    pieces: dict[int, tuple[Line, int]] = {}
    at = time.perf_counter()
    while wanted and at < until:
        for key, _events in selector.select(until - at):
            line: Line = key.data
            if id(line) in pieces:
                _count(pieces, wanted, [id(line)])  # its buffer is needed again
            pieces[id(line)] = line, line.socket.recv_into(line.buffer)
        at = time.perf_counter()
        if wanted.keys() <= pieces.keys():
            _count(pieces, wanted, list(pieces))
    _count(pieces, wanted, list(pieces))
    return at


def _count(pieces: dict[int, tuple[Line, int]], wanted: dict[int, float], which: list[int]) -> None:
    for one in which:
        line, size = pieces.pop(one)
        line.counter.add(size)
        if line.counter.messages >= wanted.get(one, float("inf")):
            del wanted[one]


def _read(line: Line) -> int:
    try:
        return line.receive()
    except BlockingIOError:
        return 0


def _say(line: Line) -> None:
    if line.chatter:
        try:
            line.socket.send(line.chatter)
        except BlockingIOError:
            return
