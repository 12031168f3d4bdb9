"""What changes from plan to plan, and whether that is worth it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from semcast.planning.live import LivePlan, fresh
from semcast.planning.plan import Plan, PlannedChannel

__all__ = ["Delta", "LivePlan", "aligned", "delta", "worth_it"]


class Delta(NamedTuple):
    """What has to happen for one plan to become another."""

    added: tuple[str, ...]
    """Channels to install."""
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    """Channels that stay, with another tree, other gateways or another expression."""
    migrating: tuple[str, ...]
    """Profiles that are served by other channels than before; none under ``masked``, where messages choose."""

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
        )
        if not new.kind.masked
        else (),
    )


def aligned(old: Plan, new: Plan) -> Plan:
    """The new plan with old ids for channels that carry the same (2004 §3.2: compare roots), so that they stay."""
    taken = {(channel.expression, channel.source): channel.id for channel in old.channels}
    used = {channel.id for channel in old.channels}
    names: dict[str, str] = {}
    for channel in new.channels:
        names[channel.id] = taken.pop((channel.expression, channel.source), "") or fresh(used)
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


def _differs(old: PlannedChannel, new: PlannedChannel) -> bool:
    """Profiles and rates may differ: no broker knows them."""
    return (old.expression, old.rendezvous, set(old.tree), set(old.gateways)) != (
        new.expression, new.rendezvous, set(new.tree), set(new.gateways),
    )  # fmt: skip
