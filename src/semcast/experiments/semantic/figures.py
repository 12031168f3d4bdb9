"""Plots like the thesis' Figures 5.5 to 5.19, and of what its future work asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from semcast.experiments.output import dress, figure, save
from semcast.experiments.semantic.fits import line
from semcast.experiments.semantic.load import WAYS, PerPacket, Window
from semcast.experiments.semantic.network import Change, Delay
from semcast.model.palette import BLUE, GREEN, ORANGE

_COLOURS = {"each": ORANGE, "prefilter": GREEN, "shared": BLUE}
_MARKS = {"each": "s", "prefilter": "^", "shared": "o"}


def draw(
    windows: Sequence[Window], costs: Sequence[PerPacket], changes: Sequence[Change], delays: Sequence[Delay], out: Path
) -> list[Path]:
    made = {
        "semantic-load": _load(windows),
        "semantic-costs": _costs(costs),
        "semantic-network": _network(changes, delays),
    }
    return [file for name, drawn in made.items() for file in save(drawn, out, name)]


def _load(windows: Sequence[Window]) -> Any:
    """Figures 5.10 to 5.19: load against packets per second; and 5.5 to 5.9: against selectivity."""
    drawn, panels = figure(3, width=12)
    for axes, kind in zip(panels[:2], ("same", "different"), strict=True):
        for way in WAYS:
            mine = [w for w in windows if (w.profiles, w.matching) == (kind, way)]
            x, y = [w.packets_per_second for w in mine], [w.load_percent for w in mine]
            axes.scatter(x, y, s=6, marker=_MARKS[way], color=_COLOURS[way], alpha=0.5, label=way)
            fit, ends = line(x, y), (0.0, max(x))
            axes.plot(ends, [fit(end) for end in ends], color=_COLOURS[way])
        dress(axes, f"{kind.capitalize()} profiles (Figures 5.10 to 5.19)", "packets per second", "load, % of a core")
    panels[0].legend(fontsize=8)
    mine = [w for w in windows if w.matching == "shared" and w.selectivity]
    panels[2].scatter([w.selectivity for w in mine], [w.load_percent for w in mine], s=6, color=BLUE, alpha=0.5)
    dress(panels[2], "The same by selectivity (5.5 to 5.9)", "packets in per packet out", "load, % of a core")
    return drawn


def _costs(costs: Sequence[PerPacket]) -> Any:
    titles = {
        "ports": ("Ports: L = βIp", "ports"),
        "selectivity": ("Selectivity", "packets per match of a port, S"),
        "leakage": ("Leakage", "depth to which filters are looked at"),
    }
    drawn, panels = figure(3, width=12)
    for axes, (what, (title, x)) in zip(panels, titles.items(), strict=True):
        for way in WAYS:
            mine = sorted((c.x, c.us_per_packet) for c in costs if (c.what, c.matching) == (what, way))
            axes.plot(*zip(*mine, strict=True), marker=_MARKS[way], markersize=4, color=_COLOURS[way], label=way)
        dress(axes, title, x, "CPU µs per packet")
        axes.set_ylim(bottom=0)
    panels[1].set_xscale("log")
    leaked = sorted({(c.x, c.forwarded) for c in costs if (c.what, c.matching) == ("leakage", "shared")})
    other = panels[2].twinx()
    other.plot(*zip(*leaked, strict=True), color="#666666", linestyle=":")
    other.set_ylabel("packets out per packet in (dotted)")
    other.spines[["top"]].set_visible(False)
    panels[0].legend(fontsize=8)
    return drawn


def _network(changes: Sequence[Change], delays: Sequence[Delay]) -> Any:
    drawn, (left, middle, right) = figure(3, width=12)
    users = [change.users for change in changes]
    left.scatter(users, [change.updates for change in changes], s=8, color=BLUE)
    dress(left, "Updates that one more user brings", "users there are", "frames between routers")
    middle.scatter(users, [change.settled_ms for change in changes], s=8, color=ORANGE)
    dress(middle, "Until the network has settled", "users there are", "ms, virtual clock")
    right.plot([d.hops for d in delays], [d.mean_ms for d in delays], marker="o", color=GREEN)
    dress(right, "Delay", "routers on the way", "mean ms from producer to user")
    for axes in (left, middle, right):
        axes.set_ylim(bottom=0)
    return drawn
