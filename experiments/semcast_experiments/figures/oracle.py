"""How near masked channels come to the least that any scheme could send, on messages no plan has seen.

For each overlay, workload and seed: mean link transmissions of 300 held-out messages with 1, 16 and 64 masked
channels, beside the papers' schemes, unicast, shortest paths filtered at every hop, one Steiner tree for all gateways
(whole, and filtered), the per-message oracle and its certified bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from semcast.networks import topohub
from semcast.planning import masked
from semcast.planning.masks import interested, mask_bytes
from semcast.trees import evaluate
from semcast.trees.choice import Choice
from semcast.trees.demand import Demand
from semcast.trees.generators import generate
from semcast.trees.graph import Graph
from semcast.trees.oracle import Oracle
from semcast.trees.roles import SOURCE, with_roles
from semcast.trees.steiner import local_search
from semcast.trees.topology import Topology
from semcast.trees.tree import Tree
from semcast_experiments.figures.papers import PaperCost, paper_costs
from semcast_experiments.workloads.demands import INTERESTS, Setting, draw

CHANNELS = (1, 16, 64)
PAPERS = ("semcast", "semcast_merge", "semcast_noisemerge", "semcast_threshold", "semcast_o")
GATEWAYS = 120  # of a real network, drawn at random
WAXMAN = ("waxman-4", "waxman-10")
REAL = ("caida/2024-08/7018", "caida/2024-08/3356", "backbone/europe")
"""Networks of TopoHub: two carriers' routers as CAIDA saw them (594 and 404), Europe's backbone lines (852)."""


class Case(NamedTuple):
    """One overlay with one workload."""

    network: str
    """``waxman-`` and a mean degree, or a name of TopoHub's."""
    interest: str
    seed: int
    brokers: int = 600
    """Of a network that is drawn."""
    clients: int = 7_000
    sample: int = 10_000
    held_out: int = 300


class Row(NamedTuple):
    """Mean transmissions per held-out message, and what it took to plan them."""

    network: str
    interest: str
    seed: int
    gateways: float
    """That want a message, on average."""
    unicast: float
    spt: float
    one_tree: float
    """A Steiner tree for all gateways, every message over all of it."""
    one_tree_filtered: float
    masked_1: float
    masked_16: float
    masked_64: float
    semcast: float
    """The papers' schemes, with their legs."""
    semcast_merge: float
    semcast_noisemerge: float
    semcast_threshold: float
    semcast_o: float
    semcast_channels: int
    semcast_merge_channels: int
    semcast_noisemerge_channels: int
    semcast_threshold_channels: int
    semcast_o_channels: int
    oracle: float
    bound: float
    """What no tree can do without, certified."""
    channels_16: int
    channels_64: int
    mask_bytes: float
    plan_seconds_1: float
    plan_seconds_16: float
    plan_seconds_64: float
    seconds: float
    """CPU time of the whole row."""


class Gap(NamedTuple):
    """How far above the oracle, and above the bound, in per cent."""

    oracle: float
    bound: float


def measure(case: Case) -> list[Row]:
    """Draw, plan on the sample, and count on the held-out messages; all but the seconds depends on the case only."""
    started = time.process_time()
    setting = Setting(case.brokers, case.clients, case.sample, case.held_out)
    topology, rng = overlay(case.network, setting.brokers, case.seed)
    (source,) = (node for node, broker in enumerate(topology.brokers) if SOURCE in broker.roles)
    drawn = draw(INTERESTS[case.interest], topology, case.seed, setting)
    held_out = drawn.held_out
    one, some, many = (_planned(topology.graph, source, drawn.sample, held_out, n, case.seed) for n in CHANNELS)
    oracle = Oracle(topology.graph, source).costs(held_out, held_out.messages, rng)
    steiner = _steiner(topology, source)
    papers = paper_costs(topology, source, drawn, case.seed)
    sizes = interested(held_out)
    row = Row(
        network=case.network,
        interest=case.interest,
        seed=case.seed,
        gateways=float(sizes.mean()),
        unicast=evaluate.unicast(topology.graph, held_out, source).mean,
        spt=evaluate.pruned(topology.graph, _shortest(topology.graph, source), held_out).mean,
        one_tree=float(len(steiner)),
        one_tree_filtered=evaluate.pruned(topology.graph, steiner, held_out).mean,
        masked_1=one.transmissions,
        masked_16=some.transmissions,
        masked_64=many.transmissions,
        **_named(papers),
        oracle=float(oracle.found.mean()),
        bound=float(oracle.bound.mean()),
        channels_16=some.channels,
        channels_64=many.channels,
        mask_bytes=float(mask_bytes(len(topology.gateways), sizes).mean()),
        plan_seconds_1=one.seconds,
        plan_seconds_16=some.seconds,
        plan_seconds_64=many.seconds,
        seconds=time.process_time() - started,
    )
    return [row]


