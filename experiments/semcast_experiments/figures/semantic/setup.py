"""What the figures of a router's load share: sizes, the trials behind them, colours, and which figure is which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from semcast.model.palette import BLUE, GREEN, ORANGE
from semcast_experiments.figures.lines import Style
from semcast_experiments.figures.semantic.load import Load, PerPacket, Setting, Window, per_packet, windows
from semcast_experiments.figures.trials import Run

STYLES = {
    "each": Style("each port's filter (the thesis)", ORANGE, mark="s"),
    "prefilter": Style("with a prefilter", GREEN, mark="^"),
    "shared": Style("all filters at once (ours)", BLUE),
}
BY_RATE = {
    f"5.{10 + 2 * (sources - 1) + other}": (kind, sources)
    for sources in range(1, 6)
    for other, kind in enumerate(("same", "different"))
}
"""Figures 5.10 to 5.19: users' profiles and the number of sources."""
BY_SELECTIVITY = {
    "5.5": ("same", 1),
    "5.6": ("different", 1),
    "5.7": ("same", 2),
    "5.8": ("different", 4),
    "5.9": ("different", 5),
}
RATES = (40.0, 300.0)
"""Packets per second of each source, least and most."""


class Scale(NamedTuple):
    windows: int
    passes: int
    """Over windows with the packets of one source; fewer, but a third at least, where there are more packets."""
    ports: tuple[int, ...]
    packets: int
    rounds: int


FULL = Scale(20, 12, (1, 2, 4, 8, 12, 16), 150, 3)
QUICK = Scale(5, 3, (1, 2, 4, 8), 40, 2)
SUBREGIONS = (1, 2, 5, 10, 20, 45, 90)
DEPTHS = (0, 1, 2, 3, 4, 5, 6)


def scale(run: Run) -> Scale:
    return QUICK if run.quick else FULL


def all_windows(run: Run) -> list[Window]:
    """The trials behind Figures 5.5 to 5.19 and Table 5.2."""
    chosen = scale(run)
    cases = [
        Load(kind, sources, chosen.windows, *RATES, seed, max(1, chosen.passes // 3, chosen.passes // sources))
        for kind, sources in BY_RATE.values()
        for seed in run.seeds(5, 3)
    ]
    return run.trials("semantic-windows", windows, Window, cases, alone=True)


def all_settings(run: Run) -> list[PerPacket]:
    """The cost of a packet by ports, by selectivity and by the depth of filters."""
    chosen = scale(run)
    values = {"ports": chosen.ports, "selectivity": SUBREGIONS, "leakage": DEPTHS}
    cases = [
        Setting(what, value, chosen.packets, chosen.rounds, seed)
        for what, every in values.items()
        for value in every
        for seed in run.seeds(5, 3)
    ]
    return run.trials("semantic-settings", per_packet, PerPacket, cases, alone=True)


def of(rows: Sequence[Window], kind: str, sources: int, way: str) -> list[Window]:
    return [row for row in rows if (row.profiles, row.sources, row.matching) == (kind, sources, way)]
