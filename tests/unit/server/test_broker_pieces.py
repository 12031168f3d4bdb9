"""A broker on real sockets passes on what neighbours send, wherever a connection cuts it."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from semcast.net.view import OverlayView
from semcast.protocol.wire.codec import Decoder, encode
from semcast.protocol.wire.frames import AnyFrame, Data, Entry, Install, Ping, Tally, TreeLink
from semcast.server.broker import BrokerHost
from semcast.trees.topology import Broker, Link, Topology
from semcast_experiments.bench.forward.stage import Voucher

KEY = ("c0", 1)
VOUCHER = Voucher()
"""For all neighbours of these tests."""
LINKS = (TreeLink("a", b"\0"), TreeLink("b", b"\x01"), TreeLink("c", b"\x02"))


def data(number: int, mask: int) -> Data:
    return Data(KEY, 1, "a", (number,), (mask,), (b"body %d" % number,))


def tally(through: int, counts: dict[int, int]) -> Tally:
    return Tally(KEY, 1, 0, 0, "a", 1, through, counts)


class Neighbour:
    """A raw connection; keeps the frames along trees that come."""

    def __init__(self, name: str, host: BrokerHost) -> None:
        self.name, self._host = name, host
        self.came: list[AnyFrame] = []
        self.decoding, self.bytes = True, 0
        self.over = asyncio.Event()

    async def connect(self, behind_hello: bytes = b"") -> None:
        where, port = self._host.address.split(":")
        self._reader, self.writer = await asyncio.open_connection(where, int(port))
        self.writer.write(VOUCHER.hello(self.name) + behind_hello)
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        decoder = Decoder()
        while piece := await self._reader.read(1 << 20):
            self.bytes += len(piece)
            if self.decoding:
                self.came += [frame for frame in decoder.feed(piece) if isinstance(frame, Data | Tally)]
        self.over.set()

    async def until(self, count: int) -> list[AnyFrame]:
        async with asyncio.timeout(60):
            while len(self.came) < count:
                await asyncio.sleep(0.01)
        return self.came


def played(folder: Path, play: Callable[[BrokerHost], Awaitable[None]]) -> None:
    async def whole() -> None:
        topology = Topology.of([Broker(name) for name in "abcm"], [Link("m", name) for name in "abc"])
        view = OverlayView("test", "masked", 1, {}, {}, {}, {}, topology.to_json())
        host = BrokerHost("m", view, folder)
        await host.start("127.0.0.1:0")
        host.node.broker.install(Install(1, 1, (Entry(KEY, "a", LINKS),), ()), 1)
        try:
            await play(host)
        finally:
            await host.stop()

    uvloop.run(whole())


def test_what_comes_right_behind_the_hello_is_not_lost(tmp_path: Path) -> None:
    async def play(host: BrokerHost) -> None:
        receiver, sender = Neighbour("b", host), Neighbour("a", host)
        await receiver.connect()
        while "b" not in host.peers:
            await asyncio.sleep(0.01)
        second = encode(data(2, 1))
        await sender.connect(encode(data(1, 3)) + second[:20])
        await receiver.until(1)
        sender.writer.write(second[20:] + encode(data(3, 1)))
        assert await receiver.until(3) == [data(1, 1), data(2, 1), data(3, 1)]

    played(tmp_path, play)


def test_what_a_piece_causes_leaves_before_the_event_loop_turns(tmp_path: Path) -> None:
    async def play(host: BrokerHost) -> None:
        sender = Neighbour("a", host)
        await sender.connect()
        where, port = host.address.split(":")
        receivers = {name: socket.create_connection((where, int(port))) for name in "bc"}
        for name, line in receivers.items():
            line.sendall(VOUCHER.hello(name))
        while len(host.peers) < 3:
            await asyncio.sleep(0.01)
        first, second = encode(data(1, 3)), encode(data(2, 1))
        came: dict[str, list[AnyFrame]] = {name: [] for name in receivers}
        host.peers["a"].data_received(first + second + encode(tally(2, {0: 2, 1: 1})))
        for name, line in receivers.items():  # no await from here on: the loop stands still
            decoder = Decoder()
            while len(came[name]) < 4 - (name == "c"):
                assert select.select([line], [], [], 10)[0], "nothing left"
                came[name] += [frame for frame in decoder.feed(line.recv(1 << 16)) if not isinstance(frame, Ping)]
            line.close()
        assert came["b"][1:] == [data(1, 1), data(2, 1), tally(2, {0: 2})]
        assert came["c"][1:] == [data(1, 2), tally(2, {1: 1})]
        assert [host.links[name].messages_out for name in "abc"] == [0, 2, 1]

    played(tmp_path, play)


def test_links_count_what_went_over_them(tmp_path: Path) -> None:
    async def play(host: BrokerHost) -> None:
        first, second, sender = Neighbour("b", host), Neighbour("c", host), Neighbour("a", host)
        for neighbour in (first, second, sender):
            await neighbour.connect()
        while len(host.peers) < 3:
            await asyncio.sleep(0.01)
        sender.writer.write(b"".join(encode(data(number, 1 + number % 3)) for number in range(30)))
        sender.writer.write(encode(tally(29, {0: 20, 1: 20})))
        await first.until(21)
        await second.until(21)
        assert first.came[-1] == tally(29, {0: 20})
        assert (host.links["a"].messages_in, host.links["a"].frames_in) == (30, 30)
        assert [host.links[name].messages_out for name in "abc"] == [0, 20, 20]
        assert host.links["b"].data_bytes_out == sum(len(encode(frame)) for frame in first.came[:-1])

    played(tmp_path, play)


def test_who_sends_nonsense_is_left_after_what_came_before_it(tmp_path: Path) -> None:
    async def play(host: BrokerHost) -> None:
        receiver, sender = Neighbour("b", host), Neighbour("a", host)
        await receiver.connect()
        await sender.connect()
        while len(host.peers) < 2:
            await asyncio.sleep(0.01)
        sender.writer.write(encode(data(1, 1)) + b"nonsense")
        assert await receiver.until(1) == [data(1, 1)]
        async with asyncio.timeout(30):
            await sender.over.wait()
        assert "a" not in host.peers

    played(tmp_path, play)


def test_a_burst_that_receivers_can_take_is_not_shed(tmp_path: Path) -> None:
    frames, times = 200, 200
    burst = b"".join(encode(Data(KEY, 1, "a", (n,), (3,), (bytes(1000),))) for n in range(frames))

    async def play(host: BrokerHost) -> None:
        first, second, sender = Neighbour("b", host), Neighbour("c", host), Neighbour("a", host)
        for neighbour in (first, second, sender):
            await neighbour.connect()
        while len(host.peers) < 3:
            await asyncio.sleep(0.01)
        first.decoding = second.decoding = False
        for _ in range(times):
            sender.writer.write(burst)
        async with asyncio.timeout(60):
            while min(first.bytes, second.bytes) < times * (len(burst) - frames):  # a mask is a byte shorter at most
                await asyncio.sleep(0.01)
                assert host.notes["shed"] == 0

    played(tmp_path, play)
