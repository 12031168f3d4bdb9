"""Thesis Table 5.2: lines through the load against the packet rate, with the errors of their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from semcast.model.palette import GREY
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.semantic.fits import line
from semcast_experiments.figures.semantic.load import WAYS, Window
from semcast_experiments.figures.semantic.setup import BY_RATE, STYLES, all_windows, of
from semcast_experiments.figures.trials import Run

PAPER = {
    "5.10": (0.1307, 0.0005, 0.39, 0.06), "5.11": (0.1138, 0.0018, 0.44, 0.27),
    "5.12": (0.1401, 0.0012, 0.61, 0.23), "5.13": (0.1494, 0.0014, 0.99, 0.26),
    "5.14": (0.1680, 0.0025, 0.38, 0.46), "5.15": (0.1748, 0.0016, 0.46, 0.32),
    "5.16": (0.1907, 0.0025, 0.80, 0.53), "5.17": (0.2011, 0.0023, 1.07, 0.50),
    "5.18": (0.1967, 0.0032, 0.53, 0.67), "5.19": (0.1935, 0.0030, 0.60, 0.63),
}  # fmt: skip
"""m, its error, y0, its error: % of two 1 GHz processors, per packet per second."""


class Fit(NamedTuple):
    """A row of the table: load in per cent of a core = m · packets per second + y0, with standard errors."""

    figure: str
    profiles: str
    sources: int
    matching: str
    m: float
    m_error: float
    y0: float
    y0_error: float
    explained: float
    thesis_m: float
    thesis_m_error: float


def table2(run: Run) -> dict[str, Any]:
    fits = fitted(all_windows(run))
    note = [
        "m is per cent of a core per packet and second; the thesis' router was in Java, on two processors of 1 GHz."
    ]
    return result(run, "semantic-table2", fits, _drawn(fits), claims(fits), note)


def fitted(rows: Sequence[Window]) -> list[Fit]:
    found = []
    for number, (kind, sources) in BY_RATE.items():
        for way in WAYS:
            mine = of(rows, kind, sources, way)
            fit = line([row.packets_per_second for row in mine], [row.load_percent for row in mine])
            found.append(Fit(number, kind, sources, way, *fit, *PAPER[number][:2]))
    return found


def claims(fits: Sequence[Fit]) -> list[Claim]:
    mine = [fit for fit in fits if fit.matching == "each"]
    slopes = [abs(fit.m_error / fit.m) for fit in mine]
    starts = [abs(fit.y0_error / fit.y0) for fit in mine]
    worse = sum(start > slope for start, slope in zip(starts, slopes, strict=True))
    values = [fit.m for fit in mine]
    return [
        judged(
            "Slopes are quite accurate: errors of 0.4 to 1.7 %.",
            f"Errors of {min(slopes):.1%} to {max(slopes):.1%}.",
            max(slopes) < 0.02,
            "The thesis fits through runs of 3,000 files; here it is windows of a quarter of a second, with a dozen "
            "packets where rates are low.",
            partly=sum(slopes) / len(slopes) < 0.1,
        ),
        judged(
            "The errors of y0 are very high.",
            f"Higher than those of the slope in {worse} of {len(mine)} figures.",
            worse == len(mine),
            "Not in all of them.",
            partly=worse > len(mine) / 2,
        ),
        judged(
            "m is 0.114 to 0.201.",
            f"{min(values):.3f} to {max(values):.3f}.",
            min(values) >= 0.08 and max(values) <= 0.3,
            "Another machine: a processor of today does in one packet's time what took several then.",
        ),
    ]


def _drawn(fits: Sequence[Fit]) -> Any:
    drawn, axes = figure(1, width=7.6, height=4.2)
    numbers = [*PAPER]
    axes.errorbar(
        range(len(numbers)), [row[0] for row in PAPER.values()], [1.96 * row[1] for row in PAPER.values()],
        fmt="x", color=GREY, capsize=2, label="the thesis",
    )  # fmt: skip
    for at, (way, style) in enumerate(STYLES.items()):
        mine = {fit.figure: fit for fit in fits if fit.matching == way}
        axes.errorbar(
            [place + 0.15 * (at - 1) for place in range(len(numbers))], [mine[number].m for number in numbers],
            [1.96 * mine[number].m_error for number in numbers], fmt=style.mark, markersize=4, color=style.colour,
            capsize=2, label=style.label,
        )  # fmt: skip
    axes.set_ylim(bottom=0)
    names = [
        f"{number}\n{'same' if kind == 'same' else 'diff.'}, {sources}" for number, (kind, sources) in BY_RATE.items()
    ]
    axes.set_xticks(range(len(numbers)), names)
    title = "Slopes with 95 % intervals"
    dress(axes, title, "figure; same or different profiles, sources", "m, % of a core per packet/s")
    drawn.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return drawn
