"""Plans for the coordinator: as little as possible changes when subscriptions or brokers come and go.

Channels whose trees stay as they are keep their id; what is decided anew from statistics is a reorganisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from semcast.channels.overlap import Overlap
from semcast.channels.selectivity import Selectivity
from semcast.matching.matches import Matches
from semcast.model.message import ProfileText
from semcast.planning import masked
from semcast.planning.bounds import Bounds, bounded
from semcast.planning.build import Request, make_plan
from semcast.planning.changes import LivePlan, aligned
from semcast.planning.demands import demand_of
from semcast.planning.plan import Plan, PlannedChannel
from semcast.planning.schemes import Scheme, scheme_of
from semcast.planning.subscriptions import Subscriptions
from semcast.protocol.profile_texts import covers
from semcast.trees.steiner import takahashi_matsuyama
from semcast.trees.topology import Broker, Link, Topology

Rows = Mapping[str, Sequence[Sequence[str]]]
"""Per source, which profiles matched each message that was sampled there."""


@dataclass(frozen=True)
class Statistics:
    """What a plan is decided by."""

    rows: Rows
    weights: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Of a source: what each of its messages counts; 1 where it is not there."""
    matrix: Overlap | None = None
    """The overlap matrix, with all containment, where somebody has computed it already."""


@dataclass(frozen=True)
class Wishes:
    """What a plan has to serve, and with what."""

    topology: Topology
    """Brokers and links that can be used."""
    gateways: tuple[str, ...]
    """In bit order, away or not."""
    sources: tuple[str, ...]
    profiles: Mapping[str, ProfileText]
    subscriptions: Mapping[str, tuple[str, ...]]
    """Profile id → gateways that are there."""
    bounds: Bounds = field(default_factory=dict)
    """Of gateways that are there."""

    @property
    def present(self) -> tuple[str, ...]:
        known = self.topology.numbers
        return tuple(gateway for gateway in self.gateways if gateway in known)


