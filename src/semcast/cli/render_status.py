"""How an overlay or a broker stands, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console

from semcast.cli import render

_stdout = Console()


def show_status(found: dict[str, Any]) -> None:
    """A coordinator's table of brokers, or a broker's table of links."""
    if found["role"] == "broker":
        _show_ports(found) if "router" in found else _show_links(found)
        return
    if found["scheme"] == "semnet":
        _show_routers(found)
        return
    head = f"{found['overlay']}: {found['scheme']}, epoch {found['epoch']} ({found['phase']})"
    rows = [_row(name, broker) for name, broker in found["brokers"].items()]
    columns = ["broker", "roles", "", "sessions", "log", "messages out", "MB out", "control", "shed"]
    counted = f"channels: {found['channels']}, profiles: {found['subscriptions']}"
    render.table(f"{head}, {counted}", columns, rows, _stdout)


def _row(name: str, broker: dict[str, Any]) -> list[str]:
    links = broker.get("links", {}).values()
    source, gateway = broker.get("source"), broker.get("gateway")
    return [
        name,
        ", ".join(broker["roles"]) or "interior",
        "up" if broker["up"] else "DOWN",
        f"{gateway['live']}/{gateway['sessions']}" if gateway else "",
        f"{source['end'] - source['trimmed']:,} of {source['end']:,}" if source else "",
        f"{sum(link['messages_out'] for link in links):,}",
        *_volume(links),
        f"{broker.get('notes', {}).get('shed', 0):,}",
    ]


def _show_links(found: dict[str, Any]) -> None:
    rows = [
        [
            name,
            "up" if link["up"] else "DOWN",
            f"{link['rtt_ms']:.2f}" if link["rtt_ms"] is not None else "",
            f"{link['messages_out']:,}",
            f"{link['messages_in']:,}",
            f"{link['data_bytes_out'] / 1e6:.1f}",
            f"{link['waiting_bytes']:,}",
        ]
        for name, link in found["links"].items()
    ]
    title = f"{found['name']} ({', '.join(found['roles']) or 'interior'}) at {found['address']}, {found['trees']} trees"
    columns = ["link", "", "round trip, ms", "messages out", "messages in", "MB out", "bytes waiting"]
    render.table(title, columns, rows, _stdout)


_PACKETS = {"packets_out": "packets out", "filtered": "filtered", "updates_out": "updates out"}
_VOLUME = ["MB out", "control"]


def _show_routers(found: dict[str, Any]) -> None:
    """Routers by themselves: there is no plan of which to tell."""
    rows = [_router_row(name, broker) for name, broker in found["brokers"].items()]
    up = sum(broker["up"] for broker in found["brokers"].values())
    profiles = sum(broker.get("gateway", {}).get("profiles", 0) for broker in found["brokers"].values())
    title = f"{found['overlay']}: semnet, {up} of {len(rows)} routers up, profiles of clients: {profiles}"
    columns = ["router", "roles", "", "sessions", "filters (nodes)", *_PACKETS.values(), *_VOLUME, "shed"]
    render.table(title, columns, rows, _stdout)


def _router_row(name: str, broker: dict[str, Any]) -> list[str]:
    router, gateway = broker.get("router"), broker.get("gateway")
    cells = [""] * (1 + len(_PACKETS) + len(_VOLUME))
    if router is not None:
        size = f"{router['filters']:,} ({router['filter_nodes']:,})"
        cells = [size, *(f"{router[key]:,}" for key in _PACKETS), *_volume(broker["links"].values())]
    return [
        name,
        ", ".join(broker["roles"]) or "interior",
        "up" if broker["up"] else "DOWN",
        f"{gateway['live']}/{gateway['sessions']}" if gateway else "",
        *cells,
        f"{broker.get('notes', {}).get('shed', 0):,}",
    ]


def _volume(links: Iterable[dict[str, Any]]) -> list[str]:
    held = list(links)
    data, control = (sum(link[key] for link in held) for key in ("data_bytes_out", "control_bytes_out"))
    return [f"{data / 1e6:.1f}", f"{control / max(1, data + control):.1%}"]


def _show_ports(found: dict[str, Any]) -> None:
    """A router's ports; a link that is in no tree is none, and nothing is counted there."""
    router = found["router"]
    keys = {"packets_in": "packets in", **_PACKETS, "updates_in": "updates in"}
    rows = [
        [
            name,
            "up" if link["up"] else "DOWN",
            f"{link['rtt_ms']:.2f}" if link["rtt_ms"] is not None else "",
            *(f"{router['ports'][name][key]:,}" if name in router["ports"] else "" for key in keys),
            *_volume([link]),
        ]
        for name, link in found["links"].items()
    ]
    roles = ", ".join(found["roles"]) or "interior"
    title = f"{found['name']} ({roles}) at {found['address']}, filters: {router['filters']}"
    title += f" ({router['filter_nodes']:,} nodes), trees: {router['trees']}"
    render.table(title, ["port", "", "round trip, ms", *keys.values(), *_VOLUME], rows, _stdout)
