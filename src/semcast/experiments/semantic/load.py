"""The load of one router: CPU time of decoding, matching and sending packets on (thesis §5.3, Figures 5.5 to 5.19).

The set-up is the thesis' (Figure 5.1): producers at border router 1, which has two neighbours with two users each.
Load is CPU time over time, in percent of one core, over short windows with a drawn number of packets each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from semcast.experiments.semantic.charts import Charts, descriptor, interest
from semcast.profiles.semantic import Expression, InterestProfile, aggregate
from semcast.protocol.codec import decode, encode
from semcast.protocol.frames.semantic import Interest, Offer, Shed
from semcast.protocol.machine import Received, Send
from semcast.protocol.semantic_ports import Matching, TreePorts
from semcast.protocol.semantic_router import RouterSettings, SemanticRouter

WAYS: tuple[Matching, ...] = ("each", "prefilter", "shared")
_WINDOW_S = 0.25
_CHARTS = Charts(packet_skew=0.4, interest_skew=0.0, charts=100)
_PLACES = 30  # that a user of the thesis' set-up asks for
_PREFILTER = 5  # levels: down to the subregion's id


class Window(NamedTuple):
    """One point of Figures 5.10 to 5.19."""

    sources: int
    profiles: str
    matching: str
    packets_per_second: float
    load_percent: float
    selectivity: float
    """Packets in per packet out (thesis §5.1); 0 where none went out."""


class PerPacket(NamedTuple):
    """The cost of a packet under one setting of something else."""

    what: str
    matching: str
    x: float
    us_per_packet: float
    forwarded: float
    """Packets out per packet in."""


class Scale(NamedTuple):
    sources: tuple[int, ...]
    windows: int
    rates: tuple[float, float]
    """Of each source, packets per second: least and most."""
    ports: tuple[int, ...]
    packets: int
    rounds: int


FULL = Scale((1, 2, 3, 4, 5), 30, (40.0, 300.0), (1, 2, 4, 8, 12, 16), 150, 3)
QUICK = Scale((1, 3), 16, (40.0, 300.0), (1, 2, 4), 60, 2)


class Bench:
    """A router with a filter per port, fed with packets as bytes."""

    def __init__(self, filters: Sequence[Expression], matching: Matching, depth: int = _PREFILTER) -> None:
        names = [f"r{number}" for number in range(len(filters))]
        # It tells nobody what it wants: what is measured is packets.
        ports = {"": TreePorts(tuple(names), ())}
        self.router = SemanticRouter("1", ports, RouterSettings(matching=matching, prefilter_depth=depth))
        for name, wanted in zip(names, filters, strict=True):
            told = Interest("", 1, 1, str(InterestProfile.of(wanted)))
            self.router.handle(Received(name, told), 0.0)
        self._offered = 0

    def offers(self, charts: Sequence[str], payload: bytes) -> list[bytes]:
        """Frames of packets that were not offered before."""
        found = []
        for chart in charts:
            self._offered += 1
            found.append(encode(Offer(self._offered, descriptor(chart).encode(), payload)))
        return found

    def run(self, frames: Sequence[bytes]) -> tuple[float, int]:
        """CPU seconds to take the frames in and send on what is wanted, and how many packets went out."""
        router, out = self.router, 0
        start = time.process_time()
        for frame in frames:
            for command in router.handle(Received("producer", decode(frame)), 0.0):
                if isinstance(command, Send):
                    encode(command.frame)
                    out += 1
        return time.process_time() - start, out

    def shed(self, depth: int | None) -> None:
        self.router.handle(Received("operator", Shed(depth)), 0.0)


def windows(scale: Scale, seed: int, say: Callable[[str], None]) -> list[Window]:
    """Load against rate for 1 to 5 sources, users with the same and with different profiles, by way of matching."""
    found: list[Window] = []
    for kind in ("same", "different"):
        for sources in scale.sources:
            say(f"load of {sources} sources, {kind} profiles")
            rng = np.random.default_rng([seed, sources, kind == "same"])
            users = _users(kind, rng)
            filters = [aggregate(users[:2]), aggregate(users[2:])]
            benches: dict[Matching, Bench] = {way: Bench(filters, way) for way in WAYS}
            low, high = (rate * sources for rate in scale.rates)
            for rate in rng.uniform(low, high, scale.windows).tolist():
                found += _window(benches, sources, kind, rate, rng)
    return found


def _users(kind: str, rng: np.random.Generator) -> list[Expression]:
    drawn = [rng.choice(_CHARTS.every, _PLACES, replace=False).tolist() for _ in range(4)]
    return [interest(drawn[0] if kind == "same" else places) for places in drawn]


def _window(
    benches: dict[Matching, Bench], sources: int, kind: str, rate: float, rng: np.random.Generator
) -> list[Window]:
    """The same packets by every way, in turn: a busy moment of the machine hits all of them."""
    count = int(rng.poisson(rate * _WINDOW_S))
    charts = _CHARTS.corrections(count, rng)
    payload = b"." * int(rng.lognormal(7.0, 0.8))
    found = []
    for way, bench in benches.items():
        seconds, out = bench.run(bench.offers(charts, payload))
        load = 100 * seconds / _WINDOW_S
        found.append(Window(sources, kind, way, count / _WINDOW_S, load, count / out if out else 0.0))
    return found


def by_ports(scale: Scale, seed: int, say: Callable[[str], None]) -> list[PerPacket]:
    """The cost of a packet against the number of ports: L = βIp, with and without the prefilter."""
    found: list[PerPacket] = []
    for ports in scale.ports:
        say(f"{ports} ports")
        rng = np.random.default_rng([seed, ports])
        filters = [interest(rng.choice(_CHARTS.every, 40, replace=False).tolist()) for _ in range(ports)]
        found += _per_packet("ports", ports, {way: Bench(filters, way) for way in WAYS}, scale, rng)
    return found


def by_selectivity(scale: Scale, seed: int, say: Callable[[str], None]) -> list[PerPacket]:
    """The cost of a packet against the selectivity of two ports' filters."""
    found: list[PerPacket] = []
    subregions = [f"{region}{number}" for region in range(1, 10) for number in range(10)]
    for wanted in (1, 2, 5, 10, 20, 45, 90):
        say(f"filters of {wanted} of 90 subregions")
        rng = np.random.default_rng([seed, wanted])
        filters = [interest(rng.permutation(subregions)[:wanted].tolist()) for _ in range(2)]
        found += _per_packet("selectivity", 90 / wanted, {way: Bench(filters, way) for way in WAYS}, scale, rng)
    return found


