"""Every scheme against the least, by the number of brokers, up to 5,000."""

from __future__ import annotations

from typing import Any

from semcast_experiments.figures.dissemination import Case, Cost, measure
from semcast_experiments.figures.lines import result
from semcast_experiments.figures.ours.setup import NETWORK, SCHEMES, SHOWN, drawn, gap, ranges
from semcast_experiments.figures.trials import Run


def size(run: Run) -> dict[str, Any]:
    sizes = (50, 100, 200) if run.quick else (100, 300, 1_000, 2_000, 5_000)
    cases = [
        Case(
            *NETWORK, brokers, 5 * brokers, max(5, brokers // 4), "disjoint", 0.0, seed, SCHEMES,
            sample=400 if run.quick else 2_000, counted=200, sources=1, looked_at=20 if run.quick else 40,
        )
        for brokers in reversed(sizes)  # the longest first: none is left over at the end
        for seed in run.seeds(5, 3)
    ]  # fmt: skip
    rows = run.trials("network-size", measure, Cost, cases)
    panels = [("five clients per broker, 20 of each profile", {s: gap(rows, s, lambda case: case[2]) for s in SHOWN})]
    claims = [ranges("Network size", rows, SHOWN, lambda case: case[2])]
    note = [
        "Waxman overlays, degree 4, a fifth of the brokers gateways, one source; about 19 gateways want a message. "
        "Profiles are disjoint: SemCast's variants are nearly the same there."
    ]
    return result(run, "ours-size", rows, drawn(panels, "brokers", log=True), claims, note)
