"""Everything around one real `semcast broker` process: its coordinator, and neighbours that are raw sockets.

The broker is called m; what it forwards comes from the neighbour ``SOURCE`` and goes to up to ten others. Their names
are smaller than its own, so they dial it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from semcast.model import SemcastError
from semcast.net.addresses import split_address
from semcast.net.connection import Connection
from semcast.net.host import Host
from semcast.net.view import OverlayView
from semcast.protocol.streams import Stream
from semcast.protocol.wire.codec import AnyView, Decoder, encode
from semcast.protocol.wire.frames import Ack, Entry, Greeting, Hello, Install, Installed, Key, TreeLink, Vouch, Vouched
from semcast.trees.topology import Broker, Link, Topology
from semcast_experiments.bench.forward.wire import GATEWAYS_PER_LINK


class Voucher:
    """Where brokers that call a played neighbour back hear that it is right. It lives in a thread of its own."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def hello(self, name: str) -> bytes:
        """The first bytes of a neighbour's connection."""
        return encode(Hello(name, "broker", 1, self.address, name.encode()))

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._server.accept()
            except OSError:
                return  # it was closed
            with line:
                for question in Decoder().feed(line.recv(4096)):
                    if isinstance(question, Vouch):
                        line.sendall(encode(Vouched(question.proof.decode(), True)))

    def close(self) -> None:
        """A listener that is only closed would go on waiting in its thread."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(10)


ME, SOURCE = "m", "a"
RECEIVERS = tuple(f"b{number}" for number in range(10))
_START_S = 120.0  # compiled code may have to be made first


def key_of(fan: int) -> Key:
    """The tree over the first ``fan`` links."""
    return f"fan{fan:02}", 1


def masked_entry(fan: int) -> Entry:
    """A tree with so many links away from the source, a dozen gateways behind each."""
    all_of_one = (1 << GATEWAYS_PER_LINK) - 1
    size = GATEWAYS_PER_LINK * len(RECEIVERS) // 8
    away = [
        TreeLink(name, (all_of_one << (place * GATEWAYS_PER_LINK)).to_bytes(size, "little"))
        for place, name in enumerate(RECEIVERS[:fan])
    ]
    return Entry(key_of(fan), SOURCE, (TreeLink(SOURCE, bytes(size)), *away), (), None, True)


class _Coordinator(Host):
    """Tells the broker of its overlay and gives it tables."""

    role = "coordinator"

    def __init__(self, view: OverlayView) -> None:
        super().__init__("c0", dead_s=3600.0)
        self.view = view
        self.tables: Install | None = None
        self.installed = threading.Event()

    def greeting(self, peer: Connection) -> Greeting:
        return self.introduction(self.view.encoded())

    def is_member(self, name: str) -> bool:
        return name == ME

    def met(self, peer: Connection) -> None:
        self.tell()

    def tell(self) -> None:
        peer = self.peers.get(ME)
        if peer is not None and self.tables is not None:
            peer.send(self.tables)

    def frame(self, peer: Connection, frame: AnyView) -> None:
        if isinstance(frame, Installed) and self.tables is not None and frame.revision == self.tables.revision:
            self.installed.set()


class Stage:
    """A broker process that has tables and neighbours."""

    def __init__(self, folder: Path, entries: tuple[Entry, ...]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._coordinator: _Coordinator = self._call(self._open())
        self._voucher = Voucher()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "semcast", "broker", ME, "--coordinator", self._coordinator.address,
             "--listen", "127.0.0.1:0", "--data", str(folder / ME)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SemcastError(f"semcast broker ended with exit code {self.process.wait()} before it was ready")
        self.address = split_address(json.loads(line)["address"])
        self.install(entries)

    async def _open(self) -> _Coordinator:
        away = (SOURCE, *RECEIVERS)
        topology = Topology.of([Broker(name) for name in (ME, *away)], [Link(ME, name) for name in away])
        streams = {"quotes": Stream(language="relational")}
        view = OverlayView("bench", "masked", 1, streams, {"dead_s": 3600.0}, {}, {}, topology.to_json())
        coordinator = _Coordinator(view)
        await coordinator.listen("127.0.0.1:0")
        coordinator.view = OverlayView(
            "bench", "masked", 1, streams, {"dead_s": 3600.0}, {"c0": coordinator.address}, {}, topology.to_json()
        )
        return coordinator

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_START_S)

    def install(self, entries: tuple[Entry, ...]) -> None:
        """Give the broker these tables instead of those that it has."""
        coordinator = self._coordinator
        revision = 1 if coordinator.tables is None else coordinator.tables.revision + 1
        coordinator.installed.clear()
        coordinator.tables = Install(1, revision, entries, ())
        self._loop.call_soon_threadsafe(coordinator.tell)
        if not coordinator.installed.wait(_START_S):
            raise SemcastError("the broker does not install its tables")

    def connect(self, name: str) -> socket.socket:
        """A neighbour's connection, greeted."""
        line = socket.create_connection(self.address)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.sendall(self._voucher.hello(name))
        line.recv(1, socket.MSG_PEEK)
        return line

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._voucher.close()
        self._call(self._coordinator.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


def ack(fan: int) -> bytes:
    """What a receiver says now and then."""
    return encode(Ack(key_of(fan), {SOURCE: 1}))
