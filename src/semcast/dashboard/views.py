"""Views: what the page shows, as JSON. Every number on it comes from one of these."""

from __future__ import annotations

from typing import Any

from semcast.dashboard.comparison import SCHEMES, Comparison
from semcast.dashboard.rates import Rates
from semcast.dashboard.snapshot import Json, Snapshot
from semcast.model.palette import style
from semcast.planning.plan import PlannedChannel
from semcast.trees.layout import places
from semcast.trees.topology import Topology, natural


def summary(found: Snapshot, rates: Rates, comparison: Comparison | None) -> Json:
    """What stands above every view."""
    status, brokers = found.status, found.brokers.values()
    published = rates.growth("published")
    costs = comparison.costs if comparison is not None else {}
    return {
        "name": found.overlay["name"],
        "scheme": found.overlay["scheme"],
        "coordinator": status["name"],
        "leads": status["leads"],
        "term": status["term"],
        "epoch": status["epoch"],
        "phase": status["phase"],
        "brokers": len(brokers),
        "up": sum(broker["up"] for broker in brokers),
        "channels": status["channels"],
        "filters": _in_routers(found, "filters"),
        "filter_nodes": _in_routers(found, "filter_nodes"),
        "profiles": len(found.wanted) if found.routers else status["subscriptions"],
        "version": _version(found),
        "sessions": sum(len(held) for held in found.sessions.values()),
        "published_s": rates.per_second("published"),
        "delivered_s": rates.per_second("delivered"),
        "transmissions_s": rates.per_second("transmissions"),
        "measured": rates.growth("transmissions") / published if published >= 1 else None,
        **{name: costs.get(name) for name in ("plan", "spt", "unicast", "oracle")},
    }


def _in_routers(found: Snapshot, what: str) -> int | None:
    """Of all routers together; None where brokers are none."""
    if not found.routers:
        return None
    return sum(int(broker["router"][what]) for broker in found.brokers.values() if "router" in broker)


def _version(found: Snapshot) -> str:
    """Changes whenever the overlay's graph or trees may have."""
    status = found.status
    trees = [len(channel.tree) for channel in found.planned.channels] if found.routers and found.planned else []
    return " ".join(map(str, (status["term"], status["epoch"], status["channels"], len(found.brokers), *trees)))


def overlay(found: Snapshot) -> Json:
    """The graph and the trees on it: what changes with the plan only."""
    plan = found.planned
    channels = [_tree(number, channel) for number, channel in enumerate(plan.channels)] if plan is not None else []
    return {"epoch": found.status["epoch"], **graph(found.topology), "channels": channels}


def graph(topology: Topology) -> Json:
    """Brokers with their places, in the unit square, and links."""
    at = places(topology)
    low, spread = at.min(axis=0), float((at.max(axis=0) - at.min(axis=0)).max()) or 1.0
    brokers = [
        {"id": broker.id, "x": round(float(x), 4), "y": round(float(y), 4), "roles": list(broker.roles)}
        for broker, (x, y) in zip(topology.brokers, (at - low) / spread, strict=True)
    ]
    links = [{"a": link.a, "b": link.b, "cost": link.cost, "delay_ms": link.delay_ms} for link in topology.links]
    return {"brokers": brokers, "links": links}


def _tree(number: int, channel: PlannedChannel) -> Json:
    colour, dashes = style(number)
    return {
        "id": channel.id,
        "colour": colour,
        "dashes": list(dashes),
        "rendezvous": channel.rendezvous,
        "tree": [list(link) for link in channel.tree],
        "gateways": list(channel.gateways),
    }


def loads(found: Snapshot, rates: Rates, comparison: Comparison | None) -> Json:
    """Messages a second over each link, in the order of the overlay's links, and who is up.

    ``now`` is measured, a pair of directions; the others are what sampled messages would do, at the rate of now.
    """
    names = [(link.a, link.b) for link in found.topology.links]
    now = [
        [round(rates.per_second(("transmissions", f"{x}>{y}")), 2) for x, y in ((a, b), (b, a))] for a, b in names
    ]  # fmt: skip
    published = rates.per_second("published")
    expected: Json = {}
    if comparison is not None:
        for scheme in SCHEMES:
            load = comparison.loads[scheme]
            expected[scheme] = [round(published * load.get(name, 0.0), 2) for name in names]
    brokers = found.brokers
    links = [_link_up(found, a, b) for a, b in names]
    return {
        "now": now,
        "expected": expected,
        "costs": comparison.costs if comparison is not None else {},
        "up": {name: broker["up"] for name, broker in brokers.items()},
        "links_up": links,
    }


def _link_up(found: Snapshot, a: str, b: str) -> bool:
    one, other = found.brokers.get(a, {}), found.brokers.get(b, {})
    return bool(one.get("up") and other.get("up") and one.get("links", {}).get(b, {}).get("up"))


def broker(found: Snapshot, rates: Rates, name: str, trees: Json | None) -> Json:
    """One broker: its links, its place on each tree, and what it does as a source or gateway."""
    told = found.brokers[name]
    links = [
        {
            "to": other,
            "up": link["up"],
            "rtt_ms": link["rtt_ms"],
            "out_s": rates.per_second(("transmissions", f"{name}>{other}")),
            "in_s": rates.per_second(("transmissions", f"{other}>{name}")),
            "messages_out": link["messages_out"],
            "waiting_bytes": link["waiting_bytes"],
        }
        for other, link in sorted(told.get("links", {}).items(), key=lambda item: natural(item[0]))
    ]
    about = {key: told.get(key) for key in ("up", "roles", "address", "uptime_s", "source", "gateway", "heard_s")}
    return {"id": name, **about, "links": links, "trees": trees["trees"] if trees is not None else None}


