"""The load of one router: CPU time of decoding, matching and sending packets on (thesis §5.3, Figures 5.5 to 5.19).

The set-up is the thesis' (Figure 5.1): producers at border router 1, which has two neighbours with two users each.
Load is CPU time over time, in percent of one core, over short windows with a drawn number of packets each; every way of
matching takes the same packets, and the best of some passes over all windows counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from semcast.demo.charts import Charts, descriptor, interest
from semcast.profiles.semantic import Expression, InterestProfile, aggregate
from semcast.protocol.contract import Received, Send
from semcast.protocol.semnet.ports import Matching, TreePorts
from semcast.protocol.semnet.router import RouterSettings, SemanticRouter
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames.semantic import Interest, Offer, Shed

WAYS: tuple[Matching, ...] = ("each", "prefilter", "shared")
_WINDOW_S = 0.25
_CHARTS = Charts(packet_skew=0.4, interest_skew=0.0, charts=100)
_PLACES = 12  # of 90 subregions that a user asks for: one to five packets come in for one that goes out, as in 5.6
_PREFILTER = 5  # levels: down to the subregion's id
_SUBREGIONS = [f"{region}{number}" for region in range(1, 10) for number in range(10)]


class Window(NamedTuple):
    """One point of Figures 5.10 to 5.19."""

    sources: int
    profiles: str
    matching: str
    seed: int
    packets_per_second: float
    load_percent: float
    selectivity: float
    """Packets in per packet out (thesis §5.1); 0 where none went out."""


class PerPacket(NamedTuple):
    """The cost of a packet under one setting of something else."""

    what: str
    matching: str
    x: float
    seed: int
    us_per_packet: float
    forwarded: float
    """Packets out per packet in."""


class Load(NamedTuple):
    """Some windows of one set-up: users with the same or different profiles, a number of sources."""

    profiles: str
    sources: int
    windows: int
    least: float
    """Packets per second of each source, and the most."""
    most: float
    seed: int
    passes: int = 1
    """Over all windows, of which the best counts."""


class Setting(NamedTuple):
    """One setting of one thing: so many ports, filters of so many of 90 subregions, or looked at to such a depth."""

    what: str
    value: int
    packets: int
    rounds: int
    seed: int


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


def windows(case: Load) -> list[Window]:
    """Load against rate, by way of matching.

    Whoever else uses the machine slows a core down for up to a second: rounds of one window would all be slow, so all
    windows are passed over again and again.
    """
    rng = np.random.default_rng([case.seed, case.sources, case.profiles == "same"])
    users = _users(case.profiles, rng)
    filters = [aggregate(users[:2]), aggregate(users[2:])]
    benches: dict[Matching, Bench] = {way: Bench(filters, way) for way in WAYS}
    rates = rng.uniform(case.least * case.sources, case.most * case.sources, case.windows).tolist()
    drawn = [_packets(rate, rng) for rate in rates]
    best = [dict.fromkeys(benches, (np.inf, 0)) for _ in drawn]
    for _ in range(case.passes):
        for packets, found in zip(drawn, best, strict=True):
            for way, bench in benches.items():
                found[way] = min(found[way], bench.run(bench.offers(*packets)))
    return [
        _window(case, way, len(charts), *found[way])
        for (charts, _), found in zip(drawn, best, strict=True)
        for way in benches
    ]


def _users(kind: str, rng: np.random.Generator) -> list[Expression]:
    drawn = [rng.choice(_SUBREGIONS, _PLACES, replace=False).tolist() for _ in range(4)]
    return [interest(drawn[0] if kind == "same" else places) for places in drawn]


def _packets(rate: float, rng: np.random.Generator) -> tuple[list[str], bytes]:
    """What comes in during one window: packets by their charts, and what each of them carries."""
    charts = _CHARTS.corrections(int(rng.poisson(rate * _WINDOW_S)), rng)
    return charts, b"." * int(rng.lognormal(7.0, 0.8))


def _window(case: Load, way: Matching, count: int, seconds: float, out: int) -> Window:
    load, ratio = 100 * seconds / _WINDOW_S, count / out if out else 0.0
    return Window(case.sources, case.profiles, way, case.seed, count / _WINDOW_S, load, ratio)


def per_packet(case: Setting) -> list[PerPacket]:
    """The cost of a packet, by way of matching; best of some rounds."""
    # The same interests and packets at every depth: what leaks then is depth's doing alone.
    drawn = 0 if case.what == "leakage" else case.value
    rng = np.random.default_rng([case.seed, drawn, len(case.what)])
    filters = _filters(case, rng)
    benches: dict[Matching, Bench] = {way: Bench(filters, way) for way in WAYS}
    if case.what == "leakage":
        for bench in benches.values():
            bench.shed(case.value)
    charts = _CHARTS.corrections(case.packets, rng)
    best: dict[Matching, tuple[float, float]] = {}
    for _ in range(case.rounds):
        for way, bench in benches.items():
            seconds, out = bench.run(bench.offers(charts, b"." * 1000))
            best[way] = min(best.get(way, (np.inf, 0.0)), (1e6 * seconds / len(charts), out / len(charts)))
    x = len(_SUBREGIONS) / case.value if case.what == "selectivity" else float(case.value)
    return [PerPacket(case.what, way, x, case.seed, us, out) for way, (us, out) in best.items()]


def _filters(case: Setting, rng: np.random.Generator) -> list[Expression]:
    """A filter per port: some subregions each for selectivity, otherwise 40 charts each."""
    if case.what == "selectivity":
        drawn = rng.permutation(_SUBREGIONS).tolist()
        return [interest(drawn[: case.value]), interest(drawn[-case.value :])]
    ports = case.value if case.what == "ports" else 4
    return [interest(rng.choice(_CHARTS.every, 40, replace=False).tolist()) for _ in range(ports)]
