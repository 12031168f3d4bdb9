"""Counters in the text form that Prometheus reads."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from semcast.server.broker import BrokerHost
from semcast.server.broker_status import link_of
from semcast.server.coordinator import CoordinatorHost
from semcast.server.deliveries import BUCKETS_MS
from semcast.server.turns import EDGES_S

if TYPE_CHECKING:
    from semcast.server.http.front import HttpFront

Value = float | int | bool
_LINK_COUNTERS = {
    "messages_out": "Messages sent over a link.",
    "frames_out": "Data frames sent over a link.",
    "data_bytes_out": "Bytes of data frames sent over a link.",
    "control_bytes_out": "Bytes sent over a link that are about the overlay itself.",
    "messages_in": "Messages received over a link.",
    "frames_in": "Data frames received over a link.",
    "data_bytes_in": "Bytes of data frames received over a link.",
}
_PORT_COUNTERS = {
    "packets_in": "Packets that came by a port.",
    "packets_out": "Packets that left by a port.",
    "filtered": "Packets that a port's filter kept back.",
    "copies": "Packets that came again, and were dropped.",
    "updates_in": "Interests that were told by a neighbour.",
    "updates_out": "Interests that were told to a neighbour.",
    "update_bytes_out": "Bytes of profiles told to a neighbour.",
}


class Exposition:
    """Families of metrics, one after the other."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: str, text: str, samples: list[tuple[dict[str, str], Value]]) -> None:
        """A family, if it has samples; counters end in ``_total`` by their name."""
        if samples:
            self._lines += [f"# HELP semcast_{name} {text}", f"# TYPE semcast_{name} {kind}"]
            self._lines += [f"semcast_{name}{_labels(labels)} {_number(value)}" for labels, value in samples]

    def histogram(self, name: str, text: str, edges: Sequence[float], counts: Sequence[int], total: float) -> None:
        """A family of its own; the last count is that of what is above all edges."""
        name = f"semcast_{name}"
        self._lines += [f"# HELP {name} {text}", f"# TYPE {name} histogram"]
        below = list(accumulate(counts))
        self._lines += [f'{name}_bucket{{le="{edge:g}"}} {n}' for edge, n in zip(edges, below, strict=False)]
        self._lines += [f'{name}_bucket{{le="+Inf"}} {below[-1]}', f"{name}_sum {total!r}", f"{name}_count {below[-1]}"]

    def raw(self, lines: Iterator[str]) -> None:
        self._lines += lines

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: Value) -> str:
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def exposition(front: HttpFront) -> str:
    """All that this process counts."""
    found, host = Exposition(), front.host
    about = {"name": host.name, "role": host.role, "overlay": host.view.name}
    found.add("info", "gauge", "Who this is.", [(about, 1)])
    found.add("uptime_seconds", "gauge", "Since it was started.", [({}, time.time() - host.started_at)])
    found.add("notes_total", "counter", "What happened, by kind.", [({"what": k}, v) for k, v in host.notes.items()])
    found.add("dropped_total", "counter", "Frames for somebody who could not be reached.", [({}, host.dropped)])
    refused: list[tuple[dict[str, str], Value]] = [({"what": k}, v) for k, v in host.refused.items()]
    found.add("refused_total", "counter", "Hellos and frames from who may not send them, by kind.", refused)
    turns, text = host.turns, "CPU time for which the event loop kept others waiting."
    found.histogram("turn_seconds", text, EDGES_S, turns.counts, turns.total_s)
    found.add("turn_longest_seconds", "gauge", "The longest of these turns so far.", [({}, turns.longest_s)])
    if isinstance(host, BrokerHost):
        _links(found, host)
        _router(found, host)
        _source(found, host)
        _gateway(found, host)
    else:
        _coordinator(found, host)
    _http(found, front)
    found.raw(_process())
    return str(found)


def _links(found: Exposition, host: BrokerHost) -> None:
    for name, text in _LINK_COUNTERS.items():
        samples: list[tuple[dict[str, str], Value]] = [
            ({"peer": peer}, getattr(meter, name)) for peer, meter in host.links.items()
        ]
        found.add(f"link_{name}_total", "counter", text, samples)
    states = {name: link_of(host, name) for name in host.links}
    found.add("link_up", "gauge", "Is the link there?", [({"peer": p}, s["up"]) for p, s in states.items()])
    waiting: list[tuple[dict[str, str], Value]] = [({"peer": p}, s["waiting_bytes"]) for p, s in states.items()]
    found.add("link_waiting_bytes", "gauge", "Bytes that wait to be written.", waiting)
    rtt: list[tuple[dict[str, str], Value]] = [
        ({"peer": p}, s["rtt_ms"] / 1000) for p, s in states.items() if s["rtt_ms"] is not None
    ]
    found.add("link_rtt_seconds", "gauge", "Round trip, smoothed.", rtt)
    found.add("trees", "gauge", "Trees that this broker is on.", [({}, len(host.node.broker.tables))])
    found.add(
        "evaluations_total", "counter", "Messages matched hop by hop.", [({}, host.node.broker.evaluations)]
    )  # fmt: skip


