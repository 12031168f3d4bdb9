"""nats-server and mosquitto with as many subscriptions to plain topics: how fast, and what each of them costs."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from semcast.model import SemcastError
from semcast_experiments.bench.forward.servers import (
    Server,
    connect,
    end,
    expect,
    free_port,
    mosquitto,
    mqtt_line,
    program,
)
from semcast_experiments.bench.forward.wire import mqtt_packet
from semcast_experiments.bench.race import Say
from semcast_experiments.bench.subscriptions.overlay import GATEWAYS
from semcast_experiments.bench.subscriptions.population import Population

_TOGETHER = 500
"""Subscriptions that are sent before another connection has its turn."""
_SETTLE_S = 0.5
_PATIENCE_S = 120.0

Chunk = tuple[bytes, int]
"""Bytes of subscriptions, and how many they are."""


def peers(population: Population, say: Say) -> list[dict[str, Any]]:
    """Those that are installed, one after the other, each with as many connections as we have clients."""
    found = []
    for name, start, line, chunk, settle in (
        ("nats-server", _nats, _nats_line, _nats_chunk, _ponged),
        ("mosquitto", mosquitto, _mqtt_line, _mqtt_chunk, _acknowledged),
    ):
        with tempfile.TemporaryDirectory(prefix="semcast-bench-") as folder:
            started = start(Path(folder))
            if started is None:
                say(f"!!! {name} is not installed: NOTHING IS MEASURED AGAINST IT (apt-get install {name})")
                continue
            server, port = started
            try:
                say(f"{name}: {population.subscriptions:,} subscriptions")
                found.append(_measured(server, port, population, line, chunk, settle))
            finally:
                server.stop()
    return found


def _measured(
    server: Server,
    port: int,
    population: Population,
    line: Callable[[int, int], socket.socket],
    chunk: Callable[[list[str], int], bytes],
    settle: Callable[[socket.socket, int], None],
) -> dict[str, Any]:
    count = len(GATEWAYS) * population.clients
    lines = [line(port, number) for number in range(count)]
    asked = [list(_chunks(population, number % len(GATEWAYS), chunk)) for number in range(count)]
    time.sleep(_SETTLE_S)
    before, cpu_s, begun = _rss(server), server.cpu_s(), time.perf_counter()
    for turn in range(max(map(len, asked))):
        due = [(one, own[turn]) for one, own in zip(lines, asked, strict=True) if turn < len(own)]
        for one, (data, _) in due:
            one.sendall(data)
        for one, (_, size) in due:
            settle(one, size)
    seconds, cpu_s = time.perf_counter() - begun, server.cpu_s() - cpu_s
    time.sleep(_SETTLE_S)
    after = _rss(server)
    for one in lines:
        one.close()
    total = population.subscriptions
    return {
        "peer": server.name,
        "version": _version(server.name),
        "subscriptions": total,
        "connections": count,
        "seconds": round(seconds, 4),
        "per_second": round(total / seconds, 1),
        "rss_bytes": [before, after],
        "bytes_per_subscription": round((after - before) / total, 1),
        "cpu_us_per_subscription": round(1e6 * cpu_s / total, 1),
    }


def _chunks(population: Population, place: int, chunk: Callable[[list[str], int], bytes]) -> Iterator[Chunk]:
    numbers = population.numbers(0, population.distinct, place, len(GATEWAYS))
    for first in range(0, len(numbers), _TOGETHER):
        some = [f"quotes.S{number // 100}.{number}" for number in numbers[first : first + _TOGETHER]]
        yield chunk(some, first), len(some)


def _rss(server: Server) -> int:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _version(name: str) -> str:
    words = [program(name) or name, "--version" if name == "nats-server" else "-h"]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0].strip().split()[-1].removeprefix("v") if said else ""


# --- nats-server


def _nats(folder: Path) -> tuple[Server, int] | None:
    found = program("nats-server")
    if found is None:
        return None
    port = free_port()
    words = [found, "-a", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    return Server("nats-server", process, lambda: end(process)), port


def _nats_line(port: int, number: int) -> socket.socket:
    line = connect(port)
    expect(line, b"INFO")
    line.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n')
    _ponged(line, 0)
    return line


def _nats_chunk(topics: list[str], first: int) -> bytes:
    lines = [f"SUB {topic} {number}\r\n" for number, topic in enumerate(topics, first + 1)]
    return "".join([*lines, "PING\r\n"]).encode()


def _ponged(line: socket.socket, count: int) -> None:
    """A server that answers a ping has done what stood before it."""
    line.settimeout(_PATIENCE_S)
    heard = b""
    while b"PONG\r\n" not in heard:
        more = line.recv(1 << 16)
        if not more or b"-ERR" in heard:
            raise SemcastError(f"nats-server does not take more subscriptions: {heard[-100:]!r}")
        heard += more


# --- mosquitto


def _mqtt_line(port: int, number: int) -> socket.socket:
    return mqtt_line(port, f"bench-{number}", [])


def _mqtt_chunk(topics: list[str], first: int) -> bytes:
    """A packet for each: a client that subscribes whenever somebody asks it to sends them so."""
    packets = []
    for number, topic in enumerate(topics, first):
        filter, packet = topic.replace(".", "/").encode(), number % 65535 + 1
        body = packet.to_bytes(2, "big") + len(filter).to_bytes(2, "big") + filter + b"\0"
        packets.append(mqtt_packet(0x82, body))
    return b"".join(packets)


def _acknowledged(line: socket.socket, count: int) -> None:
    line.settimeout(_PATIENCE_S)
    left = 5 * count  # a SUBACK with one code
    while left > 0:
        more = line.recv(min(left, 1 << 16))
        if not more:
            raise SemcastError("mosquitto does not take more subscriptions")
        left -= len(more)