def overlay(network: str, brokers: int, seed: int) -> tuple[Topology, np.random.Generator]:
    """A drawn network with that many brokers, or a real one; one source, gateways at random."""
    if network.startswith("waxman-"):
        degree = int(network.removeprefix("waxman-"))
        rng = np.random.default_rng([seed, degree])
        return generate("waxman", brokers, rng, degree=float(degree), sources=1), rng
    rng = np.random.default_rng([seed, 0])
    found, _ = topohub(network)
    return with_roles(found, rng, gateways=GATEWAYS / len(found.brokers), sources=1), rng


def gaps(rows: Iterable[Row], channels: int) -> dict[tuple[str, str], Gap]:
    """Per network and workload, over all seeds together: what masked channels cost above the oracle and the bound."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        total = sums.setdefault((row.network, row.interest), [0.0, 0.0, 0.0])
        for place, value in enumerate((getattr(row, f"masked_{channels}"), row.oracle, row.bound)):
            total[place] += value
    return {
        key: Gap(100 * (ours / oracle - 1), 100 * (ours / bound - 1)) for key, (ours, oracle, bound) in sums.items()
    }


def beaten_by(row: Row) -> list[str]:
    """The schemes that cost less than masked channels which are at most as many; none is what is wanted."""
    ours = ((1, row.masked_1), (row.channels_16, row.masked_16), (row.channels_64, row.masked_64))
    rivals = {"spt": (1, row.spt), "one_tree": (1, row.one_tree), "one_tree_filtered": (1, row.one_tree_filtered)}
    rivals |= {name: (int(getattr(row, f"{name}_channels")), float(getattr(row, name))) for name in PAPERS}
    return [
        name
        for name, (channels, cost) in rivals.items()
        if min(mine for count, mine in ours if count <= channels) > cost
    ]


def _named(papers: Mapping[str, PaperCost]) -> dict[str, Any]:
    found = {scheme: papers[scheme.replace("_", "-")] for scheme in PAPERS}
    costs = {scheme: cost.with_leg for scheme, cost in found.items()}
    return costs | {f"{scheme}_channels": cost.channels for scheme, cost in found.items()}


class _Planned(NamedTuple):
    transmissions: float
    channels: int
    seconds: float


def _planned(graph: Graph, source: int, sample: Demand, held_out: Demand, channels: int, seed: int) -> _Planned:
    started = time.process_time()
    plan = masked.plan(graph, {source: sample}, channels, np.random.default_rng(seed))
    seconds = time.process_time() - started
    chosen = Choice.of(graph, plan.trees, plan.gateways, source).choose(held_out)
    routed = evaluate.Routed(plan.trees, chosen.carried(len(plan.trees), held_out), masked=True)
    return _Planned(evaluate.transmissions(graph, routed, held_out, source).mean_with_leg, len(plan.trees), seconds)


def _shortest(graph: Graph, source: int) -> Tree:
    parent = graph.paths(source).parent.tolist()
    return Tree.of(source, {node: above for node, above in enumerate(parent) if above >= 0})


def _steiner(topology: Topology, source: int) -> Tree:
    found = local_search(topology.graph, source, topology.gateways)
    return Tree.joining(topology.graph, source, found.links.tolist())
