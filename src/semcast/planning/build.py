"""Making plans: from subscriptions and statistics to channels and trees, as a scheme has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from semcast.channels.channelize import Settings
from semcast.channels.expressions import any_of, text
from semcast.channels.hierarchy import Covers
from semcast.channels.merging import Channel
from semcast.channels.overlap import Overlap
from semcast.channels.selectivity import Selectivity
from semcast.channels.spans import Gateways, places_of
from semcast.model.bits import unpacked
from semcast.planning.demands import demand_of
from semcast.planning.masked import MaskedChannels
from semcast.planning.origins import Origins
from semcast.planning.plan import Plan, PlannedChannel
from semcast.planning.router import Router
from semcast.planning.schemes import scheme_of
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.demand import Demand
from semcast.trees.joins import Closest
from semcast.trees.topology import Topology
from semcast.trees.tree import Tree

MAX_CHANNELS = 64


@dataclass(frozen=True)
class Request:
    """What a plan is made from."""

    topology: Topology
    source: str
    """Where messages enter the overlay, or the first of several places."""
    subscriptions: Subscriptions
    selectivity: Selectivity
    """Over the distinct profiles."""
    seed: int = 0
    closest: Closest = "destination"
    settings: Settings | None = None
    matrix: Overlap | None = None
    """The overlap matrix, with all containment, where it is known already."""
    covers: Covers | None = None
    channels: int = MAX_CHANNELS
    """At most so many, under ``masked``; the papers' schemes have as many as they find."""
    term: int = 1
    epoch: int = 1
    origins: Origins | None = None
    """Which source each sampled message comes from, where there are several; ``source`` is then the first."""

    @property
    def entered(self) -> Origins:
        return self.origins or Origins.spread([self.source], self.selectivity.messages)


def make_plan(scheme: str, request: Request, say: Callable[[str], None] = lambda _: None) -> Plan:
    """A plan of one scheme; its cost is not counted yet. ``say`` hears what is being done."""
    return scheme_of(scheme).plan(Builder(request, say))


def masked_plan(request: Request, found: MaskedChannels, ids: Sequence[str]) -> Plan:
    """A plan of masked channels that are known already."""
    return Builder(request, lambda _: None).of_trees(found, ids)


class Builder:
    """What the schemes share when they plan: a request in numbers, and channels as a plan names them."""

    def __init__(self, request: Request, say: Callable[[str], None]) -> None:
        self.request = request
        self.say = say
        self.topology = request.topology
        self.subscriptions = request.subscriptions
        self.nodes = [request.topology.node(gateway) for gateway in request.subscriptions.gateways]
        self.origins = request.entered
        self.sources = [request.topology.node(source) for source in self.origins.sources]
        self.source = self.sources[0]
        self.rng = np.random.default_rng(request.seed)

    def of_trees(self, found: MaskedChannels, ids: Sequence[str]) -> Plan:
        """A masked plan of trees that were found, called ``ids``."""
        everyone = range(len(self.subscriptions.distinct))
        gateways = (1 << len(self.nodes)) - 1
        trees = [tree.rooted_at(self.source) for tree in found.trees]
        channels = [self.planned(number, None, everyone, gateways, tree) for number, tree in enumerate(trees)]
        channels = [msgspec.structs.replace(channel, id=name) for channel, name in zip(channels, ids, strict=True)]
        expected = {"plan": found.cost, "validated": found.validated, "one_tree": found.single}
        expected |= {"cuts": float(found.cuts), "stopped": float(found.stopped == "budget")}
        return self.plan("masked", self.rated("masked", channels), expected)

    def planned(
        self, number: int, expression: str | None, profiles: Sequence[int], gateways: Gateways, tree: Tree
    ) -> PlannedChannel:
        names = self.topology.ids
        links = Tree.of(tree.root, tree.parent).links.tolist()  # one order, however the tree was found
        return PlannedChannel(
            id=f"c{number}",
            stream=None,
            expression=expression,
            profiles=tuple(profile for number in profiles for profile in self.subscriptions.members[number]),
            gateways=tuple(self.subscriptions.gateways[bit] for bit in places_of(gateways)),
            rendezvous=names([tree.root])[0],
            tree=tuple((names([parent])[0], names([child])[0]) for parent, child in links),
            rate=0.0,
        )

    def plan(self, scheme: str, channels: Sequence[PlannedChannel], estimate: dict[str, float]) -> Plan:
        assignment: dict[str, list[str]] = {profile: [] for profile in self.subscriptions.wanted_at}
        for channel in channels:
            for profile in channel.profiles:
                assignment[profile].append(channel.id)
        return Plan(
            term=self.request.term,
            epoch=self.request.epoch,
            scheme=scheme,
            gateways=self.subscriptions.gateways,
            subscriptions=dict(self.subscriptions.wanted_at),
            channels=tuple(channels),
            assignment={profile: tuple(names) for profile, names in assignment.items()},
            estimate=estimate,
            same_as=dict(self.subscriptions.same_as),
            sources=self.origins.sources,
        )

    def rated(self, scheme: str, channels: Sequence[PlannedChannel]) -> list[PlannedChannel]:
        """With the share of the sample that each carries, by weight."""
        plan = self.plan(scheme, channels, {})
        weights, total = self.request.selectivity.weights, self.request.selectivity.total or 1.0
        rates = np.zeros(len(channels))
        for source, rows, matches in self.origins.sent(self.request.selectivity.matches):
            carried = Router(plan, self.subscriptions.distinct, source).carried(matches)
            rates += [weights[rows][unpacked(row, len(rows))].sum() / total for row in carried]
        return [_with_rate(channel, rate) for channel, rate in zip(channels, rates.tolist(), strict=True)]

    def sampled(self) -> tuple[dict[int, Demand], dict[int, NDArray[np.float64]]]:
        """Per source, by its node, what was sampled there and what each message of it counts."""
        return sampled(self.request)

    def wanted_bits(self) -> list[int]:
        held = 0
        for gateways in self.subscriptions.gateway_sets:
            held |= gateways
        return list(places_of(held))

    def expression(self, profiles: Sequence[int]) -> str:
        return text(any_of(profiles), self.subscriptions.distinct.__getitem__)

    def text(self, channel: Channel) -> str:
        return text(channel.expression, self.subscriptions.distinct.__getitem__)


def sampled(request: Request) -> tuple[dict[int, Demand], dict[int, NDArray[np.float64]]]:
    """Per source, by its node, what was sampled there and what each message of it counts."""
    samples: dict[int, Demand] = {}
    weights: dict[int, NDArray[np.float64]] = {}
    for source, rows, matches in request.entered.sent(request.selectivity.matches):
        node = request.topology.node(source)
        samples[node] = demand_of(matches, request.subscriptions, request.topology)
        weights[node] = request.selectivity.weights[rows]
    return samples, weights


def _with_rate(channel: PlannedChannel, rate: float) -> PlannedChannel:
    return msgspec.structs.replace(channel, rate=rate)
