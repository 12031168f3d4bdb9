"""`semcast figures oracle`: what each scheme costs above the per-message oracle, by network and workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.model import SemcastError
from semcast.model.palette import BLACK, BLUE, GREEN, GREY, ORANGE, SKY
from semcast.networks import EXTRA, topohub_names
from semcast_experiments.figures.claims import Claim
from semcast_experiments.figures.lines import entitle, result
from semcast_experiments.figures.oracle import PAPERS, REAL, WAXMAN, Case, Row, beaten_by, gaps, measure
from semcast_experiments.figures.output import dress, figure, mean, save
from semcast_experiments.figures.trials import Run
from semcast_experiments.workloads.demands import INTERESTS

_SCHEMES = {
    "masked_64": ("masked, at most 64 channels", BLUE, "o"),
    "masked_16": ("masked, at most 16", SKY, "o"),
    "masked_1": ("masked, one tree", BLACK, "o"),
    "one_tree_filtered": ("a Steiner tree of all gateways, filtered", GREEN, "s"),
    "spt": ("shortest-path tree, filtered at every hop", ORANGE, "s"),
}
_TICKS = (0, 5, 10, 20, 50, 100, 200, 500, 1000)
_FEW = ("disjoint-41", "independent-19", "hot-80")
"""Workloads of small runs."""


def oracle(run: Run) -> dict[str, Any]:
    """Measure the table and draw it, real networks apart."""
    rows = run.trials("oracle", measure, Row, at_hand(cases(run)))
    shown = [row for row in rows if row.network in WAXMAN]
    made = result(run, "oracle", rows, drawn(shown), claims(rows), _note(rows, run.quick))
    if len(shown) < len(rows):
        real = [row for row in rows if row.network in REAL]
        picture = drawn(real)
        entitle(picture, "oracle", ", real networks")
        made["files"] += [str(file) for file in save(picture, run.out, "oracle-real")]
    return made


def cases(run: Run) -> list[Case]:
    """All workloads: five seeds on drawn networks, one on real ones; small, three workloads on small drawn ones."""
    if run.quick:
        small = (80, 600, 400, 40)
        return [Case(network, name, seed, *small) for seed in run.seeds(5, 3) for network in WAXMAN for name in _FEW]
    first, *more = run.seeds(5, 3)
    found = [Case(network, name, seed) for seed in (first, *more) for network in WAXMAN for name in INTERESTS]
    return found + [Case(network, name, first) for network in REAL for name in INTERESTS]


def at_hand(cases: Sequence[Case]) -> list[Case]:
    """Without the real networks where TopoHub's collection is not installed: better now than after an hour."""
    try:
        topohub_names()
    except SemcastError:
        return [case for case in cases if case.network not in REAL]
    return list(cases)


def drawn(rows: Sequence[Row]) -> Any:
    """A panel per network and a line per workload; a mark at the mean of the seeds, with its 95 % interval."""
    networks = [name for name in (*WAXMAN, *REAL) if any(row.network == name for row in rows)]
    names = [name for name in INTERESTS if any(row.interest == name for row in rows)]
    made, panels = figure(len(networks), width=max(10, 2 + 4 * len(networks)), height=4.8, sharey=True, squeeze=False)
    for axes, network in zip(panels[0], networks, strict=True):
        for scheme in PAPERS:
            label = "the papers' five schemes, legs included" if scheme == PAPERS[0] else None
            _marks(axes, rows, network, names, scheme, label, GREY, "d")
        for scheme, (label, colour, mark) in reversed(_SCHEMES.items()):
            _marks(axes, rows, network, names, scheme, label, colour, mark)
        dress(axes, _title(network), "% above a tree per message (to 20 linear, then logarithmic)", "")
        axes.set_xscale("symlog", linthresh=20, linscale=1.2)
        axes.set_xticks(_TICKS, [str(tick) for tick in _TICKS], fontsize=7)
        axes.minorticks_off()
        axes.set_xlim(-3, 1500)
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color=GREY, linewidth=0.8)
    panels[0][0].invert_yaxis()  # shared by all
    handles, labels = panels[0][0].get_legend_handles_labels()
    made.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=3, fontsize=7)
    return made


def _marks(
    axes: Any, rows: Sequence[Row], network: str, names: Sequence[str], scheme: str, label: str | None, colour: str,
    mark: str,
) -> None:  # fmt: skip
    for place, name in enumerate(names):
        above = mean(100 * _above(row, scheme) for row in rows if (row.network, row.interest) == (network, name))
        if above.value == above.value:  # nan where there is none
            axes.errorbar(
                above.value, place, xerr=above.margin, fmt=mark, color=colour, markersize=5, alpha=0.9, elinewidth=1,
                markeredgecolor="white", markeredgewidth=0.4, label=label,
            )  # fmt: skip
            label = None


def _title(network: str) -> str:
    return f"Waxman, degree {network.removeprefix('waxman-')}" if network in WAXMAN else network


def _above(row: Row, scheme: str) -> float:
    return float(getattr(row, scheme)) / row.oracle - 1


def claims(rows: Sequence[Row]) -> list[Claim]:
    """What masked channels cost, and whether anything with as few channels costs less."""
    made = []
    for channels in (64, 16, 1):
        found = gaps(rows, channels)
        over, bound = ([getattr(gap, field) for gap in found.values()] for field in ("oracle", "bound"))
        worst = max(found, key=lambda key: found[key].oracle)
        average, certain = sum(over) / len(over), sum(bound) / len(bound)
        made.append(
            Claim(
                f"Masked, at most {channels}",
                f"{average:.1f} % above a tree per message on average, {max(over):.1f} % at worst ({worst[1]}, "
                f"{_title(worst[0])}); {certain:.1f} % above the certified bound.",
                "ours",
            )
        )
    dearer = sum(bool(beaten_by(row)) for row in rows)
    cheapest = f"Shortest paths, one tree, or a scheme of the papers cost less in {dearer} of {len(rows)} cases."
    return [*made, Claim("Masked against all with as many channels", cheapest, "ours")]


def _note(rows: Sequence[Row], quick: bool) -> list[str]:
    spt = [100 * _above(row, "spt") for row in rows]
    lines = [f"Shortest paths filtered at every hop: {min(spt):.0f} to {max(spt):.0f} % above a tree per message."]
    for scheme in PAPERS:
        above = [100 * _above(row, scheme) for row in rows]
        name = scheme.replace("_", "-")
        lines.append(f"{name}, legs included: {min(above):.0f} to {max(above):.0f} % above it.")
    if not quick and not any(row.network in REAL for row in rows):
        lines.append(f"Without real networks, which need TopoHub's collection: pip install '{EXTRA}'.")
    lines.append(
        "Held-out messages, never those that a plan was made or chosen from." + (" Small networks." if quick else "")
    )
    return lines
