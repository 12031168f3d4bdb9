"""Orders for plans as they travel to who makes them elsewhere, and what comes back: checked before it is taken.

A plan that is made elsewhere from the same statistics is the same, to the last tree: the order's random generator
goes with it, as the seed that it was made from.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
import numpy as np

from semcast.channels.selectivity import Selectivity
from semcast.channels.spans import gateways_of
from semcast.matching.matches import Matches
from semcast.model.message import ProfileText
from semcast.planning.demands import by_gateway, masks_of, profile_masks
from semcast.planning.plan import Plan, PlanError
from semcast.planning.router import Router
from semcast.protocol.coordinator.orders import Made, Order
from semcast.protocol.coordinator.planner import Planner, Statistics, Wishes, matches_of
from semcast.trees.topology import Broker, Link, Topology

T = TypeVar("T")
_MOST = 1 << 30
"""Bytes of an order or a plan, unpacked."""
_ROWS = 1 << 12
"""Messages that are tried at a time."""


class Commission(msgspec.Struct, frozen=True):
    """All that a reorganisation is made of."""

    term: int
    epoch: int
    scheme: str
    channels: int
    entropy: str
    spawn_key: tuple[int, ...]
    """With the entropy, the seed of the order's generator."""
    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]
    gateways: tuple[str, ...]
    sources: tuple[str, ...]
    profiles: dict[str, ProfileText]
    subscriptions: dict[str, tuple[str, ...]]
    bounds: tuple[tuple[str, str, float], ...]
    old: Plan | None
    same_network: bool
    rows: dict[str, tuple[tuple[str, ...], ...]]
    """Per source, which profiles matched each message that was sampled there."""

    @staticmethod
    def of(order: Order) -> Commission:
        """An order whose generator nobody has drawn from yet."""
        wishes, planner = order.wishes, order.planner
        seed: Any = planner.rng.bit_generator.seed_seq
        return Commission(
            term=order.term,
            epoch=order.epoch,
            scheme=planner.scheme.name,
            channels=planner.channels,
            entropy=str(seed.entropy),
            spawn_key=tuple(map(int, seed.spawn_key)),
            brokers=wishes.topology.brokers,
            links=wishes.topology.links,
            gateways=wishes.gateways,
            sources=wishes.sources,
            profiles=dict(wishes.profiles),
            subscriptions=dict(wishes.subscriptions),
            bounds=tuple((gateway, profile, bound) for (gateway, profile), bound in wishes.bounds.items()),
            old=order.current.plan if order.current is not None else None,
            same_network=order.same_network,
            rows={source: tuple(map(tuple, rows)) for source, rows in (order.samples or {}).items()},
        )

    def packed(self) -> bytes:
        return _packed(self)

    @staticmethod
    def unpacked(data: bytes) -> Commission:
        """PlanError where it is none."""
        return _unpacked(data, Commission)

    def selectivity(self, statistics: Statistics) -> Selectivity | None:
        """What the overlap matrix has to be computed from; None where the scheme has no use for one."""
        return self._planner().selectivity(self._wishes(), statistics)

    def found(self, statistics: Statistics | None = None) -> Found:
        """Make the plan, from what the sources sampled or from other statistics. May take long."""
        given = statistics or Statistics(self.rows)
        return Found(*self._planner().plan(self._wishes(), self.old, self.same_network, given, self.term, self.epoch))

    def _planner(self) -> Planner:
        seed = np.random.SeedSequence(int(self.entropy), spawn_key=self.spawn_key)
        return Planner(self.scheme, self.channels, np.random.default_rng(seed))

    def _wishes(self) -> Wishes:
        bounds = {(gateway, profile): bound for gateway, profile, bound in self.bounds}
        topology = Topology.of(self.brokers, self.links)
        return Wishes(topology, self.gateways, self.sources, self.profiles, self.subscriptions, bounds)


