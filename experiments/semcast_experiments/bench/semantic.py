"""The benchmark of semantic routers: a packet against 10,000 interests, beside testing each of them.

A router has ports with a filter each, the union of the interests behind it. Four ways to find the ports of a packet:
test each interest by itself (*each*), test each port's filter (*filters*), map the packet onto the filters' common tree
(*tagged*), or find every single interest in the tree of all (*shared*, what a border router does for its users).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from semcast.demo.charts import Charts
from semcast.matching.semantic import Prefilter, SharedEngine, descriptor, evaluate
from semcast.profiles.semantic import InterestProfile, Node, aggregate, size
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Mismatch, Say
from semcast_experiments.bench.report import machine, versions

_METHOD = (
    "CPU time of one thread; contenders take turns within a round and the best round counts. Chart corrections; every "
    "way must name the same ports for every packet that it is given."
)
_TARGET = 50


class Scale(NamedTuple):
    """How much is measured."""

    interests: tuple[int, ...]
    packets: int
    each: int
    """Packets for which every interest is tested."""
    rounds: int


_FULL = Scale((1_000, 10_000), 400, 12, 5)
_QUICK = Scale((500, 2_000), 100, 5, 2)
_PORTS = 10
CHARTS = Charts(levels=(0.0, 0.002, 0.998), wants=2.0, charts=1000)
"""Nearly all interests are in single charts, so that ports do not come to want everything."""


def run_semantic(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data; Mismatch where two ways name other ports."""
    begin = time.perf_counter()
    scale = _QUICK if options.quick else _FULL
    counts = tuple(sorted(set(options.profiles))) or scale.interests
    races = [_race(count, scale, options.seed, say) for count in counts]
    last = races[-1]
    measured = last["ratios"]["each / tagged"]
    met = None if options.quick or last["interests"] != 10_000 else measured >= _TARGET
    name = f"testing each of {last['interests']:,} interests over one packet at the router"
    return {
        "benchmark": "semantic",
        "quick": options.quick,
        "seed": options.seed,
        "method": _METHOD,
        "machine": machine(),
        "versions": versions(),
        "races": races,
        "note": [_line(race) for race in races],
        "targets": [{"target": name, "at_least": _TARGET, "at_most": None, "measured": measured, "met": met}],
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _race(count: int, scale: Scale, seed: int, say: Say) -> dict[str, Any]:
    say(f"{count:,} interests behind {_PORTS} ports")
    rng = np.random.default_rng([seed, count])
    interests = CHARTS.interests(count, rng)
    packets = list(CHARTS.packets(scale.packets, rng))
    router = _Router(interests)
    roots = [_read(packet) for packet in packets]
    _compare(router, roots[: scale.each])
    best: dict[str, float] = {}

    def clock(name: str, run: Callable[[Node], object], given: Sequence[Node]) -> None:
        start = time.process_time()
        for root in given:
            run(root)
        best[name] = min(best.get(name, np.inf), (time.process_time() - start) / len(given) * 1e6)

    for number in range(1, scale.rounds + 1):
        say(f"{count:,} interests, round {number} of {scale.rounds}")
        start = time.process_time()
        for packet in packets:
            _read(packet)
        best["reading"] = min(best.get("reading", np.inf), (time.process_time() - start) / len(packets) * 1e6)
        clock("tagged", router.tagged, roots)
        clock("shared", router.shared, roots)
        clock("filters", router.filters, roots)
        clock("each", router.each, roots[: scale.each])
    read = best["reading"]
    return {
        "interests": count,
        "ports": _PORTS,
        "nodes": {"of the interests": router.before, "of the ports' filters": router.after},
        "build_seconds": {key: round(value, 3) for key, value in router.built.items()},
        "matches_per_packet": float(np.mean([len(router.shared(root)) for root in roots])),
        "us_per_packet": {name: round(us, 2) for name, us in best.items()},
        "ratios": {f"each / {way}": round((best["each"] + read) / (best[way] + read), 1) for way in _OURS},
        "ratios_without_reading": {f"each / {way}": round(best["each"] / best[way], 1) for way in _OURS},
    }


_OURS = ("tagged", "shared", "filters")


class _Router:
    """Interests spread over ports, and all ways to find a packet's ports."""

    def __init__(self, interests: Sequence[InterestProfile]) -> None:
        self.built: dict[str, float] = {}
        self._interests = interests
        start = time.process_time()
        groups = [[each.expression for each in interests[port::_PORTS]] for port in range(_PORTS)]
        self._filters = {port: aggregate(group) for port, group in enumerate(groups)}
        self.built["aggregating"] = time.process_time() - start
        start = time.process_time()
        self._tagged = Prefilter(self._filters)
        self.built["tagged tree"] = time.process_time() - start
        start = time.process_time()
        self._engine = SharedEngine(interests)
        self.built["tree of all interests"] = time.process_time() - start
        self.before = sum(size(each.expression) for each in interests)
        self.after = sum(map(size, self._filters.values()))

    def each(self, root: Node) -> list[int]:
        return sorted({at % _PORTS for at, each in enumerate(self._interests) if evaluate(each.expression, root)})

    def filters(self, root: Node) -> list[int]:
        return [port for port, asked in self._filters.items() if evaluate(asked, root)]

    def tagged(self, root: Node) -> list[int]:
        return self._tagged.candidates(root)

    def shared(self, root: Node) -> list[int]:
        return self._engine.found(root)


def _compare(router: _Router, roots: Sequence[Node]) -> None:
    for number, root in enumerate(roots):
        expected = router.each(root)
        ways = {
            "tagged": router.tagged(root),
            "filters": router.filters(root),
            "shared": sorted({at % _PORTS for at in router.shared(root)}),
        }
        for way, found in ways.items():
            if found != expected:
                raise Mismatch(f"packet {number} goes to ports {expected}, and by {way} to {found}")


def _read(packet: bytes) -> Node:
    root = descriptor(packet)
    assert isinstance(root, Node), root
    return root


def _line(race: dict[str, Any]) -> str:
    us = race["us_per_packet"]
    ways = ", ".join(f"{way} {us[way]:,.1f}" for way in (*_OURS, "each"))
    return (
        f"{race['interests']:,} interests behind {race['ports']} ports: µs per packet {ways}; "
        f"reading it {us['reading']:,.1f}. "
        f"With reading, each / tagged = {race['ratios']['each / tagged']:,.0f}, each / shared = "
        f"{race['ratios']['each / shared']:,.0f}."
    )
