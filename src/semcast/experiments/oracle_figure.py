"""`semcast figures oracle`: what each scheme costs above the per-message oracle, by workload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from semcast.experiments.demands import INTERESTS, Setting
from semcast.experiments.oracle import FULL, QUICK, Row, gaps, table
from semcast.experiments.output import dress, figure, mean, save
from semcast.model.palette import BLACK, BLUE, GREEN, GREY, ORANGE, SKY

_SCHEMES = {
    "masked_64": ("masked, at most 64 channels", BLUE),
    "masked_16": ("masked, at most 16", SKY),
    "masked_1": ("masked, one tree", BLACK),
    "one_tree_filtered": ("a Steiner tree of all gateways, filtered", GREEN),
    "spt": ("shortest-path tree, filtered at every hop", ORANGE),
}
_PAPERS = ("semcast", "semcast_merge", "semcast_noisemerge", "semcast_threshold", "semcast_o")
_QUICK_SETTING = Setting(brokers=100, clients=1000, sample=1000, held_out=60)


def oracle(quick: bool, seed: int, out: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure the table (rows that are there already are kept) and draw it; the whole takes half an hour."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("oracle-quick.csv" if quick else "oracle.csv")
    cases = [case._replace(seed=case.seed + seed - 1) for case in (QUICK if quick else FULL)]
    rows = []
    for row in table(path, cases, setting=_QUICK_SETTING if quick else Setting()):
        rows.append(row)
        progress(f"{len(rows)} of {len(cases)} cases")
    files = [path, *save(_drawn(rows), out, path.stem)]
    return {"seed": seed, "quick": quick, "note": _note(rows, quick), "files": [str(file) for file in files]}


def _above(row: Row, scheme: str) -> float:
    return float(getattr(row, scheme)) / row.oracle - 1


def _drawn(rows: Sequence[Row]) -> Any:
    degrees = sorted({row.degree for row in rows})
    names = [name for name in INTERESTS if any(row.interest == name for row in rows)]
    drawn, panels = figure(len(degrees), width=10, height=4.6, sharey=True, squeeze=False)
    width = 0.8 / len(_SCHEMES)
    for axes, degree in zip(panels[0], degrees, strict=True):
        for number, (scheme, (label, colour)) in enumerate(_SCHEMES.items()):
            values = [
                mean(_above(row, scheme) for row in rows if (row.degree, row.interest) == (degree, name))
                for name in names
            ]
            places = [place + (number - 2) * width for place in range(len(names))]
            axes.barh(
                places, [100 * value.value for value in values], width, color=colour, label=label,
                xerr=[100 * value.margin for value in values], error_kw={"linewidth": 0.7, "ecolor": GREY},
            )  # fmt: skip
        dress(axes, f"Waxman, degree {degree}", "% above a tree per message", "")
        axes.set_yticks(range(len(names)), names)
        axes.axvline(0, color=GREY, linewidth=0.8)
    panels[0][0].invert_yaxis()  # shared by all
    drawn.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=7)
    return drawn


def _note(rows: Sequence[Row], quick: bool) -> list[str]:
    lines = []
    for channels in (64, 16, 1):
        found = gaps(rows, channels)
        over, bound = ([getattr(gap, field) for gap in found.values()] for field in ("oracle", "bound"))
        worst = max(found, key=lambda key: found[key].oracle)
        average, certain = sum(over) / len(over), sum(bound) / len(bound)
        lines.append(
            f"At most {channels} masked channels: {average:.1f} % above the oracle on average, {max(over):.1f} % at "
            f"worst ({worst[1]}, degree {worst[0]}); {certain:.1f} % above the bound."
        )
    spt = [100 * _above(row, "spt") for row in rows]
    lines.append(f"Shortest paths filtered at every hop: {min(spt):.0f} to {max(spt):.0f} % above the oracle.")
    for scheme in _PAPERS:
        above = [100 * _above(row, scheme) for row in rows]
        name = scheme.replace("_", "-")
        lines.append(f"{name}, legs included: {min(above):.0f} to {max(above):.0f} % above the oracle.")
    lines.append(
        "Held-out messages, never those that a plan was made or chosen from." + (" Small networks." if quick else "")
    )
    return lines
