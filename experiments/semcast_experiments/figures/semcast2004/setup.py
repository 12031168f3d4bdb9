"""What the figures of 2004 share: disjoint profiles, of which a share (the selectivity factor) is distinct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.model.palette import BLACK, BLUE, GREY, ORANGE, SKY
from semcast_experiments.figures.dissemination import Cost, disjoint, measure
from semcast_experiments.figures.lines import Points, Style, above, by, curve, name_ends
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.trials import Run

NETWORK = ("random", 4.0)
PER_BROKER = 10
"""200 brokers with 2,000 profiles, 700 with 7,000."""
SHARES = (1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001)
SIZES = (100, 200, 300, 400, 500, 600, 700)
SIMILARITY = 0.01
"""The share of distinct profiles where the network grows: the papers' "profile similarity is set to 1%"."""
STYLES = {
    "semcast": Style("SemCast, closest broker", BLUE),
    "semcast/destination": Style("SemCast, closest destination", SKY),
    "semcast-o": Style("centralised", BLACK),
    "spt": Style("SPT", ORANGE),
    "unicast": Style("Unicast", GREY),
}


def by_share(run: Run) -> list[Cost]:
    """Trials over the share of distinct profiles, for two networks."""
    sizes = (50, 120) if run.quick else (200, 700)
    shares = SHARES[::2] if run.quick else SHARES
    seeds = run.seeds(5, 3)
    return _trials(run, [(brokers, share, seed) for brokers in sizes for share in shares for seed in seeds])


def by_size(run: Run) -> list[Cost]:
    """Trials over the number of brokers; many seeds, since small networks differ more than they grow."""
    sizes = (50, 80, 120) if run.quick else SIZES
    return _trials(run, [(brokers, SIMILARITY, seed) for brokers in sizes for seed in run.seeds(20, 3)])


def _trials(run: Run, points: Sequence[tuple[int, float, int]]) -> list[Cost]:
    cases = []
    for brokers, share, seed in points:
        clients = PER_BROKER * brokers
        count = max(1, round(share * clients))
        cases.append(disjoint(NETWORK, brokers, clients, count, seed, tuple(STYLES), 3 if run.quick else 8))
    return run.trials("shares", measure, Cost, cases)


def below_spt(rows: Sequence[Cost], scheme: str, x: Any) -> Points:
    """Per cent saved against SPT, without legs."""
    return by({case: -value for case, value in above(rows, scheme, "spt").items()}, x)


def above_central(rows: Sequence[Cost], scheme: str, x: Any) -> Points:
    """Per cent above the centralised trees, without legs."""
    return by(above(rows, scheme, "semcast-o"), x)


def share_of(case: Any) -> float:
    return float(case.distinct / case.clients)


def drawn(panels: Sequence[tuple[str, dict[str, Points]]], x: str, y: str, *, share: bool = False) -> Any:
    """A panel per title, a curve per scheme."""
    made, every = figure(len(panels), width=4.2 * len(panels) + 1.4, height=3.6, sharey=True, squeeze=False)
    for axes, (title, curves) in zip(every[0], panels, strict=True):
        for scheme, points in curves.items():
            curve(axes, points[::-1] if share else points, STYLES[scheme])
        if share:
            axes.set_xscale("log")
            axes.xaxis.set_inverted(True)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.axhline(0, color="#999999", linewidth=1)
        dress(axes, title, x, "")
    every[0][0].set_ylabel(y)
    name_ends(every[0][-1])
    return made
