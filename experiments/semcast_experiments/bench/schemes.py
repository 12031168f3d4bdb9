"""The benchmark of schemes: the same overlay, stream, interests and packets, live, under one scheme after the other.

Everything is in this process and on real sockets and disks: brokers, coordinator, publisher and a client per
interest. So CPU time is that of all of them; clients and publisher do the same under every scheme.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from semcast.client import Client
from semcast.client.client import connection_of
from semcast.client.subscription import Subscription
from semcast.demo.charts import Charts
from semcast.model import SemcastError
from semcast.model.message import Message, ProfileText
from semcast.profiles.semantic import InterestProfile
from semcast.protocol.filters import Filter
from semcast.protocol.streams import Stream
from semcast.server.broker import BrokerHost
from semcast.server.config import Config, Deployed
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from semcast.trees.declared import Overlay, having, topology_of
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Mismatch, Say
from semcast_experiments.bench.report import machine, versions

SCHEMES = ("masked", "semcast", "spt", "semnet")
_STREAM = "charts"
_METHOD = (
    "One overlay after the other, all in one process, on sockets and disks. Interests are live and the plan is made "
    "from statistics before anything is counted. CPU is the process's, with clients and publisher, which do the same "
    "under every scheme. Tables are what brokers between source and clients keep to forward: bytes of their entries, "
    "or of filters as text. Every client must get exactly what matches its interest."
)


class Scale(NamedTuple):
    """How much is measured."""

    brokers: int
    gateways: int
    interests: int
    packets: int
    rounds: int


_FULL = Scale(16, 6, 120, 1_500, 3)
_QUICK = Scale(8, 3, 12, 60, 1)
CHARTS = Charts(charts=20, wants=4.0, payload_bytes=(600.0, 0.5))


def run_schemes(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data; Mismatch where a client gets what is not its own."""
    begin, scale = time.perf_counter(), _QUICK if options.quick else _FULL
    count = options.profiles[0] if options.profiles else scale.interests
    rng = np.random.default_rng(options.seed)
    load = _Load(CHARTS.interests(count, rng), list(CHARTS.packets(scale.packets, rng)))
    rows = []
    for scheme in SCHEMES:
        say(f"{scheme}: {scale.brokers} brokers, {count} interests, {scale.packets:,} packets")
        with tempfile.TemporaryDirectory(prefix="semcast-bench-") as folder:
            rows.append(run(_measured(_deployed(scheme, scale, Path(folder)), load, scale)))
    return {
        "benchmark": "schemes",
        "quick": options.quick,
        "seed": options.seed,
        "method": _METHOD,
        "machine": machine(),
        "versions": versions(),
        "brokers": scale.brokers,
        "gateways": scale.gateways,
        "interests": count,
        "packets": scale.packets,
        "delivered": load.deliveries,
        "schemes": rows,
        "targets": [],
        "seconds": round(time.perf_counter() - begin, 1),
    }


class _Load:
    """What every scheme has to carry, and what comes of it."""

    def __init__(self, interests: Sequence[InterestProfile], packets: Sequence[bytes]) -> None:
        self.profiles = [str(interest) for interest in interests]
        self.packets = packets
        matching = Filter({at: ProfileText(_STREAM, "semantic", text) for at, text in enumerate(self.profiles)})
        matched = matching.match([Message(_STREAM, packet) for packet in packets])
        self.due = np.bincount([at for names in matched for at in names], minlength=len(self.profiles)).tolist()
        self.deliveries = sum(self.due)


def _deployed(scheme: str, scale: Scale, folder: Path) -> Deployed:
    overlay = Overlay(brokers=scale.brokers, degree=3.0, seed=5, sources=1, gateways=scale.gateways)
    config = Config(
        scheme=scheme,
        topology=overlay,
        streams={_STREAM: Stream(language="semantic")},
        # However busy the machine is, nobody is taken for dead.
        settings={"dead_s": 30.0, "lease_s": 20.0, "leader_s": 20.0, "grace_s": 20.0, "silence_s": 30.0},
    )
    return Deployed(config, topology_of(overlay), folder)


def _all_known(client: Client, whole: Embedded) -> bool:
    """Has the client been told of all brokers?"""
    view = connection_of(client).view
    return view is not None and set(view.members) >= set(whole.brokers)


