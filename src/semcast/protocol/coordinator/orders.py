"""Orders for plans: all that the next one is made of, as of one moment, so that it can be made elsewhere and later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import msgspec

from semcast.planning.plan import Plan
from semcast.protocol.coordinator.deployment import Deployment, tables
from semcast.protocol.coordinator.planner import Planner, Statistics, Wishes
from semcast.protocol.coordinator.roster import Entry
from semcast.protocol.wire.frames import Entry as TableEntry
from semcast.protocol.wire.frames import Key
from semcast.trees.topology import Topology

Tables = dict[str, dict[Key, TableEntry]]
"""Broker → what it has to know of each tree."""


class Made(NamedTuple):
    """A plan as ordered, and the tables that put it into practice."""

    deployment: Deployment
    tables: Tables


@dataclass(frozen=True)
class Order:
    """What a coordinator wants a plan for. Nothing of it changes afterwards, whatever becomes of the coordinator."""

    number: int
    term: int
    epoch: int
    planner: Planner
    """With a random generator of its own."""
    topology: Topology
    """Brokers and links that can be used."""
    gateways: tuple[str, ...]
    """In bit order, away or not."""
    sources: tuple[str, ...]
    entries: Sequence[Entry]
    """The roster, as of …"""
    version: int
    brokers: tuple[str, ...]
    down: tuple[tuple[str, str], ...]
    current: Deployment | None
    current_tables: Tables
    """Those of the current plan."""
    samples: Mapping[str, Sequence[Sequence[str]]] | None

    @cached_property
    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Profile's name → the gateways that ask for it, away or not."""
        return {entry.name: tuple(sorted(entry.gateways)) for entry in self.entries}

    @cached_property
    def wishes(self) -> Wishes:
        """What the plan has to serve; found where the plan is made, since there may be very many."""
        present = set(self.brokers)
        held = {name: tuple(g for g in gateways if g in present) for name, gateways in self.wanted.items()}
        bounds = {
            (holding.gateway, entry.name): holding.max_delay_ms
            for entry in self.entries
            for holding in entry.holdings
            if holding.max_delay_ms is not None and holding.gateway in present
        }
        return Wishes(
            self.topology,
            self.gateways,
            tuple(source for source in self.sources if source in present),
            {entry.name: entry.profile for entry in self.entries},
            {name: gateways for name, gateways in held.items() if gateways},
            bounds,
        )

    def made(self) -> Made:
        """Make the plan. May take long; depends on nothing but the order, and only draws from its generator."""
        statistics = None if self.samples is None else Statistics(self.samples)
        old = self.current.plan if self.current is not None else None
        return self.put(*self.planner.plan(self.wishes, old, self.same_network, statistics, self.term, self.epoch))

    @property
    def same_network(self) -> bool:
        """Does the current plan count on the same brokers and links?"""
        old = self.current
        return old is not None and (old.brokers, old.down) == (self.brokers, self.down)

    def put(self, plan: Plan, late: dict[str, float]) -> Made:
        """A plan that was made as ordered, put into practice; ``late`` are those who will wait too long."""
        present = set(self.brokers)
        fresh = {channel.id: self.epoch for channel in plan.channels}
        if plan.kind.masked:  # sources follow the roster; any gateway that is away may be owed something
            away = tuple(gateway for gateway in self.gateways if gateway not in present)
            plan = msgspec.structs.replace(plan, subscriptions={}, assignment={})
            found = Deployment(
                plan, fresh, {}, {}, self.brokers, self.down, self.wishes.sources, away, late, self.version
            )  # fmt: skip
        else:
            holding = {gateway for held in self.wanted.values() for gateway in held}
            away = tuple(g for g in self.gateways if g not in present and g in holding)
            found = Deployment(
                plan, fresh, dict(self.wishes.profiles), self.wanted, self.brokers, self.down,
                self.wishes.sources, away, late, self.version,
            )  # fmt: skip
        return _keeping(found, self.wishes.topology, self.current, self.current_tables)


def _keeping(new: Deployment, topology: Topology, old: Deployment | None, before: Tables) -> Made:
    """A plan with versions: a tree whose tables are as they were keeps its own.

    Filters are part of them. Were they changed in place, brokers would let through what the source does not count
    for a gateway, or hold back what it does; and one of each would hide each other.
    """
    found = tables(new, topology)
    if old is None or old.plan.gateways != new.plan.gateways[: len(old.plan.gateways)]:
        return Made(new, found)
    was, now = _by_channel(before), _by_channel(found)
    kept = {channel: old.versions[channel] for channel, entries in now.items() if was.get(channel) == entries}
    versions = new.versions | kept
    return Made(msgspec.structs.replace(new, versions=versions), _versioned(found, versions))


def _by_channel(held: Tables) -> dict[str, dict[str, TableEntry]]:
    """Channel → broker → its entry, whatever the version of the tree."""
    found: dict[str, dict[str, TableEntry]] = {}
    for broker, entries in held.items():
        for (channel, _), entry in entries.items():
            found.setdefault(channel, {})[broker] = msgspec.structs.replace(entry, key=(channel, 0))
    return found


def _versioned(held: Tables, versions: Mapping[str, int]) -> Tables:
    found: Tables = {}
    for broker, entries in held.items():
        keyed = [msgspec.structs.replace(entry, key=(key[0], versions[key[0]])) for key, entry in entries.items()]
        found[broker] = {entry.key: entry for entry in keyed}
    return found
