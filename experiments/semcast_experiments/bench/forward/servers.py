"""Three servers, each a process of its own with raw sockets to it: ours, nats-server and mosquitto."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from semcast.model import SemcastError
from semcast_experiments.bench.forward.counting import ByBytes, ByFrames
from semcast_experiments.bench.forward.load import BUFFER, Line, Loop
from semcast_experiments.bench.forward.stage import RECEIVERS, SOURCE, Stage, ack, masked_entry
from semcast_experiments.bench.forward.wire import mqtt_connect, mqtt_publish, mqtt_subscribe, nats_message_bytes

FANS = (1, 3, 10)
_START_S = 120.0


def subject(fan: int) -> str:
    """What the first ``fan`` receivers have subscribed to."""
    return f"fan{fan:02}"


class Server:
    """A process and its lines: the first sends."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], stop: Callable[[], None]) -> None:
        self.name = name
        self.process = process
        self.stop = stop
        self._lines: list[Line] = []

    def connected(self, sender: socket.socket, receivers: list[socket.socket]) -> Server:
        for one in (sender, *receivers):
            buffer = bytearray(BUFFER)
            chatter = ack(len(RECEIVERS)) if self.name == "semcast" else b""
            # Kept as long as the line: a new one would begin where the last had read half a frame.
            self._lines.append(Line(one, buffer, ByFrames(buffer), chatter))
        return self

    def cpu_s(self) -> float:
        """CPU seconds of all its threads so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def waited_s(self) -> float:
        """Seconds that its threads were ready and did not run, since the machine had others to serve."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[1]) for task in tasks) / 1e9

    def loop(self, size: int) -> Loop:
        """The load generator for messages with bodies of so many bytes."""
        lines = self._lines
        if self.name != "semcast":
            nats = self.name == "nats-server"
            each = nats_message_bytes(size, subject(1)) if nats else len(mqtt_publish(bytes(size), subject(1)))
            lines = [replace(line, counter=ByBytes(each)) for line in lines]
        return Loop(lines[0], lines[1:], self.cpu_s, self.waited_s)


def start_semcast(folder: Path) -> tuple[Server, Stage]:
    stage = Stage(folder, tuple(masked_entry(fan) for fan in FANS))
    server = Server("semcast", stage.process, stage.stop)
    return server.connected(stage.connect(SOURCE), [stage.connect(name) for name in RECEIVERS]), stage


def start_nats(folder: Path) -> Server | None:
    """None where it is not installed."""
    found = program("nats-server")
    if found is None:
        return None
    port, config = free_port(), folder / "nats.conf"
    config.write_text(f'listen: "127.0.0.1:{port}"\nping_interval: "1h"\n')
    process = subprocess.Popen([found, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = Server("nats-server", process, lambda: end(process))
    receivers = [_nats_line(port, [fan for fan in FANS if place < fan]) for place in range(len(RECEIVERS))]
    return server.connected(_nats_line(port, []), receivers)


def start_mosquitto(folder: Path) -> Server | None:
    """None where it is not installed."""
    found = mosquitto(folder)
    if found is None:
        return None
    server, port = found
    receivers = [
        mqtt_line(port, f"r{place}", [subject(fan) for fan in FANS if place < fan]) for place in range(len(RECEIVERS))
    ]
    return server.connected(mqtt_line(port, "s", []), receivers)


def mosquitto(folder: Path) -> tuple[Server, int] | None:
    """The server and its port; None where it is not installed."""
    found = program("mosquitto")
    if found is None:
        return None
    port, config = free_port(), folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nset_tcp_nodelay true\n"
        "max_queued_messages 0\nlog_dest none\n"
    )
    process = subprocess.Popen([found, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Server("mosquitto", process, lambda: end(process)), port


def _nats_line(port: int, fans: list[int]) -> socket.socket:
    line = connect(port)
    expect(line, b"INFO")
    line.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\n')
    for number, fan in enumerate(fans, 1):
        line.sendall(b"SUB %s %d\r\n" % (subject(fan).encode(), number))
    line.sendall(b"PING\r\n")
    expect(line, b"PONG")
    return line


def mqtt_line(port: int, client: str, filters: list[str]) -> socket.socket:
    """A client of MQTT 3.1.1 that has subscribed at QoS 0."""
    line = connect(port)
    line.sendall(mqtt_connect(client))
    expect(line, b"\x20\x02\x00\x00")
    for filter in filters:
        line.sendall(mqtt_subscribe(filter))
        expect(line, b"\x90\x03")
    return line


def expect(line: socket.socket, answer: bytes) -> None:
    line.settimeout(_START_S)
    found = line.recv(1 << 16)
    if not found.startswith(answer):
        raise SemcastError(f"a server answered {found[:40]!r} instead of {answer!r}")


def connect(port: int) -> socket.socket:
    until = time.monotonic() + _START_S
    while True:
        try:
            line = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise SemcastError(f"a server does not listen at port {port}") from None
            time.sleep(0.05)
            continue
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return line


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def program(name: str) -> str | None:
    more = os.environ.get("SEMCAST_PEERS", "/usr/sbin:/usr/local/sbin")  # where servers are, and many a PATH is not
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), more)))


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
