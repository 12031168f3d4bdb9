"""What a simulation comes to, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast.cli import render
from semcast.sim.random_runs import Outcome
from semcast.sim.simulation import Report
from semcast.sim.witness import Violation

_SHOWN = 20


def show(report: Report) -> None:
    """Counts, costs and what was dropped, as tables on stdout."""
    counts, meters = report.counts, report.meters
    rows = [
        ["subscriptions", render.count(counts["sessions"])],
        ["messages published", render.count(counts["published"])],
        ["messages acknowledged", render.count(counts["acked"])],
        ["deliveries to clients", render.count(counts["delivered"])],
        ["gap notices", render.count(counts["gaps"])],
        ["faults", render.count(counts["faults"])],
        ["frames", render.count(counts["frames"])],
        ["transmissions of data", render.count(meters["transmissions"])],
        ["… per message", f"{meters['transmissions_per_message']:.2f}"],
        ["… repaired past the trees", f"{meters['repair_percent_of_transmissions']:.1f} %"],
    ]
    title = f"{report.name or 'a simulation'}, seed {report.seed}, {report.simulated_s:g} simulated seconds"
    render.table(title, None, rows, render.stdout)
    render.table("beside the data, in % of its bytes", None, _overhead(meters), render.stdout)
    if meters["drops"]:
        rows = [[reason, render.count(count)] for reason, count in meters["drops"].items()]
        render.table("frames that did not arrive", None, rows, render.stdout)


def show_violations(violations: Sequence[Violation]) -> None:
    """Each violated law, the first ones in full."""
    rows = [[found.law, found.who, found.what] for found in violations[:_SHOWN]]
    if len(violations) > _SHOWN:
        rows.append([f"… {len(violations) - _SHOWN:,} more", "", ""])
    if rows:
        render.table(f"{len(violations):,} violations", ["law", "who", "what"], rows, render.stdout)


def show_outcomes(outcomes: Sequence[Outcome]) -> None:
    """By scheme, how many runs and how many broke a law; then the seeds that did."""
    schemes = sorted({outcome.scheme for outcome in outcomes})
    rows = []
    for scheme in schemes:
        of = [outcome for outcome in outcomes if outcome.scheme == scheme]
        totals = [
            sum(outcome.counts[name] for outcome in of) for name in ("published", "delivered", "faults", "frames")
        ]
        broken = sum(bool(outcome.violations) for outcome in of)
        rows.append([scheme, *map(render.count, [len(of), *totals, broken])])
    columns = ["scheme", "runs", "messages", "deliveries", "faults", "frames", "broke a law"]
    render.table("runs by scheme", columns, rows, render.stdout)
    broken_runs = [outcome for outcome in outcomes if outcome.violations]
    if broken_runs:
        rows = [
            [str(outcome.seed), outcome.scheme, _laws(outcome), outcome.violations[0].what]
            for outcome in broken_runs[:_SHOWN]
        ]
        render.table(f"{len(broken_runs):,} runs broke a law", ["seed", "scheme", "laws", "first"], rows, render.stdout)


def _laws(outcome: Outcome) -> str:
    return ", ".join(dict.fromkeys(found.law for found in outcome.violations))


def _overhead(meters: dict[str, Any]) -> list[list[str]]:
    shares: dict[str, float] = meters["overhead_percent_of_data_bytes"]
    return [[name, f"{share:.1f} %"] for name, share in shares.items()]
