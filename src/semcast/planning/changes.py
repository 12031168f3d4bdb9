"""Subscriptions that come and go under a plan (2005 §3.2.4, 2004 §3.1), and what changes from plan to plan.

A new profile goes where a profile is served that covers it by syntax, in the channels with the lowest rate; else it
gets a channel of its own. Either way every step leaves a valid plan: what only statistics suggest never decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

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
from semcast.model import SemcastError
from semcast.planning.plan import Plan, PlanError, PlannedChannel
from semcast.trees import DisseminationTree, Routes, Topology, join
from semcast.trees.joins import Closest

Covers = Callable[[str, str], bool]
"""``covers(a, b)``: does profile a, by its text, contain profile b?"""


class Delta(NamedTuple):
    """What has to happen for one plan to become another."""

    added: tuple[str, ...]
    """Channels to install."""
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    """Channels that stay, with another tree, other gateways or another expression."""
    migrating: tuple[str, ...]
    """Profiles that are served by other channels than before."""

    def __bool__(self) -> bool:
        return any(self)


def delta(old: Plan, new: Plan) -> Delta:
    """Compare two plans channel by channel; those of the same id are the same channel."""
    before = {channel.id: channel for channel in old.channels}
    after = {channel.id: channel for channel in new.channels}
    return Delta(
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        changed=tuple(name for name in after if name in before and _differs(before[name], after[name])),
        migrating=tuple(
            profile
            for profile, channels in new.assignment.items()
            if profile in old.assignment and set(channels) != set(old.assignment[profile])
        ),
    )


def aligned(old: Plan, new: Plan) -> Plan:
    """The new plan with old ids for channels that carry the same (2004 §3.2: compare roots), so that they stay."""
    taken = {channel.expression: channel.id for channel in old.channels if channel.expression is not None}
    used = {channel.id for channel in old.channels}
    names: dict[str, str] = {}
    for channel in new.channels:
        kept = taken.pop(channel.expression, None) if channel.expression is not None else None
        names[channel.id] = kept or _fresh(used)
        used.add(names[channel.id])
    channels = tuple(msgspec.structs.replace(channel, id=names[channel.id]) for channel in new.channels)
    assignment = {profile: tuple(names[name] for name in held) for profile, held in new.assignment.items()}
    return msgspec.structs.replace(new, channels=channels, assignment=assignment)


def worth_it(old_cost: float, new_cost: float, change: Delta, least_gain: float = 0.05) -> bool:
    """2004 §3.2's "sufficiently different": does a reorganisation save enough on the same messages?

    Installing trees and moving profiles costs traffic itself, so a plan must save at least ``least_gain`` of what
    the old one costs.
    """
    return bool(change) and old_cost - new_cost >= least_gain * old_cost


class LivePlan:
    """A plan of one of the papers' schemes, or ``unicast``, while profiles come and go."""

    def __init__(
        self,
        plan: Plan,
        topology: Topology,
        covers: Covers,
        rng: np.random.Generator,
        closest: Closest = "destination",
    ) -> None:
        if plan.filtered:
            raise PlanError(f"under {plan.scheme} a subscription changes masks and filters, not channels")
        self._plan = plan
        self._topology = topology
        self._covers = covers
        self._rng = rng
        self._closest = closest
        self._routes = Routes(topology.graph)
        self._subscriptions = dict(plan.subscriptions)
        self._same_as = dict(plan.same_as)
        self._numbers = dict(plan.numbers)
        self._expressions = {c.id: parse(c.expression or "", plan.numbers) for c in plan.channels}
        self._channels = {channel.id: channel for channel in plan.channels}
        self._trees = {
            c.id: DisseminationTree.of(topology.graph, plan.tree(c, topology), map(topology.node, c.gateways))
            for c in plan.channels
        }

    def subscribe(self, profile: str, gateways: Sequence[str]) -> tuple[str, ...]:
        """Serve one more profile; returns its channels."""
        if profile in self._subscriptions:
            raise SemcastError(f"profile {profile!r} is subscribed already")
        for gateway in gateways:
            self._topology.node(gateway)
        number = self._numbers.setdefault(profile, len(self._numbers))
        wide = self._covering(profile)
        self._subscriptions[profile] = tuple(gateways)
        if wide is None:
            self._new_channel(Atom(number))
        else:
            # Both by name, so that the one may leave and the other stay; what the channels carry does not change.
            both = disjunction([Atom(self._numbers[wide]), Atom(number)])
            self._replace(self._numbers[wide], both)
        return self._served([profile])

    def unsubscribe(self, profile: str) -> tuple[str, ...]:
        """Stop serving a profile; returns the channels that it had. Gateways leave trees, empty channels go."""
        if profile not in self._subscriptions:
            raise SemcastError(f"profile {profile!r} is not subscribed")
        had = self._served([profile])
        del self._subscriptions[profile]
        if self._same_as.pop(profile, None) is None:
            heirs = [other for other, first in self._same_as.items() if first == profile]
            if heirs:
                del self._same_as[heirs[0]]
                self._same_as.update(dict.fromkeys(heirs[1:], heirs[0]))
                self._replace(self._numbers[profile], Atom(self._numbers[heirs[0]]))
            else:
                self._replace(self._numbers[profile], FALSE)
        self._fit(had)
        return had

    def plan(self) -> Plan:
        """What it is now, as the next epoch."""
        channels = tuple(self._planned(name) for name in self._channels)
        assignment: dict[str, list[str]] = {profile: [] for profile in self._subscriptions}
        for channel in channels:
            for profile in channel.profiles:
                assignment[profile].append(channel.id)
        gateways = dict.fromkeys([*self._plan.gateways, *(g for held in self._subscriptions.values() for g in held)])
        return msgspec.structs.replace(
            self._plan,
            epoch=self._plan.epoch + 1,
            gateways=tuple(gateways),
            subscriptions=dict(self._subscriptions),
            channels=channels,
            assignment={profile: tuple(names) for profile, names in assignment.items()},
            same_as=dict(self._same_as),
            cost={},
            estimate={},
        )

    def _covering(self, profile: str) -> str | None:
        wide = [other for other in self._subscriptions if other not in self._same_as and self._covers(other, profile)]
        return min(wide, key=lambda other: (self._rate(other), self._numbers[other]), default=None)

    def _rate(self, profile: str) -> float:
        return sum(self._channels[name].rate for name in self._served([profile]))

    def _served(self, profiles: Iterable[str]) -> tuple[str, ...]:
        numbers = {self._numbers[self._same_as.get(profile, profile)] for profile in profiles}
        return tuple(name for name, expression in self._expressions.items() if numbers & served(expression))

    def _replace(self, number: int, by: Expression) -> None:
        touched = [name for name, held in self._expressions.items() if number in profiles_of(held)]
        for name in touched:
            self._expressions[name] = substituted(self._expressions[name], number, by)
        self._fit(touched)

    def _new_channel(self, expression: Expression) -> None:
        name = _fresh(self._channels)
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
            wanted = {self._topology.node(gateway) for p in profiles for gateway in self._subscriptions[p]}
            for node in sorted(tree.destinations - wanted):
                tree.leave(node)
            for node in sorted(wanted - tree.destinations):
                join(tree, node, self._routes, self._closest)

    def _profiles(self, name: str) -> list[str]:
        """In the order of classes, and of ids in a class."""
        numbers = served(self._expressions[name])
        first = {profile: self._numbers[self._same_as.get(profile, profile)] for profile in self._subscriptions}
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
            gateways=tuple(ids[node] for node in sorted(tree.destinations)),
            tree=tuple((ids[a], ids[b]) for a, b in tree.tree().links.tolist()),
        )


def _differs(old: PlannedChannel, new: PlannedChannel) -> bool:
    """Profiles and rates may differ: no broker knows them."""
    return (old.expression, old.rendezvous, old.tree, old.gateways) != (
        new.expression, new.rendezvous, new.tree, new.gateways,
    )  # fmt: skip


def _fresh(used: Iterable[str]) -> str:
    """An id that was not in use."""
    numbers = [int(name[1:]) for name in used if name[:1] == "c" and name[1:].isdecimal()]
    return f"c{max(numbers, default=-1) + 1}"
