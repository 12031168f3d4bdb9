"""From a message's matches to its channels, by the current plan.

One implementation for Spark tasks and for live sources. Under the papers' schemes the profiles that match a message
decide, by the channels' expressions; under ``masked`` its gateways do, and it takes its cheapest channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.channels.expressions import FALSE, Expression, any_of, renumbered
from semcast.channels.spans import gateways_of
from semcast.matching.matches import Matches
from semcast.model.bits import Bits, bit_numbers
from semcast.planning.demands import Masks, by_gateway, masks_of, profile_masks
from semcast.planning.plan import Plan, PlanError
from semcast.planning.program import Program
from semcast.trees.choice import Choice, Chosen
from semcast.trees.demand import Demand
from semcast.trees.graph import Graph
from semcast.trees.topology import Topology, natural
from semcast.trees.tree import Tree

_SLICE = 1 << 14  # messages at a time, so that the rows of many channels stay in the cache


class ChannelBatch(NamedTuple):
    """Messages that go over one channel."""

    channel: int
    """Its place in the plan."""
    rows: NDArray[np.int64]
    """The messages, ascending."""
    masks: Masks | None = None
    """Under ``masked``, the gateways that each is for: bit g of the words is gateway g of the plan."""


class Router:
    """Routes batches of matches over numbered profiles.

    ``profiles`` are the ids in the order of the matcher's numbers; by default the plan's own. One of each
    class of equal profiles is enough. ``source`` is where the messages enter (under ``masked`` it matters; by default
    where the plan's trees hang); a source that is not on every tree needs the ``topology``, for its leg.
    """

    def __init__(
        self,
        plan: Plan,
        profiles: Sequence[str] | None = None,
        source: str | None = None,
        topology: Topology | None = None,
    ) -> None:
        self.plan = plan
        self.profiles = tuple(plan.subscriptions if profiles is None else profiles)
        self._numbers = self._numbered()
        self._program: Program | None = None
        self._masked: MaskRouter | None = None
        self._source = source or next(iter(plan.sources), None)
        if plan.kind.masked:
            self._masked, self._masks = MaskRouter(plan, self._source, topology), self._profile_masks()
        else:
            self._program = Program(self._expressions(), len(self.profiles))

    def route(self, matches: Matches) -> list[ChannelBatch]:
        """The messages of each channel that has any, channels in the plan's order."""
        if self._masked is not None:
            return self._masked.route(masks_of(matches, self._masks))
        assert self._program is not None
        parts: dict[int, list[NDArray[np.int64]]] = {}
        for first in range(0, matches.rows, _SLICE):
            part = _part(matches, first, min(first + _SLICE, matches.rows))
            for channel, row in enumerate(self._program.rows(part)):
                found = np.empty(part.rows, np.int64)
                count = bit_numbers(row, first, found)
                if count:
                    parts.setdefault(channel, []).append(found[:count])
        return [ChannelBatch(channel, np.concatenate(found)) for channel, found in sorted(parts.items())]

    def carried(self, matches: Matches) -> Bits:
        """The same as bits: bit m of row c says that message m goes over channel c."""
        if self._masked is not None:
            return self._masked.carried(masks_of(matches, self._masks))
        assert self._program is not None
        return self._program.rows(matches)

    def _numbered(self) -> dict[int, int]:
        """The plan's number of each profile → the matcher's, of itself or of the one that stands for it."""
        given = {profile: number for number, profile in enumerate(self.profiles)}
        found: dict[int, int] = {}
        for profile, planned in self.plan.numbers.items():
            place = given.get(profile, given.get(self.plan.same_as.get(profile, profile)))
            if place is None:
                raise PlanError(f"the matcher does not know profile {profile!r} of the plan")
            found[planned] = place
        return found

    def _expressions(self) -> list[Expression]:
        """The channels' expressions over the matcher's numbers."""
        everyone = any_of(self._numbers.values())
        given = {channel.source for channel in self.plan.channels}
        if given and not given & {None, self._source}:
            raise PlanError(f"the plan has no channel for messages of the source {self._source!r}")
        found = []
        known: dict[Expression, Expression] = {}
        for channel in self.plan.channels:
            if channel.source not in (None, self._source):
                found.append(FALSE)
                continue
            expression = self.plan.expression(channel)
            found.append(everyone if expression is None else renumbered(expression, self._numbers, known))
        return found

    def _profile_masks(self) -> Masks:
        """Per number of the matcher the gateways of all profiles that it stands for."""
        held = [0] * len(self.profiles)
        for profile, gateways in self.plan.subscriptions.items():
            held[self._numbers[self.plan.numbers[profile]]] |= gateways_of(self.plan.bits[name] for name in gateways)
        return profile_masks(held, len(self.plan.gateways))


class MaskRouter:
    """Each message over the cheapest tree that holds its gateways, which its mask tells."""

    def __init__(self, plan: Plan, source: str | None = None, topology: Topology | None = None) -> None:
        numbers = _numbers(plan) if topology is None else topology.numbers
        start = plan.channels[0].rendezvous if source is None else source
        trees = [
            Tree.of(numbers[channel.rendezvous], {numbers[child]: numbers[parent] for parent, child in channel.tree})
            for channel in plan.channels
        ]
        if topology is None and any(numbers.get(start) not in tree.nodes for tree in trees):
            raise PlanError(f"not every tree holds the source {start!r}: its legs need the topology")
        graph = topology.graph if topology is not None else Graph.of(len(numbers), _links(trees))
        self._nodes = np.array([numbers[gateway] for gateway in plan.gateways], np.int32)
        self._count = len(trees)
        self._choice = Choice.of(graph, trees, self._nodes, numbers[start])

    def route(self, masks: Masks) -> list[ChannelBatch]:
        """The messages of each channel that has any."""
        chosen = self._chosen(masks).channels
        wanted = np.flatnonzero(masks.any(axis=1))
        order = wanted[np.argsort(chosen[wanted], kind="stable")]  # radix sort: the numbers are short
        ends = np.searchsorted(chosen[order], np.arange(self._count + 1))
        parts = [(channel, order[ends[channel] : ends[channel + 1]]) for channel in range(self._count)]
        return [ChannelBatch(channel, rows, masks[rows]) for channel, rows in parts if len(rows)]

    def carried(self, masks: Masks) -> Bits:
        """The same as bits: bit m of row c says that message m goes over channel c."""
        return self._chosen(masks).carried(self._count, self._demand(masks))

    def _chosen(self, masks: Masks) -> Chosen:
        return self._choice.choose(self._demand(masks))

    def _demand(self, masks: Masks) -> Demand:
        wanted = by_gateway(masks, len(self._nodes))
        return Demand(self._nodes, wanted, len(masks), np.zeros(len(self._nodes), np.int64))


def _numbers(plan: Plan) -> dict[str, int]:
    """All brokers that the plan names, in their natural order."""
    named = {name for channel in plan.channels for link in channel.tree for name in link}
    named |= {channel.rendezvous for channel in plan.channels} | set(plan.gateways)
    return {name: number for number, name in enumerate(sorted(named, key=natural))}


def _links(trees: Sequence[Tree]) -> NDArray[np.int32]:
    return np.unique(np.sort(np.concatenate([tree.links for tree in trees]), axis=1), axis=0)


def _part(matches: Matches, first: int, last: int) -> Matches:
    begin, end = matches.indptr[first], matches.indptr[last]
    return Matches(matches.indptr[first : last + 1] - begin, matches.indices[begin:end])
