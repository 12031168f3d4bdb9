"""Subscriptions that come and go under a plan (2005 §3.2.4, 2004 §3.1).

Under the papers' schemes a new profile goes where a profile is served that covers it by syntax, in the channels with
the lowest rate; else it gets a channel of its own. Under ``unicast`` it is written into its gateways' channels. Under
``masked`` and ``spt`` channels stay as they are: masks and filters change, and trees grow to gateways that they
do not reach. Every step leaves a valid plan: what only statistics suggest never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import msgspec
import numpy as np

from semcast.channels.expressions import any_of, text
from semcast.model import SemcastError
from semcast.planning.plan import Plan, PlannedChannel
from semcast.trees.joins import Closest
from semcast.trees.masked_tree import as_tree, parents, spanning
from semcast.trees.topology import Topology
from semcast.trees.tree import DisseminationTree, Tree

Covers = Callable[[str, str], bool]
"""``covers(a, b)``: does profile a, by its text, contain profile b?"""


class Held:
    """Who is subscribed where. Gateways keep their bits, and nobody else ever gets one of these."""

    def __init__(self, plan: Plan) -> None:
        self.wanted_at = dict(plan.subscriptions)
        self.same_as = dict(plan.same_as)
        self.gateways = list(plan.gateways)

    def add(self, profile: str, gateways: Sequence[str]) -> None:
        self.wanted_at[profile] = tuple(gateways)
        self.gateways += [gateway for gateway in dict.fromkeys(gateways) if gateway not in self.gateways]

    def remove(self, profile: str) -> str | None:
        """Forget a profile; if it stood for others that say the same, returns the one that does so now."""
        del self.wanted_at[profile]
        if self.same_as.pop(profile, None) is not None:
            return None
        heirs = [other for other, first in self.same_as.items() if first == profile]
        if not heirs:
            return None
        del self.same_as[heirs[0]]
        self.same_as.update(dict.fromkeys(heirs[1:], heirs[0]))
        return heirs[0]

    def first(self, profile: str) -> str:
        """The profile that stands for it."""
        return self.same_as.get(profile, profile)

    def classes(self) -> dict[str, list[str]]:
        """Per profile that stands for a class all that say the same, in their order."""
        found: dict[str, list[str]] = {}
        for profile in self.wanted_at:
            found.setdefault(self.first(profile), []).append(profile)
        return found

    def everyone(self) -> tuple[str, ...]:
        """All profiles, class by class."""
        return tuple(profile for members in self.classes().values() for profile in members)

    def plan(self, old: Plan, channels: Sequence[PlannedChannel]) -> Plan:
        """The next epoch of a plan, with these channels; its cost has to be counted anew."""
        assignment: dict[str, list[str]] = {profile: [] for profile in self.wanted_at}
        for channel in channels:
            for profile in channel.profiles:
                assignment[profile].append(channel.id)
        return msgspec.structs.replace(
            old,
            epoch=old.epoch + 1,
            gateways=tuple(self.gateways),
            subscriptions=dict(self.wanted_at),
            channels=tuple(channels),
            assignment={profile: tuple(names) for profile, names in assignment.items()},
            same_as=dict(self.same_as),
            cost={},
            estimate={},
        )


class LiveChannels(Protocol):
    """How the channels of a scheme follow; ``held`` is up to date when they are told."""

    def came(self, profile: str) -> None: ...

    def left(self, profile: str, heir: str | None, had: Sequence[str]) -> None: ...

    def serving(self, profile: str) -> tuple[str, ...]: ...

    def channels(self) -> list[PlannedChannel]: ...


class LivePlan:
    """A plan while profiles come and go; ``covers`` and ``closest`` matter under the papers' schemes only."""

    def __init__(
        self,
        plan: Plan,
        topology: Topology,
        covers: Covers,
        rng: np.random.Generator,
        closest: Closest = "destination",
    ) -> None:
        self._plan = plan
        self._topology = topology
        self._held = Held(plan)
        self._channels = plan.kind.live(plan, topology, self._held, covers, rng, closest)

    def subscribe(self, profile: str, gateways: Sequence[str]) -> tuple[str, ...]:
        """Serve one more profile; returns its channels."""
        if profile in self._held.wanted_at:
            raise SemcastError(f"profile {profile!r} is subscribed already")
        for gateway in gateways:
            self._topology.node(gateway)
        self._held.add(profile, gateways)
        self._channels.came(profile)
        return self._channels.serving(profile)

    def unsubscribe(self, profile: str) -> tuple[str, ...]:
        """Stop serving a profile; returns the channels that it had.

        Gateways leave trees and channels that serve nobody go, but under ``masked``: there they cost nothing.
        """
        if profile not in self._held.wanted_at:
            raise SemcastError(f"profile {profile!r} is not subscribed")
        had = self._channels.serving(profile)
        heir = self._held.remove(profile)
        self._channels.left(profile, heir, had)
        return had

    def plan(self) -> Plan:
        """What it is now, as the next epoch."""
        return self._held.plan(self._plan, self._channels.channels())


