"""A network of semantic routers, told as other overlays are: with the plan that it amounts to.

Routers have no plan, and no coordinator knows what their clients want. But their trees follow from the topology, and
sessions and the sources' latest messages say the rest: who wants what, which message went where. With that filled in,
all views hold for them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from semcast.channels.selectivity import Selectivity
from semcast.dashboard.samples import matches
from semcast.dashboard.snapshot import Json, Snapshot
from semcast.matching.matches import Matches
from semcast.model.message import ProfileText
from semcast.planning.build import Request, make_plan
from semcast.planning.origins import Origins
from semcast.planning.plan import Plan
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.declared import having
from semcast.trees.topology import natural


def completed(found: Snapshot) -> Snapshot:
    """The same with subscriptions, a plan, and of each sampled message what it matched and which gateways it was for.

    Sessions of who is away count until their gateway says otherwise. Matches every sampled message against every
    distinct profile anew.
    """
    wanted = _wanted(found.sessions)
    if not wanted:
        return replace(found, plan={}, wanted=[])
    plan = _plan(found, {it["id"]: it["gateways"] for it in wanted})
    done = replace(found, plan=msgspec.to_builtins(plan), wanted=wanted)
    for source, told in done.samples.items():
        _tell_ways(told, source, done.profiles, plan)
    return done


def _wanted(sessions: Mapping[str, list[Json]]) -> list[Json]:
    """Distinct profiles, as a coordinator would list them."""
    held: dict[tuple[str, str, str], set[str]] = {}
    for gateway, told in sessions.items():
        for session in told:
            profile = session["stream"], session["language"], session["profile"]
            held.setdefault(profile, set()).add(gateway)
    return [
        {
            "id": f"{stream}: {text}",
            "stream": stream,
            "language": language,
            "profile": text,
            "gateways": sorted(gateways, key=natural),
        }
        for (stream, language, text), gateways in sorted(held.items())
    ]


def _plan(found: Snapshot, wanted_at: Mapping[str, list[str]]) -> Plan:
    """A tree of shortest paths from each source to all that anybody wants something at; it is called by its source."""
    topology = found.topology
    gateways, sources = having(topology, "gateway"), having(topology, "source")
    subscriptions = Subscriptions.of(gateways, wanted_at, {name: name for name in wanted_at})
    unknown = Selectivity.of(Matches.none(1), len(wanted_at))
    request = Request(topology, sources[0], subscriptions, unknown, origins=Origins.spread(sources, 1))
    plan = make_plan("semnet", request)
    names = {channel.id: source for channel, source in zip(plan.channels, sources, strict=True)}
    channels = tuple(msgspec.structs.replace(channel, id=names[channel.id]) for channel in plan.channels)
    assignment = {profile: tuple(names[channel] for channel in held) for profile, held in plan.assignment.items()}
    epoch = found.status["epoch"]
    return msgspec.structs.replace(plan, epoch=epoch, channels=channels, assignment=assignment)


def _tell_ways(told: Json, source: str, profiles: Mapping[str, ProfileText], plan: Plan) -> None:
    seen = [one for held in told["streams"].values() for one in held]
    matched = matches(profiles, seen)
    told["matched"] = matched
    for one, names in zip(seen, matched, strict=True):
        to = sorted({gateway for name in names for gateway in plan.subscriptions[name]}, key=natural)
        one["profiles"] = names
        one["way"] = [{"channel": source, "version": 0, "to": to}] if to else []