class Found(msgspec.Struct, frozen=True):
    """A plan that was made elsewhere, and who will wait longer than he asked for."""

    plan: Plan
    late: dict[str, float] = {}

    def packed(self) -> bytes:
        return _packed(self)

    @staticmethod
    def unpacked(data: bytes) -> Found:
        """PlanError where it is none."""
        return _unpacked(data, Found)


def by_statistics(order: Order) -> bool:
    """Is it a reorganisation, of a scheme that decides by statistics?"""
    return order.samples is not None and not order.planner.scheme.per_source


def accepted(order: Order, found: Found) -> Made:
    """A plan from elsewhere with its tables; PlanError where it is not what was ordered, or would lose messages.

    Of the papers' schemes no proof is asked: their expressions are tried on all that was sampled, on a message for each
    profile alone, and on one for all.
    """
    plan, wishes = found.plan, order.wishes
    for what, given, wanted in [
        ("term", plan.term, order.term),
        ("epoch", plan.epoch, order.epoch),
        ("scheme", plan.scheme, order.planner.scheme.name),
        ("gateways", plan.gateways, wishes.gateways),
        ("subscriptions", plan.subscriptions, dict(wishes.subscriptions)),
    ]:
        if given != wanted:
            raise PlanError(f"the plan has another {what} than was ordered")
    plan.check()
    plan.check_links(wishes.topology)
    if plan.kind.masked:
        _check_spans(plan, {*wishes.sources, *wishes.present}, set(wishes.present))
    elif wishes.sources and wishes.present:
        _check_carries(plan, [row for rows in (order.samples or {}).values() for row in rows], wishes.sources[0])
    return order.put(plan, found.late)


def _check_spans(plan: Plan, everybody: set[str], gateways: set[str]) -> None:
    """Every message takes one tree, from where it enters: each has to hold all sources and all gateways."""
    if not plan.channels and plan.subscriptions:
        raise PlanError("the plan has no channel")
    for channel in plan.channels:
        missing = everybody - {channel.rendezvous, *(child for _, child in channel.tree)}
        missing |= gateways ^ set(channel.gateways)
        if missing:
            raise PlanError(f"channel {channel.id!r} does not span {min(missing)!r}")


def _check_carries(plan: Plan, sampled: Iterable[tuple[str, ...] | Any], source: str) -> None:
    names = list(plan.subscriptions)
    router = Router(plan, names, source)
    tried = [*sampled, *([name] for name in names), names]
    wanted_at = [gateways_of(plan.bits[name] for name in plan.subscriptions[profile]) for profile in names]
    masks = profile_masks(wanted_at, len(plan.gateways))
    for first in range(0, len(tried), _ROWS):
        _check_reached(plan, router, matches_of(plan.numbers, tried[first : first + _ROWS]), masks)


def _check_reached(plan: Plan, router: Router, matches: Matches, masks: Any) -> None:
    """Is every message on a channel that reaches each of its gateways?"""
    carried = router.carried(matches)
    wanted = by_gateway(masks_of(matches, masks), len(plan.gateways))
    for bit, gateway in enumerate(plan.gateways):
        there = [number for number, channel in enumerate(plan.channels) if gateway in channel.gateways]
        reached = np.bitwise_or.reduce(carried[there], axis=0) if there else np.zeros_like(wanted[bit])
        if (wanted[bit] & ~reached).any():
            raise PlanError(f"messages for gateway {gateway!r} are on no channel that reaches it")


def _packed(what: msgspec.Struct) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(what), 1)


def _unpacked(data: bytes, kind: type[T]) -> T:
    try:
        opened = zlib.decompressobj()
        content = opened.decompress(data, _MOST)
        if opened.unconsumed_tail:
            raise PlanError("more than a gigabyte, unpacked")
        return msgspec.msgpack.decode(content, type=kind)
    except (zlib.error, ValueError, RecursionError) as error:
        raise PlanError(f"not what was asked for: {error}") from None
