"""How a broker or coordinator stands, as JSON: what people, scripts and probes look at.

Every function takes a host and gives what it knows. A broker knows its own tables and clients; who wants the whole of
channels and trees asks a coordinator, and is told where.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from semcast.channels.spans import places_of
from semcast.client.messages import Received
from semcast.planning.schemes import scheme_of
from semcast.protocol.stores import AWAY
from semcast.server.broker import BrokerHost
from semcast.server.coordinator import CoordinatorHost
from semcast.server.deliveries import Given
from semcast.server.http.feeds import Feeds
from semcast.server.http.shapes import shown

if TYPE_CHECKING:
    from semcast.planning.plan import Plan
    from semcast.protocol.broker.broker import Table
    from semcast.protocol.gateway.sessions import Session
    from semcast.protocol.source.samples import Seen
    from semcast.protocol.wire.frames import PlannedTree

AnyHost = BrokerHost | CoordinatorHost


def health(host: AnyHost) -> dict[str, Any]:
    """``healthy``, and else why not: whatever keeps this process from doing its part."""
    reasons = _broker_troubles(host) if isinstance(host, BrokerHost) else _coordinator_troubles(host)
    return {"name": host.name, "role": host.role, "healthy": not reasons, "reasons": reasons}


def _broker_troubles(host: BrokerHost) -> list[str]:
    reasons = []
    if host.over:
        reasons.append("it has stopped, or cannot go on; its log says why")
    if host.trouble:
        reasons.append(f"nothing can be written, it is tried again: {host.trouble}")
    if not any(name in host.peers for name in host.view.coordinators):
        reasons.append(f"no coordinator is connected ({', '.join(host.view.coordinators) or 'none is known'})")
    source = host.node.source
    if source is not None and not source.leased(asyncio.get_running_loop().time()):
        reasons.append("the source has no lease from a coordinator and takes no messages in")
    if host.neighbours and not any(name in host.peers for name in host.neighbours):
        reasons.append("no neighbour is connected")
    return reasons


def _coordinator_troubles(host: CoordinatorHost) -> list[str]:
    reasons = []
    if host.over:
        reasons.append("it has stopped, or cannot go on; its log says why")
    if host.leads and host.machine.current is None:
        reasons.append("there is no plan yet")
    return reasons


def elsewhere(host: AnyHost) -> dict[str, str]:
    """Where coordinators can be asked."""
    return {name: f"http://{address}" for name, address in host.view.coordinators.items()}


def channels(host: AnyHost) -> dict[str, Any]:
    """The channels of the plan in force; at a broker those that it has to do with."""
    if not scheme_of(host.view.scheme).coordinated:
        return {
            "scheme": host.view.scheme,
            "channels": [],
            "routers": "have no channels; /treez shows what they filter by",
        }
    if isinstance(host, BrokerHost):
        source = host.node.source
        following = source.following if source is not None else None
        known = following.trees.values() if following is not None else ()
        gateways = following.gateways if following is not None else ()
        found = [_followed(tree, gateways) for tree in known]
        own = [{"id": key[0], "version": key[1]} for key in sorted(host.node.broker.tables)]
        epoch = following.epoch if following is not None else None
        about = {"epoch": epoch, "channels": found or own, "coordinators": elsewhere(host)}
        return about | _counted(host)
    deployment = host.machine.deployment
    if deployment is None:
        return {"epoch": 0, "channels": []}
    planned = [
        {
            "id": channel.id,
            "version": deployment.versions[channel.id],
            "stream": channel.stream,
            "expression": channel.expression,
            "rate": channel.rate,
            "gateways": channel.gateways,
            "profiles": {name: deployment.profiles[name].text for name in channel.profiles},
            "rendezvous": channel.rendezvous,
        }
        for channel in deployment.plan.channels
    ]
    return {"epoch": deployment.epoch, "scheme": deployment.plan.scheme, "channels": planned}


def _counted(host: BrokerHost) -> dict[str, Any]:
    """What a source has sent on channels, and what they have brought to a gateway, each since it was started."""
    found: dict[str, Any] = {}
    source, gateway = host.node.source, host.node.gateway
    if source is not None and source.following is not None:
        found["sent"] = {key[0]: {"messages": sent.messages, "to": sent.to} for key, sent in source.carried().items()}
    if gateway is not None:
        came = sorted(gateway.came.items())
        found["received"] = {channel: {"messages": it.messages, "useful": it.useful} for channel, it in came}
    return found


def plan(host: CoordinatorHost) -> Plan | dict[str, Any]:
    """The plan in force, as a plan file has it; an empty one where there is none yet."""
    deployment = host.machine.deployment
    return deployment.plan if deployment is not None else {"epoch": 0, "channels": []}


def overlay(host: AnyHost) -> dict[str, Any]:
    """Who belongs to the overlay, where, over which links, and which streams there are."""
    view = host.view
    assert view.topology is not None  # only clients are not told
    return {
        "name": view.name,
        "asked": host.name,
        "scheme": view.scheme,
        "streams": view.streams,
        "coordinators": view.coordinators,
        "members": {name: {"address": member.address, "roles": member.roles} for name, member in view.members.items()},
        "topology": msgspec.Raw(view.topology.encode()),
    }


def samples(host: AnyHost) -> dict[str, Any]:
    """A source's latest messages: which profiles they matched, and of each stream some in full, with their way."""
    source = host.node.source if isinstance(host, BrokerHost) else None
    if source is None:
        return {"source": None, "matched": [], "streams": {}}
    gateways = source.following.gateways if source.following is not None else ()
    streams = {
        stream: [_seen(host.name, seen, gateways, host.view.streams[stream].language) for seen in held]
        for stream, held in source.sampling.shown.items()
        if stream in host.view.streams
    }
    matched = list(source.sampling.matched)
    return {"source": host.name, "every": source.sampling.every, "matched": matched, "streams": streams}


