"""2004 §5, tree reorganisation: what merging above a threshold saves against SPT, where profiles overlap in part.

Two readings. The prose merges what overlaps enough *and* has a low rate of what does not overlap; the implementation
that follows it looks at the overlap alone. With the second condition as ours, thresholds below two thirds decide
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.model.palette import BLUE, GREEN, ORANGE, PINK
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.dissemination import Case, Cost, measure
from semcast_experiments.figures.lines import Points, Style, above, curve, means, name_ends, result
from semcast_experiments.figures.output import Mean, dress, grid, mean
from semcast_experiments.figures.semcast2004.setup import NETWORK, PER_BROKER, SIMILARITY
from semcast_experiments.figures.trials import Run

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
_NESTED = {0.0: BLUE, 0.3: GREEN, 0.6: ORANGE, 0.9: PINK}
"""The probability that a profile lies within another."""
_CHANCES = (0.02, 0.05, 0.1)
_UNMERGED = "semcast-threshold/2"
"""No two channels overlap by 200 %."""
_BASES = {"spt": "SPT", _UNMERGED: "the same channels unmerged"}
"""What merging saves against: the short version says SPT, of the first statement; the rest is silent."""
_READINGS = {"": "both conditions", "/alone": "threshold alone"}
_WHY = {
    "spt": "What can be saved is the difference of shortest paths and low-cost trees; overlapping channels take from "
    "it. Nearest: {near}.",
    _UNMERGED: "It depends on how much profiles overlap, which the text does not say: {near}.",
}


def thresholds(run: Run) -> dict[str, Any]:
    brokers = 80 if run.quick else 400
    clients = 3_000 if run.quick else PER_BROKER * brokers  # fewer would leave a handful of profiles
    count = round(SIMILARITY * clients)
    schemes = (*_BASES, *(_scheme(value, reading) for reading in _READINGS for value in THRESHOLDS))
    drawn = (500, 150, 3) if run.quick else (2_000, 500, 8)  # sample, counted, sources
    cases = [
        Case(*NETWORK, brokers, clients, count, f"nested-{nested}", chance, seed, schemes, *drawn)
        for nested in _NESTED
        for chance in _CHANCES
        for seed in run.seeds(5, 5)
    ]
    rows = run.trials("thresholds", measure, Cost, cases)
    note = [
        f"{brokers} brokers, {clients:,} clients, {SIMILARITY:.0%} of the profiles distinct ({count} arcs), "
        "without legs.",
        "2004's second condition, a low rate of what only one of two roots matches, is taken as: at most half of what "
        "both match together. Two roots then share two thirds of the smaller one at least, so that lower thresholds "
        "change nothing. The implementation that the paper describes next has the threshold alone.",
    ]
    return result(run, "2004-thresholds", rows, _drawn(rows), claims(rows), note)


def saved(rows: Sequence[Cost], base: str, reading: str = "") -> Points:
    """By threshold, per cent below another scheme."""
    found: list[tuple[float, float]] = []
    for value in THRESHOLDS:
        found += [(value, -gain) for gain in above(rows, _scheme(value, reading), base).values()]
    return means(found, lambda item: item[0], lambda item: item[1])


def claims(rows: Sequence[Cost]) -> list[Claim]:
    """Both statements in both readings, each against SPT and against the same channels before they are merged."""
    first = "A merging threshold of 40 % saves up to 23 % (1 % of the profiles distinct)."
    second = "A threshold of 30 % saves up to 21 % where a profile is covered by another with probability below 0.7."
    return [
        _claim(paper, rows, _scheme(threshold, reading), says, below, base, name)
        for base in _BASES
        for reading, name in _READINGS.items()
        for paper, threshold, says, below in ((first, 0.4, 23.0, 1.0), (second, 0.3, 21.0, 0.7))
    ]


def _claim(paper: str, rows: Sequence[Cost], scheme: str, says: float, below: float, base: str, reading: str) -> Claim:
    gains: dict[str, Mean] = {}
    for nested in _NESTED:
        for chance in _CHANCES:
            if nested < below:
                gain = above(_of(rows, nested, chance), scheme, base).values()
                gains[f"{nested:g} nested, p = {chance:g}"] = mean(-value for value in gain)
    best = max(gains, key=lambda name: gains[name].value)
    low = min(gain.value for gain in gains.values())
    near = min(gains, key=lambda name: abs(gains[name].value - says))
    return judged(
        paper,
        f"By {reading}, below {_BASES[base]}: up to {gains[best].value:.1f} ± {gains[best].margin:.1f} % ({best}); "
        f"at worst {low:+.1f} %.",
        abs(gains[best].value - says) <= 6,
        _WHY[base].format(near=f"{gains[near].value:.1f} ± {gains[near].margin:.1f} % with {near}"),
        partly=gains[best].value > 0,
    )


def _scheme(threshold: float, reading: str) -> str:
    return f"semcast-threshold/{threshold:g}{reading}"


def _of(rows: Sequence[Cost], nested: float, chance: float) -> list[Cost]:
    return [row for row in rows if (row.model, row.probability) == (f"nested-{nested}", chance)]


def _drawn(rows: Sequence[Cost]) -> Any:
    kinds = [(base, reading) for base in _BASES for reading in _READINGS]
    drawn, every = grid(len(kinds), len(_CHANCES), width=11.5, height=11.5, sharex=True, sharey="row")
    for panels, (base, reading) in zip(every, kinds, strict=True):
        for axes, chance in zip(panels, _CHANCES, strict=True):
            for nested, colour in _NESTED.items():
                curve(axes, saved(_of(rows, nested, chance), base, reading), Style(f"{nested:.0%} nested", colour))
            axes.axhline(0, color="#999999", linewidth=1)
            dress(axes, f"matching probability {chance:g}, {_READINGS[reading]}", "merging threshold", "")
        panels[0].set_ylabel(f"% below {_BASES[base]}")
        name_ends(panels[-1])
    return drawn
