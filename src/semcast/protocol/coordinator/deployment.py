"""A plan as it is put into practice: versions of trees, and what each broker, source and gateway has to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from semcast.model.message import ProfileText
from semcast.planning.masks import below, branch_masks
from semcast.planning.plan import Plan, PlannedChannel
from semcast.protocol.profile_texts import covers
from semcast.protocol.wire.frames import Entry, Key, PlannedTree, Switch, TreeLink
from semcast.trees.topology import Topology


class Deployment(msgspec.Struct, frozen=True):
    """A plan, and all that goes with it."""

    plan: Plan
    versions: dict[str, int]
    """Channel → the version of its tree: the epoch in which it was made."""
    profiles: dict[str, ProfileText]
    """None where sources follow the roster: then nobody who comes or goes changes the plan."""
    wanted: dict[str, tuple[str, ...]]
    """Profile's name → the gateways that want it, away or not."""
    brokers: tuple[str, ...]
    """Those that can be used."""
    down: tuple[tuple[str, str], ...]
    """Links that cannot."""
    sources: tuple[str, ...]
    absent: tuple[str, ...]
    late: dict[str, float] = {}
    """``gateway/profile`` → expected delay in ms, where a bound is not met."""
    version: int = 0
    """Of the roster that it was made from; 0 in stores of versions that had none."""

    @property
    def epoch(self) -> int:
        return self.plan.epoch

    def key(self, channel: PlannedChannel) -> Key:
        return channel.id, self.versions[channel.id]

    def keys(self) -> list[Key]:
        return [self.key(channel) for channel in self.plan.channels]

    def members(self, gateway: str) -> tuple[tuple[Key, str | None], ...]:
        """The trees that a gateway belongs to, each with the source that alone uses it, if one does."""
        alone = self.plan.kind.per_source
        return tuple(
            (self.key(channel), channel.rendezvous if alone else None)
            for channel in self.plan.channels
            if gateway in channel.gateways
        )

    def switch(self, source: str, term: int) -> Switch:
        """What a source has to know."""
        acking = set(acking_channels(self.plan))
        trees = tuple(
            PlannedTree(
                self.key(channel),
                channel.expression,
                channel.rendezvous,
                channel.tree,
                tuple(sorted(self.plan.bits[gateway] for gateway in channel.gateways)),
                channel.id in acking,
            )
            for channel in self.plan.channels
            if not self.plan.kind.per_source or channel.rendezvous == source
        )
        profiles = tuple((name, text, self.wanted[name]) for name, text in self.profiles.items())
        return Switch(
            term, self.epoch, self.plan.scheme, self.plan.gateways, profiles, trees, self.absent, self.version
        )  # fmt: skip


def acking_channels(plan: Plan) -> list[str]:
    """Channels whose trees hold all gateways together, few: acks go up these and no others.

    Where trees serve one source alone, each source has a set of its own.
    """
    roots = {c.rendezvous for c in plan.channels} if plan.kind.per_source else {None}
    chosen: list[str] = []
    for root in sorted(roots, key=str):
        of_root = [c for c in plan.channels if root is None or c.rendezvous == root]
        left = {gateway for channel in of_root for gateway in channel.gateways}
        while left:
            best = max(of_root, key=lambda channel: len(left & set(channel.gateways)))
            left -= set(best.gateways)
            chosen.append(best.id)
    return chosen


def tables(deployment: Deployment, topology: Topology) -> dict[str, dict[Key, Entry]]:
    """Per broker its entries; ``topology`` has only what can be used."""
    plan = deployment.plan
    acking = set(acking_channels(plan))
    found: dict[str, dict[Key, Entry]] = {}
    for channel in plan.channels:
        for broker, entry in _entries(deployment, channel, topology, channel.id in acking).items():
            found.setdefault(broker, {})[entry.key] = entry
    return found


def _entries(deployment: Deployment, channel: PlannedChannel, topology: Topology, acks: bool) -> dict[str, Entry]:
    plan, key = deployment.plan, deployment.key(channel)
    parent = {child: above for above, child in channel.tree}
    children: dict[str, list[str]] = {}
    for above, child in channel.tree:
        children.setdefault(above, []).append(child)
    on_tree = [channel.rendezvous, *parent]
    bits = {gateway: 1 << plan.bits[gateway] for gateway in channel.gateways}
    behind = below(channel.rendezvous, channel.tree, bits)
    masks = branch_masks(channel.rendezvous, channel.tree, bits) if plan.kind.masked else {}
    ups = _ups(channel, topology, deployment.sources) if not plan.kind.filtered else {}
    entries: dict[str, Entry] = {}
    for broker in dict.fromkeys([*on_tree, *ups]):
        bit = plan.bits[broker] if broker in channel.gateways else None
        profiles: tuple[ProfileText, ...] = ()
        if plan.kind.masked:
            links = tuple(TreeLink(other, _bytes(mask)) for other, mask in masks[broker].items())
        elif plan.kind.per_hop:
            links, profiles = _filtered_links(broker, children.get(broker, []), behind, deployment, bit)
        else:
            links = tuple(TreeLink(child) for child in children.get(broker, []))
        here = broker in behind
        entries[broker] = Entry(
            key, parent.get(broker), links, tuple(ups.get(broker, ())), bit, acks and here, profiles
        )  # fmt: skip
    return entries


def _bytes(mask: int) -> bytes:
    return mask.to_bytes((mask.bit_length() + 7) // 8, "little")


def _filtered_links(
    broker: str, children: list[str], behind: Mapping[str, int], deployment: Deployment, bit: int | None
) -> tuple[tuple[TreeLink, ...], tuple[ProfileText, ...]]:
    """Filter tables as profiles leave them that travel towards the source: per link, without what others cover."""
    sets = [(child, _wanted(deployment, behind[child])) for child in children]
    if bit is not None:
        sets.append((broker, _wanted(deployment, 1 << bit)))
    profiles = list(dict.fromkeys(profile for _, held in sets for profile in held))
    place = {profile: number for number, profile in enumerate(profiles)}
    return tuple(TreeLink(at, None, tuple(place[p] for p in held)) for at, held in sets), tuple(profiles)


def _wanted(deployment: Deployment, gateways: int) -> list[ProfileText]:
    bits = deployment.plan.bits
    held = [
        deployment.profiles[name]
        for name, names in deployment.plan.subscriptions.items()
        if any(gateways >> bits[gateway] & 1 for gateway in names)
    ]
    return aggregated(held)


def aggregated(profiles: Iterable[ProfileText]) -> list[ProfileText]:
    """Without those that another one covers; of equal ones the first stays."""
    kept: list[ProfileText] = []
    for profile in profiles:
        if any(covers(wide, profile) for wide in kept):
            continue
        kept = [narrow for narrow in kept if not covers(profile, narrow)]
        kept.append(profile)
    return kept


def _ups(channel: PlannedChannel, topology: Topology, sources: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Per broker on the way of a source to the rendezvous point: (source, next broker)."""
    found: dict[str, list[tuple[str, str]]] = {}
    root = topology.node(channel.rendezvous)
    for source in sources:
        path = topology.ids(topology.graph.paths(topology.node(source)).to(root))
        found.setdefault(source, [])
        for here, following in pairwise(path):
            found.setdefault(here, []).append((source, following))
    return found