class MaskedTrees:
    """Trees that could carry everything: only a gateway that a tree does not reach makes it grow."""

    def __init__(self, plan: Plan, topology: Topology, held: Held) -> None:
        self._plan = plan
        self._topology = topology
        self._held = held
        self._trees = [plan.tree(channel, topology) for channel in plan.channels]

    def came(self, profile: str) -> None:
        nodes = [self._topology.node(gateway) for gateway in self._held.wanted_at[profile]]
        self._trees = [_grown(self._topology, tree, nodes) for tree in self._trees]

    def left(self, profile: str, heir: str | None, had: Sequence[str]) -> None:
        pass

    def serving(self, profile: str) -> tuple[str, ...]:
        return tuple(channel.id for channel in self._plan.channels)

    def channels(self) -> list[PlannedChannel]:
        everyone, gateways = self._held.everyone(), tuple(self._held.gateways)
        return [
            msgspec.structs.replace(channel, profiles=everyone, gateways=gateways, tree=_named(self._topology, tree))
            for channel, tree in zip(self._plan.channels, self._trees, strict=True)
        ]


class SourceTrees:
    """One filtered tree per source, along shortest paths: it has the gateways that anyone is at."""

    def __init__(self, plan: Plan, topology: Topology, held: Held) -> None:
        self._plan = plan
        self._topology = topology
        self._held = held
        self._trees = [
            DisseminationTree.of(topology.graph, plan.tree(c, topology), map(topology.node, c.gateways))
            for c in plan.channels
        ]

    def came(self, profile: str) -> None:
        self._fit()

    def left(self, profile: str, heir: str | None, had: Sequence[str]) -> None:
        self._fit()

    def serving(self, profile: str) -> tuple[str, ...]:
        return tuple(channel.id for channel in self._plan.channels)

    def channels(self) -> list[PlannedChannel]:
        everyone = self._held.everyone()
        wanted = {gateway for held in self._held.wanted_at.values() for gateway in held}
        gateways = tuple(gateway for gateway in self._held.gateways if gateway in wanted)
        return [
            msgspec.structs.replace(c, profiles=everyone, gateways=gateways, tree=_named(self._topology, tree.tree()))
            for c, tree in zip(self._plan.channels, self._trees, strict=True)
        ]

    def _fit(self) -> None:
        wanted = {self._topology.node(gateway) for held in self._held.wanted_at.values() for gateway in held}
        for tree in self._trees:
            paths = self._topology.graph.paths(tree.root)
            for node in sorted(tree.destinations - wanted):
                tree.leave(node)
            for node in sorted(wanted - tree.destinations):
                path = paths.to(node)
                # From the last broker on the tree, which no broker behind it on the path is above.
                tree.attach(path[max(place for place, broker in enumerate(path) if broker in tree) :])


class UnicastPaths:
    """A channel per gateway that anyone is at, for all profiles there."""

    def __init__(self, plan: Plan, topology: Topology, held: Held) -> None:
        self._topology = topology
        self._held = held
        self._sources = plan.sources or tuple(dict.fromkeys(channel.rendezvous for channel in plan.channels))
        self._known = {channel.gateways[0]: channel for channel in plan.channels}
        self._used = [channel.id for channel in plan.channels]

    def came(self, profile: str) -> None:
        for gateway in self._held.wanted_at[profile]:
            if gateway not in self._known:
                self._known[gateway] = self._new(gateway)
                self._used.append(self._known[gateway].id)

    def left(self, profile: str, heir: str | None, had: Sequence[str]) -> None:
        wanted = {gateway for held in self._held.wanted_at.values() for gateway in held}
        self._known = {gateway: channel for gateway, channel in self._known.items() if gateway in wanted}

    def serving(self, profile: str) -> tuple[str, ...]:
        first = self._held.first(profile)
        wanted = {g for p, held in self._held.wanted_at.items() if self._held.first(p) == first for g in held}
        return tuple(channel.id for gateway, channel in self._known.items() if gateway in wanted)

    def channels(self) -> list[PlannedChannel]:
        names = list(self._held.wanted_at)
        numbers = {profile: number for number, profile in enumerate(names)}
        classes = self._held.classes()
        found = []
        for gateway, channel in self._known.items():
            here = [
                first for first, members in classes.items() if any(gateway in self._held.wanted_at[p] for p in members)
            ]
            expression = text(any_of(numbers[first] for first in here), names.__getitem__)
            profiles = tuple(profile for first in here for profile in classes[first])
            found.append(msgspec.structs.replace(channel, expression=expression, profiles=profiles))
        return found

    def _new(self, gateway: str) -> PlannedChannel:
        nodes = [self._topology.node(gateway)]
        if len(self._sources) == 1:
            nodes = self._topology.graph.paths(self._topology.node(self._sources[0])).to(nodes[0])
        names = self._topology.ids(nodes)
        return PlannedChannel(fresh(self._used), None, None, (), (gateway,), names[0], tuple(pairwise(names)), 0.0)


def fresh(used: Iterable[str]) -> str:
    """A channel id that was not in use."""
    numbers = [int(name[1:]) for name in used if name[:1] == "c" and name[1:].isdecimal()]
    return f"c{max(numbers, default=-1) + 1}"


def _grown(topology: Topology, tree: Tree, nodes: Sequence[int]) -> Tree:
    if tree.nodes.issuperset(nodes):
        return tree
    return as_tree(spanning(topology.graph, tree.root, nodes, parents(tree, topology.graph.num_nodes)))


def _named(topology: Topology, tree: Tree) -> tuple[tuple[str, str], ...]:
    ids: Mapping[int, str] = {node: broker.id for node, broker in enumerate(topology.brokers)}
    return tuple((ids[parent], ids[child]) for parent, child in tree.links.tolist())
