"""`semcast figures oracle`: what each scheme costs above the per-message oracle, by network and workload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from semcast.experiments.demands import INTERESTS, Setting
from semcast.experiments.networks import EXTRA, topohub_names
from semcast.experiments.oracle import FULL, PAPERS, QUICK, REAL, WAXMAN, Case, Row, beaten_by, gaps, table
from semcast.experiments.output import dress, figure, save
from semcast.model import SemcastError
from semcast.model.palette import BLACK, BLUE, GREEN, GREY, ORANGE, SKY

_SCHEMES = {
    "masked_64": ("masked, at most 64 channels", BLUE, "o"),
    "masked_16": ("masked, at most 16", SKY, "o"),
    "masked_1": ("masked, one tree", BLACK, "o"),
    "one_tree_filtered": ("a Steiner tree of all gateways, filtered", GREEN, "s"),
    "spt": ("shortest-path tree, filtered at every hop", ORANGE, "s"),
}
_TICKS = (0, 5, 10, 20, 50, 100, 200, 500, 1000)
_QUICK_SETTING = Setting(brokers=100, clients=1000, sample=1000, held_out=60)


def oracle(quick: bool, seed: int, out: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure the table (rows that are there already are kept) and draw it."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("oracle-quick.csv" if quick else "oracle.csv")
    cases = [case._replace(seed=case.seed + seed - 1) for case in (QUICK if quick else at_hand(FULL))]
    rows: list[Row] = []
    for row in table(path, cases, setting=_QUICK_SETTING if quick else Setting()):
        rows.append(row)
        progress(f"{len(rows)} of {len(cases)} cases, the last one {row.network} {row.interest}")
    files = [path]
    for networks, name in ((WAXMAN, path.stem), (REAL, f"{path.stem}-real")):
        shown = [row for row in rows if row.network in networks]
        if shown:
            files += save(drawn(shown), out, name)
    return {"seed": seed, "quick": quick, "note": _note(rows, quick), "files": [str(file) for file in files]}


def at_hand(cases: Sequence[Case]) -> list[Case]:
    """Without the real networks where TopoHub's collection is not installed: better now than after an hour."""
    try:
        topohub_names()
    except SemcastError:
        return [case for case in cases if case.network not in REAL]
    return list(cases)


def drawn(rows: Sequence[Row]) -> Any:
    """A panel per network and a line per workload; a mark at the mean of the seeds, a line from least to most."""
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
        above = [100 * _above(row, scheme) for row in rows if (row.network, row.interest) == (network, name)]
        if above:
            axes.plot([min(above), max(above)], [place, place], color=colour, linewidth=1)
            axes.plot(
                sum(above) / len(above), place, mark, color=colour, markersize=5, alpha=0.9, linestyle="none",
                markeredgecolor="white", markeredgewidth=0.4, label=label,
            )  # fmt: skip
            label = None


def _title(network: str) -> str:
    return f"Waxman, degree {network.removeprefix('waxman-')}" if network in WAXMAN else network


def _above(row: Row, scheme: str) -> float:
    return float(getattr(row, scheme)) / row.oracle - 1


def _note(rows: Sequence[Row], quick: bool) -> list[str]:
    lines = []
    for channels in (64, 16, 1):
        found = gaps(rows, channels)
        over, bound = ([getattr(gap, field) for gap in found.values()] for field in ("oracle", "bound"))
        worst = max(found, key=lambda key: found[key].oracle)
        average, certain = sum(over) / len(over), sum(bound) / len(bound)
        lines.append(
            f"At most {channels} masked channels: {average:.1f} % above the oracle on average, {max(over):.1f} % at "
            f"worst ({worst[1]}, {_title(worst[0])}); {certain:.1f} % above the bound."
        )
    spt = [100 * _above(row, "spt") for row in rows]
    lines.append(f"Shortest paths filtered at every hop: {min(spt):.0f} to {max(spt):.0f} % above the oracle.")
    for scheme in PAPERS:
        above = [100 * _above(row, scheme) for row in rows]
        name = scheme.replace("_", "-")
        lines.append(f"{name}, legs included: {min(above):.0f} to {max(above):.0f} % above the oracle.")
    dearer = sum(bool(beaten_by(row)) for row in rows)
    lines.append(
        f"Masked channels cost more than shortest paths, one tree or a scheme of the papers with as many channels in "
        f"{dearer} of {len(rows)} cases."
    )
    if not quick and not any(row.network in REAL for row in rows):
        lines.append(f"Without real networks, which need TopoHub's collection: pip install '{EXTRA}'.")
    lines.append(
        "Held-out messages, never those that a plan was made or chosen from." + (" Small networks." if quick else "")
    )
    return lines
