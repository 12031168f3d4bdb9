"""How a broker stands, and what it answers when it is asked."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import msgspec

from semcast.protocol.wire.frames import Answer, Ask
from semcast.protocol.wire.framing import fitting

if TYPE_CHECKING:
    from semcast.protocol.gateway.gateway import Gateway
    from semcast.protocol.source.outlet import Outlet
    from semcast.protocol.source.source import Source
    from semcast.server.broker import BrokerHost

_INGEST_FORM = re.compile(r"ingest ([0-9]{1,18}) ([0-9]{1,18})")
_INGEST = 4096
"""Records that are looked at for an answer."""


def answer_of(host: BrokerHost, ask: Ask) -> Answer:
    """For people its status; for pipelines the plan that a source follows, and what waits for them in its log."""
    source = host.node.source
    if ask.what == "status":
        return Answer(ask.request, msgspec.json.encode(status_of(host)))
    if ask.what == "plan" and source is not None:
        following = source.following
        return Answer(ask.request, msgspec.msgpack.encode(following.plan() if following is not None else None))
    asked = _INGEST_FORM.fullmatch(ask.what)
    if asked is not None and source is not None:
        return Answer(ask.request, _waiting(source, int(asked[1]), int(asked[2])))
    return Answer(ask.request, b"", f"a broker cannot be asked for {ask.what!r}; ask a coordinator")


def _waiting(source: Source[Outlet], first: int, through: int) -> bytes:
    """Messages that wait for a pipeline behind a position, and how far that looked."""
    records = source.log.read(first, min(through, source.sent), _INGEST)
    records = records[: fitting(len(record.body) for record in records)]
    end = records[-1].number if records else through
    return msgspec.msgpack.encode((end, source.log.trimmed, [record.body for record in records if not record.epoch]))


def status_of(host: BrokerHost) -> dict[str, Any]:
    """How it stands, as JSON can say it."""
    node = host.node
    found: dict[str, Any] = {
        "name": host.name,
        "role": "broker",
        "roles": list(host.roles),
        "address": host.address,
        "incarnation": host.incarnation,
        "uptime_s": round(time.time() - host.started_at, 1),
        "term": node.term,
        "trees": len(node.broker.tables),
        "clients": sum(peer.role == "client" for peer in host.peers.values()) + len(host.locals),
        "links": {name: link_of(host, name) for name in host.links},
        "notes": dict(host.notes),
        "evaluations": node.broker.evaluations,
        "dropped": host.dropped,
        "refused": dict(host.refused),
        "longest_turn_ms": round(1000 * host.turns.longest_s, 1),
        "trouble": host.trouble,
    }
    if node.source is not None:
        found["source"] = _source(node.source, host.now())
    if node.gateway is not None:
        found["gateway"] = _gateway(node.gateway)
    if node.router is not None:
        from semcast.server.semnet_status import routing

        found["router"] = routing(node.router)
    return found


def _source(source: Source[Outlet], now: float) -> dict[str, Any]:
    return {
        "epoch": source.epoch,
        "version": source.version,
        "profiles": source.profiles,
        "end": source.log.end,
        "sent": source.sent,
        "trimmed": source.log.trimmed,
        "leased": source.leased(now),
    }


def _gateway(gateway: Gateway) -> dict[str, Any]:
    return {
        "sessions": len(gateway.sessions),
        "live": gateway.live_sessions,
        "waiting": gateway.waiting,
        "profiles": len(gateway.interests.profiles),
        "frontier": {name: inbox.frontier for name, inbox in gateway.inboxes.items()},
    }


def link_of(host: BrokerHost, name: str) -> dict[str, Any]:
    """How the link to a neighbour stands, and what went over it."""
    peer, clock, meter = host.peers.get(name), host.clocks.known.get(name), host.links[name]
    return {
        "up": peer is not None,
        "waiting_bytes": peer.waiting if peer is not None else 0,
        "rtt_ms": round(1000 * clock.rtt_s, 3) if clock is not None else None,
        **meter.as_dict(),
    }