class Planner:
    """Makes plans of one scheme."""

    def __init__(self, scheme: str, channels: int, rng: np.random.Generator) -> None:
        self._scheme = scheme_of(scheme)
        self._channels = channels
        self._rng = rng

    @property
    def scheme(self) -> Scheme:
        return self._scheme

    @property
    def channels(self) -> int:
        return self._channels

    @property
    def rng(self) -> np.random.Generator:
        return self._rng

    def plan(
        self,
        wishes: Wishes,
        old: Plan | None,
        same_network: bool,
        statistics: Statistics | None,
        term: int,
        epoch: int,
    ) -> tuple[Plan, dict[str, float]]:
        """The next plan, and who will wait longer than he asked for; decided anew where ``statistics`` are given."""
        made, late = bounded(
            self._made(wishes, old, same_network, statistics), wishes.topology, wishes.sources, wishes.bounds
        )
        return msgspec.structs.replace(made, term=term, epoch=epoch, gateways=wishes.gateways), late

    def selectivity(self, wishes: Wishes, statistics: Statistics) -> Selectivity | None:
        """What the next plan's overlap matrix is computed from; None where it needs no such matrix."""
        if not self._scheme.by_overlap or not (wishes.sources and wishes.present and wishes.subscriptions):
            return None
        return self._selectivity(self._subscriptions(wishes), statistics)

    def _made(self, wishes: Wishes, old: Plan | None, same_network: bool, statistics: Statistics | None) -> Plan:
        if not wishes.sources or not wishes.present:
            return self._empty(wishes)
        if self._scheme.masked:
            return self._masked(wishes, old if same_network else None, statistics)
        if self._scheme.per_source:
            return self._per_source(wishes, old)
        if old is not None and same_network and statistics is None:
            return self._changed(wishes, old)
        return self._papers(wishes, old, statistics or Statistics({}))

    def _empty(self, wishes: Wishes) -> Plan:
        subscriptions = dict(wishes.subscriptions)
        return Plan(1, 1, self._scheme.name, wishes.gateways, subscriptions, (), dict.fromkeys(subscriptions, ()))

    # --- masked

    def _masked(self, wishes: Wishes, old: Plan | None, statistics: Statistics | None) -> Plan:
        channels = old.channels if old is not None and old.channels else ()
        if not channels or (statistics is not None and statistics.rows):
            channels = self._trees(wishes, statistics or Statistics({}))
            if old is not None:
                channels = _renamed(channels, old.channels)
        names = tuple(channel.id for channel in channels)
        return Plan(
            1, 1, self._scheme.name, wishes.gateways, dict(wishes.subscriptions), channels,
            dict.fromkeys(wishes.subscriptions, names),
        )  # fmt: skip

    def _trees(self, wishes: Wishes, statistics: Statistics) -> tuple[PlannedChannel, ...]:
        """Trees over all gateways and sources: chosen by what was sampled, else the one that is cheapest to span."""
        topology = wishes.topology
        root = topology.node(wishes.sources[0])
        ends = [topology.node(name) for name in (*wishes.sources, *wishes.present)]
        trees = [takahashi_matsuyama(topology.graph, root, ends).tree]
        subscriptions = self._subscriptions(wishes)
        used = {source: rows for source, rows in statistics.rows.items() if source in wishes.sources and any(rows)}
        demands = {
            topology.node(source): demand_of(matches_of(subscriptions.numbers, rows), subscriptions, topology)
            for source, rows in used.items()
        }
        weighed = {topology.node(source): _weights(statistics, source) for source in used}
        weights = weighed if statistics.weights else None
        if demands:
            found = masked.plan(topology.graph, demands, self._channels, self._rng, weights=weights).trees
            spanning = [tree for tree in found if set(ends) <= tree.nodes]
            trees = [tree.rooted_at(root) for tree in spanning] or trees
        return tuple(
            PlannedChannel(
                f"c{number}", None, None, (), wishes.present, wishes.sources[0],
                tuple((topology.brokers[a].id, topology.brokers[b].id) for a, b in tree.links.tolist()), 0.0,
            )
            for number, tree in enumerate(trees)
        )  # fmt: skip

    # --- trees of one source each

    def _per_source(self, wishes: Wishes, old: Plan | None) -> Plan:
        channels: list[PlannedChannel] = []
        assignment: dict[str, tuple[str, ...]] = dict.fromkeys(wishes.subscriptions, ())
        if not wishes.subscriptions:
            return self._empty(wishes)
        known = {_signature(channel): channel.id for channel in (old.channels if old else ())}
        taken = {channel.id for channel in (old.channels if old else ())}
        for source in wishes.sources:
            for channel in make_plan(self._scheme.name, self._request(wishes, source, Statistics({}))).channels:
                name = known.get(_signature(channel)) or _fresh(taken)
                taken.add(name)
                channels.append(msgspec.structs.replace(channel, id=name))
                for profile in channel.profiles:
                    assignment[profile] += (name,)
        return Plan(1, 1, self._scheme.name, wishes.gateways, dict(wishes.subscriptions), tuple(channels), assignment)

    # --- the papers' schemes

    def _changed(self, wishes: Wishes, old: Plan) -> Plan:
        """Subscriptions come and go one by one (2005 §3.2.4)."""
        there = msgspec.structs.replace(old, gateways=wishes.present)
        live = LivePlan(there, wishes.topology, lambda a, b: covers(wishes.profiles[a], wishes.profiles[b]), self._rng)
        for profile, gateways in old.subscriptions.items():
            if wishes.subscriptions.get(profile) != gateways:
                live.unsubscribe(profile)
        for profile, gateways in wishes.subscriptions.items():
            if old.subscriptions.get(profile) != gateways:
                live.subscribe(profile, gateways)
        return live.plan()

    def _papers(self, wishes: Wishes, old: Plan | None, statistics: Statistics) -> Plan:
        if not wishes.subscriptions:
            return self._empty(wishes)
        new = make_plan(self._scheme.name, self._request(wishes, wishes.sources[0], statistics))
        return aligned(old, new) if old is not None else new

    # --- what planning wants to know

    def _request(self, wishes: Wishes, source: str, statistics: Statistics) -> Request:
        subscriptions = self._subscriptions(wishes)
        selectivity = self._selectivity(subscriptions, statistics)
        seed = int(self._rng.integers(1 << 31))
        return Request(wishes.topology, source, subscriptions, selectivity, seed=seed, matrix=statistics.matrix)

    def _subscriptions(self, wishes: Wishes) -> Subscriptions:
        return Subscriptions.of(wishes.present, wishes.subscriptions, {name: name for name in wishes.subscriptions})

    def _selectivity(self, subscriptions: Subscriptions, statistics: Statistics) -> Selectivity:
        sources = sorted(statistics.rows)
        matches = matches_of(subscriptions.numbers, [row for source in sources for row in statistics.rows[source]])
        weights = [np.empty(0), *(_weights(statistics, source) for source in sources)]
        return Selectivity(matches, len(subscriptions.distinct), np.concatenate(weights))