def _seen(source: str, seen: Seen, gateways: tuple[str, ...], language: str) -> dict[str, Any]:
    way = [
        {"channel": key[0], "version": key[1], "to": [gateways[bit] for bit in places_of(mask) if bit < len(gateways)]}
        for key, mask in seen.routes
        if key != AWAY
    ]
    told = shown(Received(source, seen.number, seen.message), language)
    return {**told, "epoch": seen.epoch, "profiles": seen.profiles, "way": way}


def _followed(tree: PlannedTree, gateways: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": tree.key[0],
        "version": tree.key[1],
        "expression": tree.expression,
        "gateways": [gateways[bit] for bit in tree.gateways],
        "rendezvous": tree.rendezvous,
    }


def trees(host: AnyHost) -> dict[str, Any]:
    """Whole trees at a coordinator; at a broker its own place on each."""
    if isinstance(host, BrokerHost) and host.node.router is not None:
        from semcast.server.semnet_status import places

        return {"trees": places(host.node.router), "coordinators": elsewhere(host)}
    if isinstance(host, BrokerHost):
        tables = sorted(host.node.broker.tables.items())
        return {"trees": [_place(key, table) for key, table in tables], "coordinators": elsewhere(host)}
    if not scheme_of(host.view.scheme).coordinated:
        routers = {name: f"http://{member.address}/treez" for name, member in host.view.members.items()}
        return {"scheme": host.view.scheme, "trees": [], "routers": routers}
    deployment = host.machine.current
    if deployment is None:
        return {"epoch": 0, "trees": []}
    found = [
        {
            "channel": channel.id,
            "version": deployment.versions[channel.id],
            "rendezvous": channel.rendezvous,
            "tree": channel.tree,
            "gateways": channel.gateways,
        }
        for channel in deployment.plan.channels
    ]
    return {"epoch": deployment.epoch, "trees": found, "absent": deployment.absent, "down": deployment.down}


def _place(key: tuple[str, int], table: Table) -> dict[str, Any]:
    entry = table.entry
    return {
        "channel": key[0],
        "version": key[1],
        "parent": entry.parent,
        "children": table.children(),
        "gateway_here": entry.bit is not None,
        "towards_rendezvous": dict(entry.ups),
        "forwards_by": "masks" if table.masked else "content" if table.filtered else "channel",
    }


def sessions(host: AnyHost, feeds: Feeds | None) -> dict[str, Any]:
    """Who is subscribed here, to what, and how far it is. A coordinator has those of all, without clients."""
    if isinstance(host, CoordinatorHost) and not scheme_of(host.view.scheme).coordinated:
        routers = {name: f"http://{host.view.members[name].address}/subz" for name in host.view.gateways}
        return {"scheme": host.view.scheme, "subscriptions": [], "routers": routers}
    if isinstance(host, CoordinatorHost):
        deployment = host.machine.deployment
        wanted = deployment.wanted if deployment is not None else {}
        profiles = deployment.profiles if deployment is not None else {}
        return {
            "subscriptions": [
                {
                    "id": name,
                    "stream": profiles[name].stream,
                    "language": profiles[name].language,
                    "profile": profiles[name].text,
                    "gateways": gateways,
                }
                for name, gateways in wanted.items()
            ]
        }
    gateway = host.node.gateway
    if gateway is None:
        return {"sessions": []}
    now = asyncio.get_running_loop().time()
    held = gateway.sessions.values()
    return {"sessions": [_session(session, now, feeds, host.deliveries.to(session.id)) for session in held]}


def _session(session: Session, now: float, feeds: Feeds | None, given: Given) -> dict[str, Any]:
    attach = session.attach
    found: dict[str, Any] = {
        "session": session.id,
        "client": session.client,
        "stream": session.profile.stream,
        "language": session.profile.language,
        "profile": session.profile.text,
        "next_profile": session.next.profile.text if session.next is not None else None,
        "live": session.live,
        "durable": attach.durable,
        "ordered": attach.ordered,
        "waiting": session.waiting,
        "filling": sorted(source for source, way in session.ways.items() if way.filling),
        "cursor": dict(sorted(session.cursor.items())),
        "max_delay_ms": attach.max_delay_ms,
        "expected_delay_ms": session.expected_delay_ms,
        "silent_s": round(now - session.heard_at, 1),
        "expiry_s": session.expiry_s,
        "delivered": given.as_dict(),
    }
    feed = feeds.open.get(session.id) if feeds is not None else None
    if feed is not None:
        age = feed.subscription.staleness
        found["reader"] = "http"
        found["staleness"] = {
            "messages": age.messages,
            "late": age.late,
            "mean_ms": round(age.mean_ms, 3),
            "worst_ms": round(age.worst_ms, 3),
            "error_ms": round(age.error_ms, 3),
        }
    return found
