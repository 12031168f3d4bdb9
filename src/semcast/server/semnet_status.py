"""How a semantic router stands, as JSON can say it: its ports, what it filters by, and what that takes."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from semcast.profiles.semantic import NOTHING, InterestProfile, size
from semcast.protocol.semnet.ports import Filters, PortCounts
from semcast.protocol.semnet.router import SemanticRouter

_SHOWN = 2000
"""Characters of a filter that are shown; a large one has a megabyte."""


def routing(router: SemanticRouter) -> dict[str, Any]:
    """The size of its filters, and what went through its ports, each and all together."""
    near = {name: router.counts.get(name, PortCounts()) for name in router.neighbours}
    totals = {name.name: sum(getattr(counts, name.name) for counts in near.values()) for name in fields(PortCounts)}
    return {
        "trees": len(router.trees),
        "filters": sum(wanted != NOTHING for held in router.trees.values() for wanted in held.wanted.values()),
        "filter_nodes": sum(held.nodes() for held in router.trees.values()),
        **totals,
        "ports": {name: asdict(counts) for name, counts in near.items()},
    }


def places(router: SemanticRouter) -> list[dict[str, Any]]:
    """Its place in each tree: where packets go on, by which filters, and what it has said to whom."""
    return [_place(name, held) for name, held in sorted(router.trees.items())]


def _place(name: str, held: Filters) -> dict[str, Any]:
    ports = held.ports
    told = {port: held.wanted.get(port, NOTHING) for port in ports.forward}
    wanted = {port: expression for port, expression in told.items() if expression != NOTHING}
    return {
        "tree": name,
        "stream": ports.stream,
        "forwards_by": "interests",
        "filters": {port: _cut(str(InterestProfile.of(expression))) for port, expression in wanted.items()},
        "filter_nodes": {port: size(expression) for port, expression in wanted.items()},
        "nothing_wanted_by": [port for port in ports.forward if port not in wanted],
        "said": {port: _cut(said.text) for port, said in held.said.items()},
        "unconfirmed": [port for port, said in held.said.items() if not said.taken],
    }


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"
