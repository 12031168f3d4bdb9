"""A small overlay as its members would tell of it: s – m – g1, m – g2, s – g2."""

from __future__ import annotations

from typing import Any

from semcast.dashboard.snapshot import Snapshot

TOPOLOGY = {
    "brokers": [
        {"id": "g1", "roles": ["gateway"]},
        {"id": "g2", "roles": ["gateway"]},
        {"id": "m", "roles": []},
        {"id": "s", "roles": ["source"]},
    ],
    "links": [{"a": "s", "b": "m"}, {"a": "m", "b": "g1"}, {"a": "m", "b": "g2"}, {"a": "s", "b": "g2"}],
}
CHANNEL = {
    "id": "c0",
    "stream": None,
    "expression": None,
    "profiles": [],
    "gateways": ["g1", "g2"],
    "rendezvous": "s",
    "tree": [["s", "m"], ["m", "g1"], ["m", "g2"]],
    "rate": 0.0,
}
PROFILES = {"p0": ("price > 10", ["g1"]), "p1": ("price > 50", ["g1", "g2"]), "p2": ("price < 5", ["g2"])}


def message(number: int, price: float, *to: str) -> dict[str, Any]:
    way = [{"channel": "c0", "version": 1, "to": list(to)}] if to else []
    about = {"id": f"s:{number}", "stream": "quotes", "time_ms": number, "epoch": 3, "profiles": []}
    return {**about, "json": {"price": price, "symbol": "IBM" if price > 50 else "SAP"}, "way": way}


def session(name: str, profile: str) -> dict[str, Any]:
    delivered = {"messages": 3, "mean_ms": 2.0, "last_ms": 1.0, "worst_ms": 4.0}
    about = {"session": name, "client": "me", "stream": "quotes", "language": "relational", "profile": profile}
    state = {"live": True, "durable": False, "waiting": 0, "max_delay_ms": None, "expected_delay_ms": None}
    return {**about, **state, "delivered": delivered}


def link(messages: int) -> dict[str, Any]:
    return {"up": True, "rtt_ms": 1.0, "messages_out": messages, "data_bytes_out": 0, "waiting_bytes": 0}


def snapshot(**changes: Any) -> Snapshot:
    names = {broker["id"]: broker["roles"] for broker in TOPOLOGY["brokers"]}
    brokers: dict[str, Any] = {name: {"up": True, "roles": roles, "links": {}} for name, roles in names.items()}
    for edge in TOPOLOGY["links"]:
        brokers[edge["a"]]["links"][edge["b"]] = link(4)  # type: ignore[index]
        brokers[edge["b"]]["links"][edge["a"]] = link(0)  # type: ignore[index]
    status = {"name": "c0", "term": 1, "epoch": 3, "leads": True, "phase": "settled", "brokers": brokers}
    wanted = [
        {"id": name, "stream": "quotes", "language": "relational", "profile": text, "gateways": gateways}
        for name, (text, gateways) in PROFILES.items()
    ]
    held = {name: gateways for name, (_, gateways) in PROFILES.items()}
    plan = {"term": 1, "epoch": 3, "scheme": "masked", "gateways": ["g1", "g2"], "subscriptions": held}
    plan |= {"channels": [CHANNEL], "assignment": {name: ["c0"] for name in PROFILES}}
    overlay = {"name": "small", "scheme": "masked", "members": {}, "coordinators": {}, "topology": TOPOLOGY}
    overlay["streams"] = {"quotes": {"schema": {"price": "double"}}}
    given: dict[str, Any] = {
        "at": 1000.0,
        "overlay": overlay,
        "status": status | {"channels": 1, "subscriptions": 3},
        "plan": plan,
        "wanted": wanted,
        "sessions": {"g1": [session("a", "price > 10")], "g2": [session("b", "price < 5 OR symbol = 'IBM'")]},
        "samples": {
            "s": {
                "matched": [["p0"], ["p0", "p1"], ["p2"], []],
                "streams": {
                    "quotes": [message(1, 20, "g1"), message(2, 60, "g1", "g2"), message(3, 1, "g2"), message(4, 7)]
                },
            }
        },
    }
    return Snapshot(**{**given, **changes})
