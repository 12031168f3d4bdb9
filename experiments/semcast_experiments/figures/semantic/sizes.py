"""Thesis Figures 5.3 and 5.4: how large packets and their headers are, as our generator of corrections draws them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.demo.charts import Charts
from semcast.model.palette import BLUE, ORANGE
from semcast_experiments.figures.claims import Claim
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.output import dress, figure, mean
from semcast_experiments.figures.trials import Run

_OPENS = b'<Payload content-type="text/plain">'
_PACKETS = 3_000
"""As many as the thesis' data set has files."""


class Size(NamedTuple):
    """One packet in bytes: all but its payload, and the whole."""

    seed: int
    header: int
    total: int


def sizes(run: Run) -> dict[str, Any]:
    count = 300 if run.quick else _PACKETS
    rows = [size for seed in run.seeds(5, 3) for size in drawn_sizes(count, seed)]
    note = [
        f"Draws of {count:,} packets of the generator that the thesis' conclusion asks for. The header is a packet "
        "without its "
        "payload; payloads are drawn log-normal, with a median of 2,000 bytes."
    ]
    return result(run, "semantic-sizes", rows, _drawn(rows), claims(rows), note)


def drawn_sizes(count: int, seed: int) -> list[Size]:
    """What the generator draws; the header is all of a packet but what stands in its payload."""
    found = []
    for made in Charts().packets(count, np.random.default_rng([seed, 53])):
        begin = made.index(_OPENS) + len(_OPENS)
        found.append(Size(seed, len(made) - (made.index(b"</Payload>", begin) - begin), len(made)))
    return found


def claims(rows: list[Size]) -> list[Claim]:
    headers, totals = np.array([row.header for row in rows]), np.array([row.total for row in rows])
    spread = float(headers.std() / headers.mean())
    low, high = np.percentile(totals, [5, 95])
    why = "By construction: our generator was drawn after the thesis' words. Its own 3,000 files are not to be had."
    return [
        Claim(
            "The header size remains almost constant.",
            f"{headers.mean():.0f} bytes, with a standard deviation of {spread:.1%}.",
            "in part" if spread < 0.05 else "differs",
            why,
        ),
        Claim(
            "The total size varies considerably.",
            f"From {low:,.0f} to {high:,.0f} bytes (5th and 95th percentile).",
            "in part" if high > 4 * low else "differs",
            why,
        ),
    ]


def _drawn(rows: list[Size]) -> Any:
    drawn, (left, right) = figure(2, width=9, height=3.4)
    headers, totals = [row.header for row in rows], [row.total for row in rows]
    _histogram(left, rows, "header", np.arange(0, 1.5 * max(headers), max(headers) / 30), BLUE)
    dress(left, "Header (Figure 5.3)", "bytes", "packets")
    _histogram(right, rows, "total", np.geomspace(min(totals), max(totals), 40), ORANGE)
    right.set_xscale("log")
    right.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    dress(right, "Whole packet (Figure 5.4)", "bytes", "packets")
    return drawn


def _histogram(axes: Any, rows: list[Size], field: str, bins: NDArray[np.float64], colour: str) -> None:
    """Packets of a draw in each bin, mean and 95 % interval over draws."""
    seeds = dict.fromkeys(row.seed for row in rows)
    draws = [np.histogram([getattr(row, field) for row in rows if row.seed == seed], bins)[0] for seed in seeds]
    counts = [mean(values) for values in np.array(draws).T.astype(np.float64).tolist()]
    axes.bar(bins[:-1], [count.value for count in counts], np.diff(bins), align="edge", color=colour)
    some = [(count, middle) for count, middle in zip(counts, (bins[:-1] + bins[1:]) / 2, strict=True) if count.value]
    axes.errorbar(
        [middle for _, middle in some], [count.value for count, _ in some], [count.margin for count, _ in some],
        fmt="none", ecolor="#333333", elinewidth=0.8,
    )  # fmt: skip
    axes.set_ylim(bottom=0)
