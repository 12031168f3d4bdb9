"""Making plans: one function per scheme, from subscriptions and statistics to channels and trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from semcast.channels import SCHEMES as PAPER_SCHEMES
from semcast.channels import Channel, Overlap, Selectivity, Settings, channelize
from semcast.channels.expressions import any_of, text
from semcast.channels.hierarchy import Covers
from semcast.channels.spans import Gateways, places_of
from semcast.model import SemcastError
from semcast.model.bits import unpacked
from semcast.planning import masked
from semcast.planning.demands import demand_of
from semcast.planning.masked import MaskedChannels
from semcast.planning.origins import Origins
from semcast.planning.plan import PER_HOP, Plan, PlannedChannel
from semcast.planning.router import Router
from semcast.planning.subscriptions import Subscriptions
from semcast.trees import Demand, Routes, Topology, Tree, low_cost_tree
from semcast.trees.estimate import JoinEstimate
from semcast.trees.joins import Closest
from semcast.trees.steiner import shortest_path_tree, takahashi_matsuyama

SCHEMES = ("masked", "unicast", "spt", "semnet", *PAPER_SCHEMES)
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
    if scheme not in SCHEMES:
        raise SemcastError(f"there is no scheme {scheme!r}; there are {', '.join(SCHEMES)}")
    builder = _Builder(request, say)
    if scheme == "masked":
        return builder.masked()
    if scheme == "unicast":
        return builder.unicast()
    if scheme in PER_HOP:
        return builder.per_hop(scheme)
    return builder.papers(scheme)


def masked_plan(request: Request, found: MaskedChannels, ids: Sequence[str]) -> Plan:
    """A plan of masked channels that are known already."""
    return _Builder(request, lambda _: None).of_trees(found, ids)


class _Builder:
    def __init__(self, request: Request, say: Callable[[str], None]) -> None:
        self._request = request
        self._say = say
        self._topology = request.topology
        self._subscriptions = request.subscriptions
        self._nodes = [request.topology.node(gateway) for gateway in request.subscriptions.gateways]
        self._origins = request.entered
        self._sources = [request.topology.node(source) for source in self._origins.sources]
        self._source = self._sources[0]
        self._rng = np.random.default_rng(request.seed)

    def masked(self) -> Plan:
        """Few trees over all gateways, of which each message takes its cheapest."""
        request = self._request
        self._say(f"at most {request.channels} trees")
        samples, weights = sampled(request)
        found = masked.plan(self._topology.graph, samples, request.channels, self._rng, weights=weights)
        return self.of_trees(found, [f"c{number}" for number in range(len(found.trees))])

    def of_trees(self, found: MaskedChannels, ids: Sequence[str]) -> Plan:
        """A masked plan of trees that were found, called ``ids``."""
        everyone = range(len(self._subscriptions.distinct))
        gateways = (1 << len(self._nodes)) - 1
        trees = [tree.rooted_at(self._source) for tree in found.trees]
        channels = [self._planned(number, None, everyone, gateways, tree) for number, tree in enumerate(trees)]
        channels = [msgspec.structs.replace(channel, id=name) for channel, name in zip(channels, ids, strict=True)]
        expected = {"plan": found.cost, "validated": found.validated, "one_tree": found.single}
        expected |= {"cuts": float(found.cuts), "stopped": float(found.stopped == "budget")}
        return self._plan("masked", self._rated(channels, "masked"), expected)

    def unicast(self) -> Plan:
        """A channel per gateway, along a shortest path from the source; of several sources, each has its leg there."""
        paths = self._topology.graph.paths(self._source)
        channels: list[PlannedChannel] = []
        for bit in self._wanted_bits():
            nodes = paths.to(self._nodes[bit]) if len(self._sources) == 1 else [self._nodes[bit]]
            tree = Tree.of(nodes[0], {child: parent for parent, child in pairwise(nodes)})
            held = self._request.subscriptions.gateway_sets
            profiles = [number for number, gateways in enumerate(held) if gateways >> bit & 1]
            channels.append(self._planned(len(channels), self._expression(profiles), profiles, 1 << bit, tree))
        return self._plan("unicast", self._rated(channels), {})

    def per_hop(self, scheme: str) -> Plan:
        """One tree of shortest paths from each source, on which every broker filters by content.

        ``spt`` and ``semnet`` carry the same; of ``semnet`` the plan also says what its routers have to keep.
        """
        bits = self._wanted_bits()
        everyone = range(len(self._subscriptions.distinct))
        gateways = sum(1 << bit for bit in bits)
        channels: list[PlannedChannel] = []
        for name, source in zip(self._origins.sources, self._sources, strict=True):
            found = shortest_path_tree(self._topology.graph, source, [self._nodes[bit] for bit in bits])
            channel = self._planned(len(channels), None, everyone, gateways, found.tree)
            only = name if len(self._sources) > 1 else None
            channels.append(msgspec.structs.replace(channel, source=only))
        return self._plan(scheme, self._rated(channels), self._filters(channels) if scheme == "semnet" else {})

    def _filters(self, channels: Sequence[PlannedChannel]) -> dict[str, float]:
        """Profiles in the filters of a router's ports, before any are absorbed: mean and most over all that forward."""
        gateways = {name: 1 << bit for bit, name in enumerate(self._subscriptions.gateways)}
        kept: Counter[str] = Counter()
        for channel in channels:
            below = dict(gateways)
            for parent, child in reversed(channel.tree):
                behind = below.get(child, 0)
                below[parent] = below.get(parent, 0) | behind
                kept[parent] += sum(bool(held & behind) for held in self._subscriptions.gateway_sets)
        return {
            "filters": sum(kept.values()) / max(1, len(kept)),
            "largest_filters": float(max(kept.values(), default=0)),
        }

    def papers(self, scheme: str) -> Plan:
        """Hierarchies, merged; a low-cost tree per channel (2005), or a central one (SemCast-O)."""
        request = self._request
        routes = Routes(self._topology.graph)
        rendezvous = self._rng.integers(0, len(self._topology.brokers), len(self._subscriptions.distinct)).tolist()
        estimate = JoinEstimate(routes, self._nodes, self._rng)

        def span(gateways: Gateways, root: int) -> float:
            return estimate.links(gateways, rendezvous[root])

        self._say("channels")
        made = channelize(
            scheme,
            request.selectivity,
            self._subscriptions.gateway_sets,
            span,
            matrix=request.matrix,
            covers=request.covers,
            settings=request.settings,
        )
        self._say(f"trees of {len(made.channels):,} channels")
        channels: list[PlannedChannel] = []
        links = 0.0
        for channel, profiles in zip(made.channels, made.profiles, strict=True):
            tree = self._tree(scheme, routes, channel, rendezvous[channel.root])
            links += channel.rate * len(tree)
            planned = self._planned(len(channels), self._text(channel), profiles, channel.gateways, tree)
            channels.append(_with_rate(planned, channel.rate))
        expected = {"plan": made.estimate, "realised": links, "merges": float(made.merges)}
        expected["error"] = made.estimate / links - 1 if links else 0.0
        expected["stopped"] = float(made.stopped)
        return self._plan(scheme, channels, expected)

    def _tree(self, scheme: str, routes: Routes, channel: Channel, rendezvous: int) -> Tree:
        nodes = [self._nodes[bit] for bit in places_of(channel.gateways)]
        if scheme == "semcast-o":
            return takahashi_matsuyama(self._topology.graph, rendezvous, nodes).tree
        order = self._rng.permutation(len(nodes)).tolist()
        return low_cost_tree(routes, rendezvous, [nodes[place] for place in order], self._request.closest).tree()

    def _planned(
        self, number: int, expression: str | None, profiles: Sequence[int], gateways: Gateways, tree: Tree
    ) -> PlannedChannel:
        names = self._topology.ids
        links = Tree.of(tree.root, tree.parent).links.tolist()  # one order, however the tree was found
        return PlannedChannel(
            id=f"c{number}",
            stream=None,
            expression=expression,
            profiles=tuple(profile for number in profiles for profile in self._subscriptions.members[number]),
            gateways=tuple(self._subscriptions.gateways[bit] for bit in places_of(gateways)),
            rendezvous=names([tree.root])[0],
            tree=tuple((names([parent])[0], names([child])[0]) for parent, child in links),
            rate=0.0,
        )

    def _plan(self, scheme: str, channels: Sequence[PlannedChannel], estimate: dict[str, float]) -> Plan:
        assignment: dict[str, list[str]] = {profile: [] for profile in self._subscriptions.wanted_at}
        for channel in channels:
            for profile in channel.profiles:
                assignment[profile].append(channel.id)
        return Plan(
            term=self._request.term,
            epoch=self._request.epoch,
            scheme=scheme,
            gateways=self._subscriptions.gateways,
            subscriptions=dict(self._subscriptions.wanted_at),
            channels=tuple(channels),
            assignment={profile: tuple(names) for profile, names in assignment.items()},
            estimate=estimate,
            same_as=dict(self._subscriptions.same_as),
            sources=self._origins.sources,
        )

    def _rated(self, channels: Sequence[PlannedChannel], scheme: str = "") -> list[PlannedChannel]:
        """With the share of the sample that each carries, by weight."""
        plan = self._plan(scheme, channels, {})
        weights, total = self._request.selectivity.weights, self._request.selectivity.total or 1.0
        rates = np.zeros(len(channels))
        for source, rows, matches in self._origins.sent(self._request.selectivity.matches):
            carried = Router(plan, self._subscriptions.distinct, source).carried(matches)
            rates += [weights[rows][unpacked(row, len(rows))].sum() / total for row in carried]
        return [_with_rate(channel, rate) for channel, rate in zip(channels, rates.tolist(), strict=True)]

    def _wanted_bits(self) -> list[int]:
        held = 0
        for gateways in self._subscriptions.gateway_sets:
            held |= gateways
        return list(places_of(held))

    def _expression(self, profiles: Sequence[int]) -> str:
        return text(any_of(profiles), self._subscriptions.distinct.__getitem__)

    def _text(self, channel: Channel) -> str:
        return text(channel.expression, self._subscriptions.distinct.__getitem__)


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