def _router(found: Exposition, host: BrokerHost) -> None:
    if host.node.router is None:
        return
    from semcast.server.semnet_status import routing

    status = routing(host.node.router)
    found.add("filters", "gauge", "Filters of ports, over all trees.", [({}, status["filters"])])
    found.add("filter_nodes", "gauge", "Nodes and tests of all filters.", [({}, status["filter_nodes"])])
    for name, text in _PORT_COUNTERS.items():
        samples: list[tuple[dict[str, str], Value]] = [
            ({"peer": peer}, counts[name]) for peer, counts in status["ports"].items()
        ]
        found.add(f"port_{name}_total", "counter", text, samples)


def _source(found: Exposition, host: BrokerHost) -> None:
    source = host.node.source
    if source is None:
        return
    found.add("log_end", "gauge", "Position of the log's last message.", [({}, source.log.end)])
    found.add("log_trimmed", "gauge", "Through here the log has forgotten.", [({}, source.log.trimmed)])
    found.add("log_sent", "gauge", "Through here everything was sent.", [({}, source.sent)])
    found.add("source_epoch", "gauge", "Epoch of the plan that is followed.", [({}, source.epoch)])
    found.add("source_leased", "gauge", "May it take messages in?", [({}, source.leased(host.now()))])
    found.add("roster_version", "gauge", "Version of the roster that is matched by.", [({}, source.version)])
    found.add("roster_profiles", "gauge", "Profiles that messages are matched with.", [({}, source.profiles)])
    found.add("roster_astray_total", "counter", "Rosters that had to be replaced.", [({}, source.astray)])


def _gateway(found: Exposition, host: BrokerHost) -> None:
    gateway = host.node.gateway
    if gateway is None:
        return
    found.add("sessions", "gauge", "Subscriptions of clients.", [({}, len(gateway.sessions))])
    found.add("sessions_live", "gauge", "Of which are live.", [({}, gateway.live_sessions)])
    found.add("sessions_waiting", "gauge", "Messages held for clients.", [({}, gateway.waiting)])
    found.add("sessions_shed_total", "counter", "Subscriptions that were sent away.", [({}, gateway.shed)])
    found.add("profiles", "gauge", "Profiles that are asked for.", [({}, len(gateway.interests.profiles))])
    frontier: list[tuple[dict[str, str], Value]] = [
        ({"source": name}, inbox.frontier) for name, inbox in gateway.inboxes.items()
    ]
    found.add("frontier", "gauge", "Through here all of a source has come.", frontier)
    found.add("deliveries_total", "counter", "Messages sent to clients.", [({}, host.deliveries.messages)])
    found.add("delivered_bytes_total", "counter", "Bytes of messages sent to clients.", [({}, host.deliveries.bytes)])
    text = "Age of messages when they leave the gateway, by the first coordinator's clock."
    ages = host.deliveries
    found.histogram("staleness_seconds", text, [ms / 1000 for ms in BUCKETS_MS], ages.ages, ages.total_ms / 1000)


def _coordinator(found: Exposition, host: CoordinatorHost) -> None:
    status = host.status()
    found.add("leads", "gauge", "Does this coordinator lead?", [({}, status["leads"])])
    for name, text in {"term": "Term.", "epoch": "Epoch of the plan.", "channels": "Channels of the plan."}.items():
        found.add(name, "gauge", text, [({}, status[name])])
    found.add("subscriptions", "gauge", "Profiles in the plan.", [({}, status["subscriptions"])])
    found.add("roster_version", "gauge", "Version of the roster that is stored.", [({}, status["version"])])
    found.add("roster_profiles", "gauge", "Profiles that somebody wants.", [({}, status["subscriptions"])])
    found.add("draining", "gauge", "Trees of old plans that are still in use.", [({}, status["draining"])])
    brokers: list[tuple[dict[str, str], Value]] = [({"broker": n}, b["up"]) for n, b in status["brokers"].items()]
    found.add("broker_up", "gauge", "Is a broker there?", brokers)


def _http(found: Exposition, front: HttpFront) -> None:
    found.add("http_requests_total", "counter", "Requests that were answered.", [({}, front.requests)])
    found.add("http_connections", "gauge", "Connections that speak HTTP or WebSocket.", [({}, front.connections)])
    if front.feeds is not None:
        found.add("http_readers", "gauge", "Event streams and subscriptions over them.", [({}, len(front.feeds.open))])


def _process() -> Iterator[str]:
    """What exporters call these everywhere; one process may hold many brokers."""
    times = os.times()
    yield "# TYPE process_cpu_seconds_total counter"
    yield f"process_cpu_seconds_total {times.user + times.system!r}"
    yield "# TYPE process_resident_memory_bytes gauge"
    yield f"process_resident_memory_bytes {_resident()}"


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # no Linux: the most that it ever was
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
