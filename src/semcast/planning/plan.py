"""A plan: the channels of an epoch, with their trees, and who is served by which.

Immutable, versioned by (term, epoch), and a JSON file that people read and script against. Brokers and profiles go
by their ids here; nobody needs a topology to read a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np

from semcast.channels import expressions
from semcast.channels.expressions import Expression
from semcast.model import SemcastError
from semcast.planning.schemes import Scheme, scheme_of
from semcast.trees.topology import Topology
from semcast.trees.tree import Tree


class PlanError(SemcastError):
    """A plan that cannot be used; its text says where it is wrong."""


class PlannedChannel(msgspec.Struct, frozen=True, omit_defaults=True):
    """One channel: what it carries, to whom, and over which links."""

    id: str
    stream: str | None
    expression: str | None
    """Of profile ids; None where a message's gateways and not its profiles decide on its channel."""
    profiles: tuple[str, ...]
    gateways: tuple[str, ...]
    rendezvous: str
    tree: tuple[tuple[str, str], ...]
    """(parent, child), parents first."""
    rate: float
    """The share of the stream's messages that it is expected to carry."""
    source: str | None = None
    """Where it carries the messages of one source only: which."""


class Plan(msgspec.Struct, frozen=True, dict=True):
    """The channels of one epoch."""

    term: int
    epoch: int
    scheme: str
    gateways: tuple[str, ...]
    """In bit order."""
    subscriptions: dict[str, tuple[str, ...]]
    """Profile id → the gateways that have clients for it."""
    channels: tuple[PlannedChannel, ...]
    assignment: dict[str, tuple[str, ...]]
    """Profile id → ids of the channels that together carry all it matches."""
    cost: dict[str, float | None] = {}
    """As ``semcast cost`` counts it on the messages that the plan was made from."""
    estimate: dict[str, float] = {}
    """What the search expected, and how far off that was."""
    same_as: dict[str, str] = {}
    """A profile that says the same as an earlier one → that one, which stands for it in expressions."""
    sources: tuple[str, ...] = ()
    """Where messages enter the overlay, as far as was known."""

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """Read a plan file; PlanError where it is none or contradicts itself."""
        try:
            plan = msgspec.json.decode(text, type=Plan)
        except msgspec.DecodeError as error:
            raise PlanError(f"not a plan: {error}") from None
        plan.check()
        return plan

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Profile id → its number: its place in ``subscriptions``."""
        return {profile: number for number, profile in enumerate(self.subscriptions)}

    @cached_property
    def bits(self) -> dict[str, int]:
        """Gateway id → its bit."""
        return {gateway: bit for bit, gateway in enumerate(self.gateways)}

    @property
    def kind(self) -> Scheme:
        """Its scheme, with what that decides."""
        return scheme_of(self.scheme)

    def expression(self, channel: PlannedChannel) -> Expression | None:
        """What a channel carries, over the plan's numbers."""
        return None if channel.expression is None else expressions.parse(channel.expression, self.numbers)

    def tree(self, channel: PlannedChannel, topology: Topology) -> Tree:
        """A channel's tree over the nodes of a topology; PlanError where that has no such link."""
        links = [(topology.node(parent), topology.node(child)) for parent, child in channel.tree]
        try:
            topology.graph.arcs(np.array(links, np.int32).reshape(-1, 2))
        except KeyError as error:
            ends = " and ".join(map(repr, topology.ids(error.args[0])))
            raise PlanError(f"channel {channel.id!r} uses a link between {ends}; the topology has none") from None
        return Tree.of(topology.node(channel.rendezvous), {child: parent for parent, child in links})

    def check_links(self, topology: Topology) -> None:
        """Raise PlanError unless a topology has all links of all trees."""
        for channel in self.channels:
            self.tree(channel, topology)

    def check(self) -> None:
        """Raise PlanError unless every profile is served by channels that reach its gateways."""
        _unique("gateway", self.gateways)
        _unique("channel", [channel.id for channel in self.channels])
        channels = {channel.id: channel for channel in self.channels}
        for channel in self.channels:
            _check_tree(channel)
            self.expression(channel)
        for profile, gateways in self.subscriptions.items():
            _known("gateway", gateways, self.bits, f"profile {profile!r}")
            assigned = self.assignment.get(profile, ())
            _known("channel", assigned, channels, f"profile {profile!r}")
            if gateways and not assigned:
                raise PlanError(f"profile {profile!r} is assigned to no channel")
            reached = {gateway for name in assigned for gateway in channels[name].gateways}
            missing = set(gateways) - reached
            if missing:
                raise PlanError(f"no channel of profile {profile!r} reaches its gateway {min(missing)!r}")


def _check_tree(channel: PlannedChannel) -> None:
    reached = {channel.rendezvous}
    for parent, child in channel.tree:
        if parent not in reached:
            raise PlanError(f"channel {channel.id!r}: {child!r} hangs at {parent!r}, which is not on the tree yet")
        if child in reached:
            raise PlanError(f"channel {channel.id!r}: {child!r} hangs at two brokers")
        reached.add(child)
    missing = set(channel.gateways) - reached
    if missing:
        raise PlanError(f"channel {channel.id!r}: its tree does not reach gateway {min(missing)!r}")


def _unique(what: str, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise PlanError(f"{what} {twice!r} is there twice")


def _known(what: str, names: Iterable[str], known: Mapping[str, object], who: str) -> None:
    for name in names:
        if name not in known:
            raise PlanError(f"{who} names {what} {name!r}, which the plan does not have")