def by_leakage(scale: Scale, seed: int, say: Callable[[str], None]) -> list[PerPacket]:
    """The cost of a packet, and what goes out, against the depth to which filters are looked at."""
    found: list[PerPacket] = []
    rng = np.random.default_rng([seed, 7])
    filters = [interest(rng.choice(_CHARTS.every, 40, replace=False).tolist()) for _ in range(4)]
    for depth in (0, 1, 2, 3, 4, 5, 6):
        say(f"filters to a depth of {depth}")
        benches: dict[Matching, Bench] = {way: Bench(filters, way) for way in WAYS}
        for bench in benches.values():
            bench.shed(depth)
        found += _per_packet("leakage", depth, benches, scale, np.random.default_rng([seed, 8]))
    return found


def _per_packet(
    what: str, x: float, benches: dict[Matching, Bench], scale: Scale, rng: np.random.Generator
) -> list[PerPacket]:
    best: dict[Matching, tuple[float, float]] = {}
    charts = _CHARTS.corrections(scale.packets, rng)
    for _ in range(scale.rounds):
        for way, bench in benches.items():
            seconds, out = bench.run(bench.offers(charts, b"." * 1000))
            known = best.get(way, (np.inf, 0.0))
            best[way] = min(known, (seconds / len(charts) * 1e6, out / len(charts)))
    return [PerPacket(what, way, float(x), us, out) for way, (us, out) in best.items()]
