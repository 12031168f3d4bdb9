"""How an overlay or a broker stands, for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from semcast.cli import render

_stdout = Console()


def show_status(found: dict[str, Any]) -> None:
    """A coordinator's table of brokers, or a broker's table of links."""
    if found["role"] == "broker":
        _show_links(found)
        return
    head = f"{found['overlay']}: {found['scheme']}, epoch {found['epoch']} ({found['phase']})"
    rows = [_row(name, broker) for name, broker in found["brokers"].items()]
    columns = ["broker", "roles", "", "sessions", "log", "messages out", "MB out", "control", "shed"]
    render.table(f"{head}, {found['channels']} channels, {found['subscriptions']} profiles", columns, rows, _stdout)


def _row(name: str, broker: dict[str, Any]) -> list[str]:
    links = broker.get("links", {}).values()
    data, control = (sum(link[key] for link in links) for key in ("data_bytes_out", "control_bytes_out"))
    source, gateway = broker.get("source"), broker.get("gateway")
    return [
        name,
        ", ".join(broker["roles"]) or "interior",
        "up" if broker["up"] else "DOWN",
        f"{gateway['live']}/{gateway['sessions']}" if gateway else "",
        f"{source['end'] - source['trimmed']:,} of {source['end']:,}" if source else "",
        f"{sum(link['messages_out'] for link in links):,}",
        f"{data / 1e6:.1f}",
        f"{control / max(1, data + control):.1%}",
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
