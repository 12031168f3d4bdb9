"""What our own comparisons share: the schemes, their colours, and panels of what each costs above the least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from semcast.model.palette import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY
from semcast_experiments.figures.claims import Claim
from semcast_experiments.figures.dissemination import Cost
from semcast_experiments.figures.lines import Points, Style, above, curve, means, name_ends
from semcast_experiments.figures.output import dress, figure

NETWORK = ("waxman", 4.0)
PAPERS = ("semcast", "semcast-merge", "semcast-noisemerge", "semcast-threshold", "semcast-o")
SHOWN = ("masked/16", "masked/1", "spt", "unicast", *PAPERS)
"""All schemes; ``semnet`` carries what ``spt`` carries, to the packet, and is not drawn apart."""
SCHEMES = ("oracle", *SHOWN)
STYLES = {
    "masked": Style("masked, K", BLUE),
    "masked/16": Style("masked, 16", BLUE),
    "masked/1": Style("masked, 1", SKY),
    "spt": Style("SPT", ORANGE),
    "unicast": Style("unicast", GREY),
    "semcast": Style("SemCast", GREEN),
    "semcast-merge": Style("-Merge", GREEN, "--"),
    "semcast-noisemerge": Style("-NoiseMerge", GREEN, ":"),
    "semcast-threshold": Style("-threshold", RED),
    "semcast-o": Style("SemCast-O", PINK),
    "bound": Style("certified bound", GREY, ":"),
}
TICKS = (0, 5, 10, 20, 50, 100, 200, 500, 1000)


def gap(rows: Sequence[Cost], scheme: str, x: Callable[[Any], float]) -> Points:
    """By x, per cent above the oracle, legs included."""
    return means(above(rows, scheme, "oracle", leg=True).items(), lambda item: x(item[0]), lambda item: item[1])


def drawn(panels: Sequence[tuple[str, dict[str, Points]]], x: str, *, log: bool = False) -> Any:
    """A panel per title; y is linear to 20 % and then logarithmic."""
    made, every = figure(len(panels), width=4.4 * len(panels) + 1.5, height=4.2, sharey=True, squeeze=False)
    for axes, (title, curves) in zip(every[0], panels, strict=True):
        for scheme, points in curves.items():
            curve(axes, points, STYLES[scheme])
        axes.set_yscale("symlog", linthresh=20, linscale=1.2)
        axes.set_yticks(TICKS, [str(tick) for tick in TICKS])
        axes.minorticks_off()
        if log:
            places = {f"{x:,.0f}": x for points in curves.values() for x, _ in points}  # one of those that look alike
            axes.set_xscale("log")
            axes.set_xticks(list(places.values()), list(places))
            axes.minorticks_off()
        axes.axhline(0, color="#999999", linewidth=1)
        dress(axes, title, x, "")
    every[0][0].set_ylabel("% above a tree per message (linear to 20)")
    name_ends(every[0][-1])
    return made


def ranges(title: str, rows: Sequence[Cost], schemes: Sequence[str], x: Callable[[Any], float]) -> Claim:
    """A line for the page: from least to most per scheme, and whether masked channels are below all others."""
    found = {scheme: [value.value for _, value in gap(rows, scheme, x)] for scheme in schemes}
    said = "; ".join(
        f"{STYLES[scheme].label} {min(values):.0f} to {max(values):.0f} %" for scheme, values in found.items() if values
    )
    best = dict(gap(rows, "masked/16", x))
    rivals = [dict(gap(rows, scheme, x)) for scheme in schemes if not scheme.startswith("masked")]
    least = sum(all(best[at].value <= rival[at].value for rival in rivals if at in rival) for at in best)
    return Claim(
        title, f"Above a tree per message: {said}. Masked, 16, is the least at {least} of {len(best)} points.", "ours"
    )
