"""From the plan in force to the next: new statistics and subscriptions change as few channels as the gain justifies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from semcast.planning import masked
from semcast.planning.build import Request, make_plan, masked_plan, sampled
from semcast.planning.changes import Delta, LivePlan, aligned, delta, worth_it
from semcast.planning.cost import cost_of
from semcast.planning.live import Covers, fresh
from semcast.planning.masked import MaskedChannels
from semcast.planning.plan import Plan, PlanError
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.tree import Tree


class Reorganised(NamedTuple):
    """The plan to go on with, and what has to happen for it."""

    plan: Plan
    change: Delta
    kept: str | None
    """Why channels stay as they are, as far as subscriptions allow; None where they were changed."""


def reorganised(
    old: Plan,
    request: Request,
    covers: Covers,
    least_gain: float | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Reorganised:
    """Plan anew from a plan in force; nothing is withheld from anyone, whether it changes or not.

    Under ``masked`` a tree is replaced or added only where that alone saves ``least_gain`` of the cost (0.2 %). Under
    other schemes a new plan must save it as a whole (5 %, on the messages of the request); else the old channels are
    kept and follow the subscriptions, as in a LivePlan. A plan that stays as it is keeps its epoch.
    """
    request = replace(request, term=old.term, epoch=old.epoch + 1)
    gain = old.kind.least_gain if least_gain is None else least_gain
    return old.kind.reorganised(old, request, covers, gain, say)


def followed(old: Plan, request: Request, covers: Covers) -> Plan:
    """The old channels under the subscriptions of a request."""
    wanted = request.subscriptions
    live = LivePlan(old, request.topology, covers, np.random.default_rng(request.seed), request.closest)
    for profile, gateways in old.subscriptions.items():
        if wanted.wanted_at.get(profile) != gateways or not _same_class(old, wanted, profile):
            live.unsubscribe(profile)
    held = live.plan().subscriptions
    for profile, gateways in wanted.wanted_at.items():
        if profile not in held:
            live.subscribe(profile, gateways)
    return msgspec.structs.replace(live.plan(), same_as=dict(wanted.same_as), sources=request.entered.sources)


def _same_class(old: Plan, wanted: Subscriptions, profile: str) -> bool:
    """Does it still say the same as the profile that stands for it in the old expressions?"""
    first = old.same_as.get(profile, profile)
    return first in wanted.wanted_at and wanted.numbers[first] == wanted.numbers[profile]


def tree_by_tree(old: Plan, request: Request, least_gain: float, say: Callable[[str], None]) -> Reorganised:
    """Replace or add the trees of a masked plan that alone save ``least_gain`` of the cost; the others stay."""
    topology = request.topology
    say(f"what is better than {len(old.channels)} trees")
    samples, weights = sampled(request)
    trees = tuple(old.tree(channel, topology) for channel in old.channels)
    gateways = next(iter(samples.values())).gateways
    before = MaskedChannels(gateways, tuple(samples), trees, 0.0, 0.0, 0.0, 0, 0, "settled")
    rng = np.random.default_rng(request.seed)
    found = masked.replan(
        topology.graph, before, samples, request.channels, rng, least_gain=least_gain, weights=weights
    )
    names = [channel.id for channel in old.channels]
    ids: list[str] = []
    for place, tree in enumerate(found.trees):
        stays = place < len(trees) and _links(trees[place]) <= _links(tree)
        ids.append(names[place] if stays else fresh([*names, *ids]))
    new = masked_plan(request, found, ids)
    kept = f"no other tree saves {least_gain:.2%} of the cost" if set(ids) == set(names) else None
    return _result(old, new, kept)


def compared(old: Plan, request: Request, covers: Covers, least_gain: float, say: Callable[[str], None]) -> Reorganised:
    """Make a new plan and take it if it saves enough on the same messages; else keep the channels that there are."""
    new = make_plan(old.scheme, request, say)
    if old.kind.per_source and set(old.sources) != set(request.entered.sources):
        return _result(old, aligned(old, new), None)  # its paths lead from elsewhere
    say("the old channels under today's subscriptions")
    current = followed(old, request, covers)
    new = aligned(current, new)
    before, after = (_cost(plan, request) for plan in (current, new))
    if worth_it(before, after, delta(current, new), least_gain):
        return _result(old, new, None)
    found = f"the best plan found has {after:.2f} transmissions per message for {before:.2f}"
    return _result(old, current, f"{found}, and a change must save {least_gain:.1%}")


def _result(old: Plan, new: Plan, kept: str | None) -> Reorganised:
    change = delta(old, new)
    same = not change and old.subscriptions == new.subscriptions and old.gateways == new.gateways
    return Reorganised(msgspec.structs.replace(new, epoch=old.epoch) if same else new, change, kept)


def _cost(plan: Plan, request: Request) -> float:
    counted = cost_of(
        plan,
        request.topology,
        request.subscriptions,
        request.selectivity.matches,
        request.entered,
        oracle_messages=0,
    )
    if counted.missed:
        raise PlanError(f"{counted.missed} deliveries would be missed")
    return counted.plan_with_leg


def _links(tree: Tree) -> set[tuple[int, int]]:
    return {(min(a, b), max(a, b)) for a, b in tree.links.tolist()}