def channels(found: Snapshot, rates: Rates, comparison: Comparison | None) -> Json:
    """Each channel: what it carries, for whom, how much, and how much of that was wanted.

    Routers have none: of them it is told what they filter by, and what that kept back.
    """
    plan = found.planned
    if found.routers:
        return {"epoch": 0, "scheme": found.overlay["scheme"], "channels": [], "routers": _routers(found, rates)}
    if plan is None:
        return {"epoch": 0, "scheme": found.overlay["scheme"], "channels": []}
    rows = []
    for number, channel in enumerate(plan.channels):
        colour, dashes = style(number)
        assigned = [profile for profile, names in plan.assignment.items() if channel.id in names]
        rows.append(
            {
                "id": channel.id,
                "colour": colour,
                "dashes": list(dashes),
                "expression": channel.expression,
                "profiles": len(assigned),
                "some_profiles": [_text(found, profile) for profile in assigned[:8]],
                "gateways": list(channel.gateways),
                "rendezvous": channel.rendezvous,
                "links": len(channel.tree),
                "rate_s": rates.per_second(f"channel {channel.id}"),
                "share": comparison.carried.get(channel.id) if comparison is not None else None,
                **_traffic(found, channel),
            }
        )
    return {"epoch": plan.epoch, "scheme": plan.scheme, "channels": rows}


def _routers(found: Snapshot, rates: Rates) -> list[Json]:
    counted = ("filters", "filter_nodes", "packets_in", "packets_out", "filtered", "updates_out")
    return [
        {
            "id": name,
            "roles": list(broker["roles"]),
            "up": broker["up"],
            "out_s": sum(rates.per_second(("transmissions", f"{name}>{to}")) for to in broker.get("links", {})),
            **{key: broker["router"][key] if "router" in broker else None for key in counted},
        }
        for name, broker in found.brokers.items()
    ]


def _text(found: Snapshot, profile: str) -> str:
    known = found.profiles.get(profile)
    return known.text if known is not None else profile


def _traffic(found: Snapshot, channel: PlannedChannel) -> Json:
    """Totals since the brokers were started. ``reach``: the share of its gateways that a message is for."""
    sent = [told["sent"][channel.id] for told in found.channels.values() if channel.id in told.get("sent", {})]
    received = [
        told["received"][channel.id] for told in found.channels.values() if channel.id in told.get("received", {})
    ]
    carried, to = sum(it["messages"] for it in sent), sum(sum(it["to"].values()) for it in sent)
    came, useful = sum(it["messages"] for it in received), sum(it["useful"] for it in received)
    return {
        "carried": carried,
        "reach": to / (carried * len(channel.gateways)) if carried and channel.gateways else None,
        "received": came,
        "useful": useful,
        "noise": 1 - useful / came if came else None,
    }


def subscribers(found: Snapshot, rates: Rates) -> Json:
    """Every session at every gateway, with how old what it gets is, against what it asked for."""
    rows = [
        {
            "session": session["session"],
            "client": session["client"],
            "gateway": gateway,
            "stream": session["stream"],
            "language": session["language"],
            "profile": session["profile"],
            "live": session["live"],
            "durable": session["durable"],
            "waiting": session["waiting"],
            "delivered": session["delivered"]["messages"],
            "delivered_s": rates.per_second(("delivered", session["session"])),
            "mean_ms": session["delivered"]["mean_ms"],
            "last_ms": session["delivered"]["last_ms"],
            "worst_ms": session["delivered"]["worst_ms"],
            "max_delay_ms": session["max_delay_ms"],
            "expected_delay_ms": session["expected_delay_ms"],
        }
        for gateway, held in sorted(found.sessions.items(), key=lambda item: natural(item[0]))
        for session in sorted(held, key=lambda session: str(session["session"]))
    ]
    return {"subscribers": rows}


def events(found: Snapshot) -> Json:
    """What was decided and who came and went, the newest first."""
    return {"events": [{**event, "text": sentence(event)} for event in reversed(found.events)]}


def marks(told: list[Json]) -> list[Json]:
    """When plans were made, and which of them anew from statistics."""
    plans = [event for event in told if event["what"] == "plan"]
    return [
        {"at": event["at"], **{name: event["details"][name] for name in ("epoch", "reorganised")}} for event in plans
    ]


def sentence(event: Json) -> str:
    details: dict[str, Any] = event["details"]
    match event["what"]:
        case "plan":
            why = "decided anew from what was sampled" if details["reorganised"] else "adapted to who is there"
            channels = f"{details['channels']} channel{'s' if details['channels'] != 1 else ''}"
            return f"plan {details['epoch']}: {channels}, {why}"
        case "epoch":
            return f"all sources follow plan {details['epoch']}"
        case "leads":
            return f"{event['who']} leads, in term {details['term']}"
        case "deposed":
            return f"{event['who']} leads no longer"
        case "no store":
            return f"{event['who']} cannot reach its store"
        case "broker is here":
            return f"{details['broker']} has said hello"
        case "crash":
            return f"{event['who']} crashes"
        case "restart":
            return f"{event['who']} starts again"
        case "fault":
            return f"{_fault(details['fault'])} {'begins' if details['begins'] else 'ends'}"
        case "broker is gone":
            return f"{details['broker']} is gone: {details['reason']}"
    told = ", ".join(f"{name} {value}" for name, value in details.items())
    return f"{event['what']}{': ' + told if told else ''}"


def _fault(told: Any) -> str:
    return " ".join(f"{name} {value}" for name, value in told.items() if value) if isinstance(told, dict) else str(told)
