"""The benchmark of trees: how near the optimum, how fast, and what ten thousand brokers take."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from semcast.model.bits import bits
from semcast.trees import evaluate
from semcast.trees.demand import Demand
from semcast.trees.evaluate import Routed
from semcast.trees.generators import generate
from semcast.trees.graph import Graph
from semcast.trees.joins import Routes, low_cost_tree
from semcast.trees.steiner import QUICK, local_search, shortest_path_tree, takahashi_matsuyama
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say
from semcast_experiments.figures.steiner import cells, tries

T = TypeVar("T")
_DEGREES = (4, 6, 8, 10)
_TERMINALS = (20, 40, 70, 100, 120)


def run_trees(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data."""
    begin = time.perf_counter()
    found = _gaps(options, say)
    brokers, clients = (1_000, 10_000) if options.quick else (10_000, 100_000)
    say(f"{brokers:,} brokers and {clients:,} clients")
    scale = _scale(brokers, clients, 10_000, options.seed)
    say("600 brokers and 10,000 messages")
    counted = _scale(600, 7_000, 10_000, options.seed)
    local = [cell for cell in found if cell["algorithm"] == "local search"]
    targets = [
        _target("local search above the bound at 40 terminals, %, worst mean", 6, _worst(local, 40, 40), options),
        _target("local search above the bound at 70 and more, %, worst mean", 4, _worst(local, 70, 1000), options),
        _target("ms per tree, mean of the slowest cell", 100, max(c["mean_ms"] for c in local), options),
    ]
    return {
        "benchmark": "trees",
        "quick": options.quick,
        "seed": options.seed,
        "cells": found,
        "scale": scale,
        "counting": counted,
        "targets": targets,
        "note": [*_cell_lines(local), *_scale_lines(counted), *_scale_lines(scale)],
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _gaps(options: Options, say: Say) -> list[dict[str, Any]]:
    degrees = _DEGREES[:1] if options.quick else _DEGREES
    brokers, networks, trees = (200, 1, 2) if options.quick else (600, 3, 5)
    graphs: list[tuple[str, Graph]] = []
    for kind in ("random", "waxman"):
        for degree in degrees:
            for number in range(networks):
                rng = np.random.default_rng([options.seed, degree, number])
                graphs.append((f"{kind}, degree {degree}", generate(kind, brokers, rng, degree=degree).graph))
    say(f"{len(graphs)} networks of {brokers} brokers")
    terminals = [count for count in _TERMINALS if not options.quick or count <= 40]
    return [cell._asdict() for cell in cells(tries(graphs, terminals, trees, options.seed))]


class _Clock:
    """CPU seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, what: str, work: Callable[[], T]) -> T:
        begin = time.process_time()
        found = work()
        self.seconds[what] = round(time.process_time() - begin, 3)
        return found


def _scale(brokers: int, clients: int, messages: int, seed: int) -> dict[str, Any]:
    """Everything that trees are for, once; each message is wanted by one client in a hundred."""
    clock, rng = _Clock(), np.random.default_rng(seed)
    network = clock("a Waxman network", lambda: generate("waxman", brokers, rng, degree=4))
    graph, gateways = network.graph, list(network.gateways)
    place = rng.integers(0, len(gateways), clients)
    routes = Routes(graph)
    root = 0

    def demand() -> Demand:
        rows = np.repeat(np.arange(messages), clients // 100)
        return Demand.of(gateways, messages, rows, place[rng.integers(0, clients, len(rows))])

    asked = clock(f"who wants {messages:,} messages", demand)
    order = rng.permutation(gateways).tolist()
    low = clock("a low-cost tree of all gateways", lambda: low_cost_tree(routes, root, order, "broker").tree())
    clock("a Takahashi–Matsuyama tree", lambda: takahashi_matsuyama(graph, root, gateways))
    clock("a local search, quick", lambda: local_search(graph, root, gateways, QUICK))
    spt = clock("a shortest-path tree", lambda: shortest_path_tree(graph, root, gateways).tree)
    trees = [low] * 64
    channel = rng.integers(0, len(trees), messages)
    carried = bits(len(trees), messages, channel, np.arange(messages))
    for masked, name in ((False, "whole trees"), (True, "masked trees")):
        routed = Routed(trees, carried, masked)
        clock(f"counting 64 {name}", lambda r=routed: evaluate.transmissions(graph, r, asked, root))  # type: ignore[misc]
    clock("stretch", lambda: evaluate.delivery(graph, Routed(trees, carried, True), asked, root))
    clock("counting the filtered shortest-path tree", lambda: evaluate.pruned(graph, spt, asked))
    clock("counting unicast", lambda: evaluate.unicast(graph, asked, root))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return {"brokers": brokers, "clients": clients, "messages": messages, "cpu_s": clock.seconds, "peak_mb": peak}


def _worst(local: list[dict[str, Any]], least: int, most: int) -> float:
    return max((100 * c["mean_gap"] for c in local if least <= c["terminals"] <= most), default=0.0)


def _target(name: str, at_most: float, measured: float, options: Options) -> dict[str, Any]:
    met = None if options.quick else measured <= at_most
    return {"target": name, "at_least": None, "at_most": at_most, "measured": round(measured, 2), "met": met}


def _cell_lines(local: list[dict[str, Any]]) -> list[str]:
    return [
        f"{cell['graph']}, {cell['terminals']} terminals: {cell['mean_gap']:.2%} above the bound (worst tree "
        f"{cell['worst_gap']:.1%}), {cell['mean_ms']:.0f} ms"
        for cell in local
    ]


def _scale_lines(scale: dict[str, Any]) -> list[str]:
    parts = ", ".join(f"{what} {seconds:.2f}" for what, seconds in scale["cpu_s"].items())
    size = f"{scale['brokers']:,} brokers, {scale['clients']:,} clients, {scale['messages']:,} messages"
    return [f"{size}; CPU seconds: {parts}; peak memory {scale['peak_mb']:,} MB"]
