"""Thesis Figures 5.3 and 5.4: how large packets and their headers are, as our generator of corrections draws them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semcast.experiments.claims import Claim
from semcast.experiments.lines import result
from semcast.experiments.output import dress, figure
from semcast.experiments.semantic.charts import Charts
from semcast.experiments.trials import Run
from semcast.model.palette import BLUE, ORANGE

_OPENS = b'<Payload content-type="text/plain">'
_PACKETS = 3_000
"""As many as the thesis' data set has files."""


class Size(NamedTuple):
    """One packet in bytes: all but its payload, and the whole."""

    header: int
    total: int


def sizes(run: Run) -> dict[str, Any]:
    rows = drawn_sizes(300 if run.quick else _PACKETS, run.seed)
    note = [
        f"{len(rows):,} packets of the generator that the thesis' conclusion asks for. The header is a packet "
        "without its "
        "payload; payloads are drawn log-normal, with a median of 2,000 bytes."
    ]
    return result(run, "semantic-sizes", rows, _drawn(rows), claims(rows), note)


def drawn_sizes(count: int, seed: int) -> list[Size]:
    """What the generator draws; the header is all of a packet but what stands in its payload."""
    found = []
    for made in Charts().packets(count, np.random.default_rng([seed, 53])):
        begin = made.index(_OPENS) + len(_OPENS)
        found.append(Size(len(made) - (made.index(b"</Payload>", begin) - begin), len(made)))
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
    left.hist(headers, bins=np.arange(0, 1.5 * max(headers), max(headers) / 30), color=BLUE)
    dress(left, "Header (Figure 5.3)", "bytes", "packets")
    right.hist(totals, bins=np.geomspace(min(totals), max(totals), 40), color=ORANGE)
    right.set_xscale("log")
    right.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    dress(right, "Whole packet (Figure 5.4)", "bytes", "packets")
    return drawn