def matches_of(numbers: Mapping[str, int], rows: Sequence[Sequence[str]]) -> Matches:
    """Sampled messages over numbered profiles; names without a number are left out."""
    return Matches.of_rows([sorted({numbers[name] for name in row if name in numbers}) for row in rows])


def _weights(statistics: Statistics, source: str) -> NDArray[np.float64]:
    given = statistics.weights.get(source)
    return np.ones(len(statistics.rows[source])) if given is None else np.array(given, np.float64)


def reduced(topology: Topology, dead: set[str], down: set[tuple[str, str]]) -> Topology | None:
    """The largest part of an overlay that hangs together without some brokers and links; None if nothing is left."""
    near: dict[str, list[str]] = {broker.id: [] for broker in topology.brokers if broker.id not in dead}
    links = [link for link in topology.links if _usable(link, dead, down)]
    for link in links:
        near[link.a].append(link.b)
        near[link.b].append(link.a)
    best: set[str] = set()
    seen: set[str] = set()
    for broker in near:
        if broker not in seen:
            part = _part(broker, near)
            seen |= part
            if len(part) > len(best):
                best = part
    if not best:
        return None
    if len(best) == len(topology.brokers) and len(links) == len(topology.links):
        return topology
    brokers: list[Broker] = [broker for broker in topology.brokers if broker.id in best]
    return Topology.of(brokers, [link for link in links if link.a in best])


def _usable(link: Link, dead: set[str], down: set[tuple[str, str]]) -> bool:
    return not ({link.a, link.b} & dead or (link.a, link.b) in down or (link.b, link.a) in down)


def _part(start: str, near: Mapping[str, list[str]]) -> set[str]:
    part, todo = {start}, [start]
    while todo:
        for other in near[todo.pop()]:
            if other not in part:
                part.add(other)
                todo.append(other)
    return part


def _signature(channel: PlannedChannel) -> tuple[object, ...]:
    return channel.rendezvous, channel.tree, channel.gateways


def _renamed(new: Sequence[PlannedChannel], old: Sequence[PlannedChannel]) -> tuple[PlannedChannel, ...]:
    """New channels with the ids of old ones that have the same tree, others with fresh ones."""
    known = {_signature(channel): channel.id for channel in old}
    taken = {channel.id for channel in old}
    found: list[PlannedChannel] = []
    for channel in new:
        name = known.pop(_signature(channel), None) or _fresh(taken)
        taken.add(name)
        found.append(msgspec.structs.replace(channel, id=name))
    return tuple(found)


def _fresh(taken: set[str]) -> str:
    number = len(taken)
    while f"c{number}" in taken:
        number += 1
    return f"c{number}"