async def _measured(deployed: Deployed, load: _Load, scale: Scale) -> dict[str, Any]:
    whole = Embedded(deployed)
    await whole.start()
    try:
        async with Client(whole.addresses()[having(deployed.topology, "source")[0]]) as client:
            await _until(lambda: _all_known(client, whole))
            readers = _readers(client, having(deployed.topology, "gateway"), load)
            await asyncio.gather(*(reader.subscription.live() for reader in readers))
            await _prepared(whole, client, load)
            await _settled(whole)
            rounds = [await _round(whole, client, readers, load) for _ in range(scale.rounds)]
            tables = _tables(whole)
    finally:
        await whole.stop()
    best = min(rounds, key=lambda found: float(found["cpu_us"]))
    return {"scheme": deployed.config.scheme, **best, **tables, "rounds": rounds}


class _Reader:
    """A client's subscription, read all the time."""

    def __init__(self, subscription: Subscription, due: int) -> None:
        self.subscription, self.due = subscription, due
        self.got = 0
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for _ in self.subscription:
            self.got += 1


def _readers(client: Client, gateways: Sequence[str], load: _Load) -> list[_Reader]:
    return [
        _Reader(client.subscribe(_STREAM, text, gateways=[gateways[at % len(gateways)]]), due)
        for at, (text, due) in enumerate(zip(load.profiles, load.due, strict=True))
    ]


async def _prepared(whole: Embedded, client: Client, load: _Load) -> None:
    """Let sources see what comes, and have the plan made from that; semantic routers need neither."""
    coordinator = whole.coordinators["c0"]
    await _settled(whole)
    await client.publisher().publish_all([client.message(_STREAM, packet) for packet in load.packets[:300]])
    before = coordinator.notes["epoch"]
    if coordinator.reorganise():
        await _until(lambda: coordinator.notes["epoch"] > before)


async def _settled(whole: Embedded) -> None:
    """Nothing is under way: no change of plan, no interest that is not confirmed."""

    def still() -> bool:
        status = whole.coordinators["c0"].status()
        routers = [host.node.router for host in whole.brokers.values() if host.node.router is not None]
        said = [said.taken for router in routers for held in router.trees.values() for said in held.said.values()]
        return status["phase"] == "settled" and not status["draining"] and all(said)

    await _until(still)
    await asyncio.sleep(0.5)
    await _until(still)


async def _until(true: Any, patience_s: float = 120.0) -> None:
    end = time.monotonic() + patience_s
    while not true():
        if time.monotonic() > end:
            raise SemcastError(f"the overlay did not come to rest within {patience_s:g} s")
        await asyncio.sleep(0.05)


async def _round(whole: Embedded, client: Client, readers: Sequence[_Reader], load: _Load) -> dict[str, Any]:
    await asyncio.sleep(0.5)
    for reader in readers:
        reader.got = 0
    before, evaluations, cpu = _links(whole), _evaluations(whole), time.process_time()
    await client.publisher().publish_all([client.message(_STREAM, packet) for packet in load.packets])
    await _until(lambda: sum(reader.got for reader in readers) >= load.deliveries)
    cpu = time.process_time() - cpu
    await asyncio.sleep(0.3)
    if [reader.got for reader in readers] != load.due:
        raise Mismatch(f"{whole.deployed.config.scheme}: clients did not get exactly what matches")
    after = _links(whole)
    found = {name: after[name] - before[name] for name in after}
    return {
        **found,
        "evaluations": _evaluations(whole) - evaluations,
        "cpu_us": round(1e6 * cpu / load.deliveries, 1),
        "cpu_us_per_packet": round(1e6 * cpu / len(load.packets), 1),
    }


def _links(whole: Embedded) -> dict[str, int]:
    meters = [meter for host in whole.brokers.values() for meter in host.links.values()]
    names = {"transmissions": "messages_out", "data_bytes": "data_bytes_out", "control_bytes": "control_bytes_out"}
    return {name: sum(getattr(meter, counter) for meter in meters) for name, counter in names.items()}


def _evaluations(whole: Embedded) -> int:
    """Packets that brokers matched with tables; what sources and gateways match is not among them."""
    return sum(host.node.broker.evaluations for host in whole.brokers.values())


def _tables(whole: Embedded) -> dict[str, Any]:
    sizes = [_table_bytes(host) for host in whole.brokers.values()]
    deployment = whole.coordinators["c0"].machine.deployment
    profiles = deployment.profiles.values() if deployment is not None else ()
    return {
        "table_bytes": sum(sizes),
        "largest_table_bytes": max(sizes),
        "source_profile_bytes": sum(len(profile.text.encode()) for profile in profiles),
    }


def _table_bytes(host: BrokerHost) -> int:
    if host.node.router is not None:
        held = [wanted for tree in host.node.router.trees.values() for wanted in tree.wanted.values()]
        return sum(len(str(InterestProfile.of(wanted)).encode()) for wanted in held)
    return sum(len(msgspec.msgpack.encode(table.entry)) for table in host.node.broker.tables.values())
