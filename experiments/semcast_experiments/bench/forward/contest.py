"""Rounds in which all servers take turns with the same messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from semcast_experiments.bench.forward.load import Lap, Line, Load, Loop
from semcast_experiments.bench.forward.servers import Server, subject
from semcast_experiments.bench.forward.stage import SOURCE, key_of
from semcast_experiments.bench.forward.wire import frames, masks, mqtt_publish, nats_publish

PEER = "nats-server"


class Contender(NamedTuple):
    name: str
    loop: Loop
    load: Load


def contenders(
    servers: Sequence[Server], fan: int, size: int, per_frame: Sequence[int], count: int, rng: np.random.Generator
) -> list[Contender]:
    """Every server with the same messages; ours once per number of messages in a frame."""
    bodies = [rng.bytes(size) for _ in range(count)]
    asked = masks(rng, fan, count)
    gets = (count,) * fan
    found = []
    for server in servers:
        loop = server.loop(size)
        if server.name == "semcast":
            for each in per_frame:
                data = frames(key_of(fan), SOURCE, bodies, asked, each)
                found.append(Contender(f"semcast, {each} per frame", loop, Load(data, count, gets)))
        elif server.name == PEER:
            found.append(Contender(PEER, loop, Load(nats_publish(bodies, subject(fan)), count, gets)))
        else:
            data = b"".join(mqtt_publish(body, subject(fan)) for body in bodies)
            found.append(Contender(server.name, loop, Load(data, count, gets)))
    return found


def contest(taking: Sequence[Contender], rounds: int, seconds: float, peer: str = PEER) -> dict[str, Any]:
    """What each delivers per second and per CPU-second of its process: medians over the rounds.

    Ratios to the peer are medians of each round's ratio; there are none where it is not there.
    """
    laps: dict[str, list[Lap]] = {one.name: [] for one in taking}
    for one in taking:
        one.loop.run(one.load, seconds / 5)  # buffers grow, branches are learnt
    for turn in range(rounds):
        for one in taking if turn % 2 == 0 else reversed(taking):
            laps[one.name].append(one.loop.run(one.load, seconds))
    return {name: _record(own, laps.get(peer)) for name, own in laps.items()}


def _record(own: list[Lap], peer: list[Lap] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "per_second": round(median(map(_per_second, own))),
        "per_cpu_second": round(median(map(_per_cpu_second, own))),
        "cpu_us_per_delivery": round(1e6 / max(1.0, median(map(_per_cpu_second, own))), 4),
        "cpu_share": round(median(lap.cpu_s / lap.wall_s for lap in own), 2),
        "waited_share": round(median(lap.waited_s / lap.wall_s for lap in own), 2),
        "lost": sum(lap.lost for lap in own),
        "rounds": [asdict(lap) for lap in own],
    }
    if peer is not None:
        for key, figure in (("ratio", _per_second), ("ratio_cpu", _per_cpu_second)):
            found[key] = round(median(figure(a) / figure(b) for a, b in zip(own, peer, strict=True)), 2)
    return found


def _per_second(lap: Lap) -> float:
    return lap.delivered / lap.wall_s


def _per_cpu_second(lap: Lap) -> float:
    return lap.delivered / max(lap.cpu_s, 0.01)  # the kernel counts in hundredths


def latency(servers: Sequence[Server], fan: int, blocks: int, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """Microseconds until all receivers have a message of 256 bytes, one at a time: the median of each block's median.

    Servers take turns block by block; ``ratio`` is the median of each block's ratio to nats-server.
    """
    body = [rng.bytes(256)]
    (mask,) = masks(rng, fan, 1)
    medians: dict[str, list[float]] = {}
    for block in range(blocks):
        for server in servers if block % 2 == 0 else reversed(servers):
            loop = server.loop(256)
            if server.name == "semcast":
                data = frames(key_of(fan), SOURCE, body, [mask], 1)
                single = data[: 4 + int.from_bytes(data[:4], "little")]
            else:
                nats = server.name == PEER
                single = nats_publish(body, subject(fan)) if nats else mqtt_publish(body[0], subject(fan))
            times = loop.round_trips(single, fan, count, 0.001)
            medians.setdefault(server.name, []).append(1e6 * median(times))
    found: dict[str, Any] = {"fan": fan, "p50_us": {name: round(median(own), 1) for name, own in medians.items()}}
    if PEER in medians:
        ratios = [a / b for a, b in zip(medians["semcast"], medians[PEER], strict=True)]
        found["ratio"] = round(median(ratios), 2)
    return found


def stopped_child(server: Server, load: Load, rounds: int, seconds: float) -> dict[str, Any]:
    """What the siblings get per second while one of the receivers takes nothing, over what they get otherwise."""
    loop = server.loop(256)
    child: Line = loop.receivers[0]
    ratios: dict[str, list[float]] = {"ratio": [], "ratio_cpu": []}
    lost = 0
    for turn in range(2 * rounds):  # which comes first must not matter
        laps = {}
        for stopped in (False, True) if turn % 2 == 0 else (True, False):
            child.stopped = stopped
            laps[stopped] = loop.run(load, seconds)
            child.stopped = False
            loop.drain(0.5)  # what waited for the child, in the broker too
        fewer = (len(load.gets) - 1) / len(load.gets)
        for key, figure in (("ratio", _per_second), ("ratio_cpu", _per_cpu_second)):
            ratios[key].append(figure(laps[True]) / fewer / figure(laps[False]))
        lost += laps[True].lost + laps[False].lost
    return {key: round(median(found), 2) for key, found in ratios.items()} | {"lost_by_siblings": lost}
