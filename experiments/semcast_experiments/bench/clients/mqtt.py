"""`semcast bench mqtt`: QoS 0 from one publisher to many subscribers at one broker, beside mosquitto."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from semcast_experiments.bench.clients.duel import At, Peer, duel
from semcast_experiments.bench.forward.contest import Contender, contest
from semcast_experiments.bench.forward.counting import ByBytes
from semcast_experiments.bench.forward.load import BUFFER, Line, Load, Loop
from semcast_experiments.bench.forward.run import target
from semcast_experiments.bench.forward.servers import Server, mosquitto, mqtt_line
from semcast_experiments.bench.forward.wire import mqtt_publish
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say

PEER = "mosquitto"
SUBSCRIBERS = 10
_OTHERS = ["b/c/d/e", "b/+/d/e", "b/c/+/e", "b/c/d/+", "b/+/+/e", "b/+/d/+", "b/c/+/+", "b/+/+/+", "b/#", "b/c/#"]


class Case(NamedTuple):
    """What is published on, and what each subscriber asks for."""

    name: str
    topic: str
    filters: tuple[str, ...]


CASES = (
    Case("1→1", "fan/01", ("fan/01",)),
    Case("1→10", "fan/10", ("fan/10",) * SUBSCRIBERS),
    Case("1→10, ten different filters", "b/c/d/e", tuple(_OTHERS)),
)


@dataclass(frozen=True)
class Size:
    bytes: tuple[int, ...] = (256, 1024)
    messages: int = 2048
    rounds: int = 7
    seconds: float = 1.0
    singles: int = 100


QUICK = Size((256,), 256, 1, 0.2, 5)


class Party(NamedTuple):
    """A server with the sockets of all cases: subscribers take part in every case."""

    server: Server
    sender: socket.socket
    receivers: tuple[socket.socket, ...]

    def loop(self, case: Case, size: int) -> Loop:
        each = len(mqtt_publish(bytes(size), case.topic))
        lines = [Line(one, bytearray(BUFFER), ByBytes(each)) for one in (self.sender, *self.receivers)]
        return Loop(lines[0], lines[1:], self.server.cpu_s, self.server.waited_s)


def party(server: Server, port: int) -> Party:
    """Connect everybody; each subscriber has the filters that are its in all cases."""
    receivers = []
    for place in range(SUBSCRIBERS):
        filters = [case.filters[place] for case in CASES if place < len(case.filters)]
        receivers.append(mqtt_line(port, f"r{place}", filters))
    return Party(server, mqtt_line(port, "s", []), tuple(receivers))


def run_mqtt(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data."""
    size = QUICK if options.quick else Size()
    rng = np.random.default_rng(options.seed)

    def measure(ours: At, theirs: At | None) -> dict[str, Any]:
        parties = [party(*at) for at in (ours, theirs) if at is not None]
        cells = [_cell(parties, case, body, size, rng, say) for case in CASES for body in size.bytes]
        say("latency")
        latencies = [_latency(parties, case, size, rng) for case in CASES]
        return {"cells": cells, "latency": latencies, "targets": targets(cells, options.quick)}

    return duel("mqtt", Peer(PEER, PEER, mosquitto), options, say, measure)


def _cell(
    parties: Sequence[Party], case: Case, body: int, size: Size, rng: np.random.Generator, say: Say
) -> dict[str, Any]:
    say(f"{case.name}, {body} bytes")
    data = b"".join(mqtt_publish(rng.bytes(body), case.topic) for _ in range(size.messages))
    load = Load(data, size.messages, (size.messages,) * len(case.filters))
    taking = [Contender(one.server.name, one.loop(case, body), load) for one in parties]
    busy = round(os.getloadavg()[0], 1)
    raced = contest(taking, size.rounds, size.seconds, PEER)
    return {"case": case.name, "bytes": body, "load_average": busy, "contenders": raced}


def _latency(parties: Sequence[Party], case: Case, size: Size, rng: np.random.Generator) -> dict[str, Any]:
    """Microseconds until all subscribers have a message of 256 bytes, one at a time: medians."""
    single = mqtt_publish(rng.bytes(256), case.topic)
    found = {}
    for one in parties:
        times = one.loop(case, 256).round_trips(single, len(case.filters), size.singles, 0.001)
        found[one.server.name] = round(1e6 * median(times), 1)
    return {"case": case.name, "p50_us": found}


def targets(cells: Sequence[dict[str, Any]], quick: bool) -> list[dict[str, Any]]:
    record = next(cell["contenders"] for cell in cells if (cell["case"], cell["bytes"]) == ("1→10", 256))["semcast"]
    return [
        target(f"1→10, 256 B, QoS 0: messages per {what} over {PEER}'s", record.get(key), quick, at_least=3)
        for key, what in (("ratio", "second"), ("ratio_cpu", "CPU-second"))
    ]
