"""How channels with expressions follow subscriptions (2005 §3.2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from semcast.channels.expressions import (
    FALSE,
    Atom,
    Expression,
    disjunction,
    parse,
    profiles_of,
    served,
    substituted,
    text,
)
from semcast.planning.live import Covers, Held, fresh
from semcast.planning.plan import Plan, PlannedChannel
from semcast.trees.joins import Closest, Routes, join
from semcast.trees.topology import Topology
from semcast.trees.tree import DisseminationTree


class Expressions:
    """The channels of one of the papers' schemes."""

    def __init__(
        self,
        plan: Plan,
        topology: Topology,
        held: Held,
        covers: Covers,
        rng: np.random.Generator,
        closest: Closest,
    ) -> None:
        self._topology = topology
        self._held = held
        self._covers = covers
        self._rng = rng
        self._closest = closest
        self._routes = Routes(topology.graph)
        self._numbers = dict(plan.numbers)
        self._expressions = {c.id: parse(c.expression or "", plan.numbers) for c in plan.channels}
        self._channels = {channel.id: channel for channel in plan.channels}
        self._used = list(self._channels)
        self._trees = {
            c.id: DisseminationTree.of(topology.graph, plan.tree(c, topology), map(topology.node, c.gateways))
            for c in plan.channels
        }

    def came(self, profile: str) -> None:
        number = self._numbers.setdefault(profile, len(self._numbers))
        wide = self._covering(profile)
        if wide is None:
            self._new_channel(Atom(number))
        else:
            # Both by name, so that the one may leave and the other stay; what the channels carry does not change.
            both = disjunction([Atom(self._numbers[wide]), Atom(number)])
            self._replace(self._numbers[wide], both)

    def left(self, profile: str, heir: str | None, had: Sequence[str]) -> None:
        self._replace(self._numbers[profile], FALSE if heir is None else Atom(self._numbers[heir]))
        self._fit(had)

    def serving(self, profile: str) -> tuple[str, ...]:
        number = self._numbers[self._held.first(profile)]
        return tuple(name for name, expression in self._expressions.items() if number in served(expression))

    def channels(self) -> list[PlannedChannel]:
        return [self._planned(name) for name in self._channels]

    def _covering(self, profile: str) -> str | None:
        others = [p for p in self._held.wanted_at if p not in self._held.same_as and p != profile]
        wide = [other for other in others if self._covers(other, profile)]
        return min(wide, key=lambda other: (self._rate(other), self._numbers[other]), default=None)

    def _rate(self, profile: str) -> float:
        return sum(self._channels[name].rate for name in self.serving(profile))

    def _replace(self, number: int, by: Expression) -> None:
        touched = [name for name, held in self._expressions.items() if number in profiles_of(held)]
        for name in touched:
            self._expressions[name] = substituted(self._expressions[name], number, by)
        self._fit(touched)

    def _new_channel(self, expression: Expression) -> None:
        name = fresh(self._used)
        self._used.append(name)
        root = int(self._rng.integers(len(self._topology.brokers)))
        rendezvous = self._topology.brokers[root].id
        self._channels[name] = PlannedChannel(name, None, None, (), (), rendezvous, (), 0.0)
        self._expressions[name] = expression
        self._trees[name] = DisseminationTree(self._topology.graph, root)
        self._fit([name])

    def _fit(self, names: Iterable[str]) -> None:
        """Let trees have exactly the gateways that their profiles need; drop channels that serve nobody."""
        for name in names:
            if name not in self._channels:
                continue
            profiles = self._profiles(name)
            if not profiles:
                del self._channels[name], self._expressions[name], self._trees[name]
                continue
            tree = self._trees[name]
            wanted = {self._topology.node(gateway) for p in profiles for gateway in self._held.wanted_at[p]}
            for node in sorted(tree.destinations - wanted):
                tree.leave(node)
            for node in sorted(wanted - tree.destinations):
                join(tree, node, self._routes, self._closest)

    def _profiles(self, name: str) -> list[str]:
        """In the order of classes, and of ids in a class."""
        numbers = served(self._expressions[name])
        first = {profile: self._numbers[self._held.first(profile)] for profile in self._held.wanted_at}
        held = [profile for profile, number in first.items() if number in numbers]
        return sorted(held, key=lambda profile: (first[profile], self._numbers[profile]))

    def _planned(self, name: str) -> PlannedChannel:
        names = {number: profile for profile, number in self._numbers.items()}
        tree = self._trees[name]
        ids = [broker.id for broker in self._topology.brokers]
        return msgspec.structs.replace(
            self._channels[name],
            expression=text(self._expressions[name], names.__getitem__),
            profiles=tuple(self._profiles(name)),
            gateways=tuple(g for g in self._held.gateways if self._topology.node(g) in tree.destinations),
            tree=tuple((ids[a], ids[b]) for a, b in tree.tree().links.tolist()),
        )
