"""Publishers on raw sockets that wait for acknowledgements: a source of ours, and a stream of JetStream's."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from semcast.model import SemcastError
from semcast.model.message import Message
from semcast.protocol.wire.codec import Decoder, encode
from semcast.protocol.wire.frames import Greeting, Hello, Ping, Pong, Publish, Published, Refused
from semcast_experiments.bench.clients.single import STREAM
from semcast_experiments.bench.forward.servers import Server, connect, end, expect, free_port, program

_BATCH = 256  # messages of a frame, at most; a quarter of what may be under way
_PATIENCE_S = 30.0
_ACK = b'"seq":'


@dataclass(frozen=True)
class Stint:
    """What was acknowledged in a round."""

    messages: int
    wall_s: float
    cpu_s: float
    """Of the server."""
    waited_s: float

    @property
    def per_second(self) -> float:
        return self.messages / self.wall_s

    @property
    def per_cpu_second(self) -> float:
        return self.messages / max(self.cpu_s, 0.01)


class Publisher(Protocol):
    name: str

    def publish(self, bodies: Sequence[bytes], under_way: int, seconds: float) -> Stint:
        """Publish for so long, never with more unacknowledged; ends when all is acknowledged."""


class _Line:
    """Sends batches, and counts what is acknowledged."""

    name: str

    def __init__(self, server: Server, port: int) -> None:
        self._server = server
        self._line = connect(port)
        self._line.settimeout(_PATIENCE_S)

    def publish(self, bodies: Sequence[bytes], under_way: int, seconds: float) -> Stint:
        batch = min(_BATCH, under_way // 4)
        parts = [bodies[first : first + batch] for first in range(0, len(bodies), batch)]
        sent = acknowledged = turn = 0
        begin, cpu, waited = time.perf_counter(), self._server.cpu_s(), self._server.waited_s()
        while True:
            going = time.perf_counter() - begin < seconds
            while going and sent - acknowledged + batch <= under_way:
                part = parts[turn % len(parts)]
                self._line.sendall(self._encoded(part))
                sent, turn = sent + len(part), turn + 1
            if not going and sent == acknowledged:
                break
            acknowledged += self._acknowledged()
        wall = time.perf_counter() - begin
        return Stint(acknowledged, wall, self._server.cpu_s() - cpu, self._server.waited_s() - waited)

    def _encoded(self, bodies: Sequence[bytes]) -> bytes:
        raise NotImplementedError

    def _acknowledged(self) -> int:
        """Wait for word; how many more are durable by it."""
        raise NotImplementedError

    def _received(self) -> bytes:
        data = self._line.recv(1 << 18)
        if not data:
            raise SemcastError(f"{self.name} has closed the connection")
        return data


class Ours(_Line):
    """A batching publisher as a source sees it: frames of messages, acknowledged when they are on disk."""

    name = "semcast"

    def __init__(self, server: Server, port: int) -> None:
        super().__init__(server, port)
        self._decoder = Decoder()
        self._next = self._through = 0
        self._line.sendall(encode(Hello("bench", "client", 1)))
        while not any(isinstance(frame, Greeting) for frame in self._decoder.feed(self._received())):
            pass
        self._wait_for_lease()

    def _wait_for_lease(self) -> None:
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            self._line.sendall(encode(Publish("bench", 0, (Message(STREAM, b"first", "bench"),))))
            for frame in self._decoder.feed(self._received()):
                if isinstance(frame, Published):
                    self._next = 1
                    return
            time.sleep(0.1)
        raise SemcastError("the source has no lease")

    def _encoded(self, bodies: Sequence[bytes]) -> bytes:
        at = round(1000 * time.time())
        frame = Publish("bench", self._next, tuple(Message(STREAM, body, "bench", at) for body in bodies))
        self._next += len(bodies)
        return encode(frame)

    def _acknowledged(self) -> int:
        before = self._through
        for frame in self._decoder.feed(self._received()):
            if isinstance(frame, Published):
                self._through = max(self._through, frame.through)
            elif isinstance(frame, Ping):
                self._line.sendall(encode(Pong(frame.sent_at, time.time())))
            elif isinstance(frame, Refused):
                raise SemcastError(f"a source refuses: {frame.reason}")
        return self._through - before


class Jetstream(_Line):
    """A publisher with a reply subject, to which the stream's acknowledgements come one by one."""

    name = "JetStream"

    def __init__(self, server: Server, port: int) -> None:
        super().__init__(server, port)
        self._tail = b""
        expect(self._line, b"INFO")
        self._line.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB made 1\r\nSUB acks 2\r\nPING\r\n')
        expect(self._line, b"PONG")
        # The default of everything but its size: what is old is let go, as a log without readers does.
        asked = b'{"name":"bench","subjects":["bench"],"storage":"file","max_bytes":536870912,"discard":"old"}'
        self._line.sendall(b"PUB $JS.API.STREAM.CREATE.bench made %d\r\n%b\r\n" % (len(asked), asked))
        answer = self._received()
        if b'"error"' in answer:
            raise SemcastError(f"JetStream makes no stream: {answer!r}")

    def _encoded(self, bodies: Sequence[bytes]) -> bytes:
        return b"".join([b"PUB bench acks %d\r\n%b\r\n" % (len(body), body) for body in bodies])

    def _acknowledged(self) -> int:
        data = self._tail + self._received()
        self._tail = data[-len(_ACK) + 1 :]
        return data.count(_ACK)


def jetstream(folder: Path) -> tuple[Server, int] | None:
    """nats-server with JetStream as it is by default, in files; None where it is not installed."""
    found = program("nats-server")
    if found is None:
        return None
    port, config = free_port(), folder / "jetstream.conf"
    config.write_text(f'listen: "127.0.0.1:{port}"\nping_interval: "1h"\njetstream {{ store_dir: "{folder}/js" }}\n')
    process = subprocess.Popen([found, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Server("nats-server", process, lambda: end(process)), port
