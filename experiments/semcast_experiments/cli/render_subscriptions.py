"""The report of `semcast bench subscriptions`: the same tables for the terminal and for a page in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Shown(NamedTuple):
    title: str
    columns: Sequence[str]
    rows: list[list[str]]


def tables(report: dict[str, Any]) -> list[Shown]:
    """A column per population; peers and stages by themselves."""
    trials = report["populations"]
    columns = ["", *(f"{trial['subscriptions']:,}" for trial in trials)]
    found = [Shown("Subscriptions", columns, _rows(trials, _LOADING))]
    if any("publishing" in trial for trial in trials):
        title = f"Publishing, and churn of {report['churn_hz']:g} per second"
        found.append(Shown(title, columns, _rows(trials, _PUBLISHING)))
    if any("restarts" in trial for trial in trials):
        found.append(Shown("Members that are killed: seconds", columns, _rows(trials, _RESTARTS)))
    found += [_stages(trial) for trial in trials if len(trial["stages"]) > 1]
    rows = [
        [f"{one['peer']} {one['version']}", *(number(one[key]) for key in _PEER)]
        for compared in report["peers"]
        for one in compared["servers"]
    ]
    if rows:
        found.append(Shown("Plain topics at one server", ("", "subscriptions", "per second", "bytes", "CPU µs"), rows))
    return found


_PEER = ("subscriptions", "per_second", "bytes_per_subscription", "cpu_us_per_subscription")
_F = "figures"
_LOADING: dict[str, tuple[str, ...]] = {
    "distinct profiles": ("distinct",),
    "seconds until all are live": (_F, "seconds"),
    "live per second": (_F, "per_second"),
    "the first, at once: how many": (_F, "burst", "profiles"),
    "the first, at once: seconds": (_F, "burst", "seconds"),
    "rate at the end over that at a tenth": (_F, "late_over_early"),
    "one more: p50, ms": (_F, "single_ms", "p50"),
    "one more: p99, ms": (_F, "single_ms", "p99"),
    "bytes each at its gateway": (_F, "bytes_per_subscription", "gateway"),
    "bytes each at the source": (_F, "bytes_per_subscription", "source"),
    "bytes each at the coordinator": (_F, "bytes_per_subscription", "coordinator"),
    "CPU µs each at its gateway": (_F, "cpu_us_per_subscription", "gateway"),
    "CPU µs each at the source": (_F, "cpu_us_per_subscription", "source"),
    "CPU µs each at the coordinator": (_F, "cpu_us_per_subscription", "coordinator"),
    "members waited for a processor, over CPU time": (_F, "waited_over_cpu"),
    "turns above 20 ms": (_F, "turns", "long"),
    "plans made meanwhile": ("plans_meanwhile",),
    "load average before": ("load_average",),
}
_PUBLISHING: dict[str, tuple[str, ...]] = {
    "messages per second, at most": ("publishing", "flood", "most_hz"),
    "half of it: messages per second": ("publishing", "calm", "sent_hz"),
    "until durable: p50, ms": ("publishing", "calm", "durable_ms", "p50"),
    "until durable: p99, ms": ("publishing", "calm", "durable_ms", "p99"),
    "until delivered: p99, ms": ("publishing", "calm", "delivered_ms", "p99"),
    "churn: begun per second": ("publishing", "churn", "begun_hz"),
    "churn: until live, p50, ms": ("publishing", "churn", "live_ms", "p50"),
    "churn: until live, p99, ms": ("publishing", "churn", "live_ms", "p99"),
    "churn: until durable, p50, ms": ("publishing", "churn", "durable_ms", "p50"),
    "churn: until durable, p99, ms": ("publishing", "churn", "durable_ms", "p99"),
    "churn: until delivered, p99, ms": ("publishing", "churn", "delivered_ms", "p99"),
    "p99 until durable, over without churn": (_F, "churn_over_calm"),
    "churn: waited for a processor, over CPU time": (_F, "waited_over_cpu_in_churn"),
    "churn: turns above 20 ms": (_F, "turns_in_churn", "long"),
    "churn: memory, second half over first": (_F, "memory_in_churn"),
    "messages lost": (_F, "lost"),
}
_RESTARTS: dict[str, tuple[str, ...]] = {
    "coordinator: serves": ("restarts", "coordinator", "serves_s"),
    "coordinator: one more is live": ("restarts", "coordinator", "works_s"),
    "source: serves": ("restarts", "source", "serves_s"),
    "source: a message durable, one more live": ("restarts", "source", "works_s"),
    "gateway: serves": ("restarts", "gateway", "serves_s"),
    "gateway: all its clients live again": ("restarts", "gateway", "works_s"),
}


def _rows(trials: Sequence[dict[str, Any]], wanted: dict[str, tuple[str, ...]]) -> list[list[str]]:
    return [[name, *(number(_at(trial, path)) for trial in trials)] for name, path in wanted.items()]


def _at(found: Any, path: tuple[str, ...]) -> Any:
    """What stands there; None where that part was not measured."""
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _stages(trial: dict[str, Any]) -> Shown:
    rows = []
    for stage in trial["stages"]:
        singles = sorted(stage["single_ms"])
        middle = singles[len(singles) // 2] if singles else None
        rate = stage["live"] / stage["seconds"]
        rows.append([f"{stage['first']:,} to {stage['through']:,}", *map(number, (rate, middle, stage["refused"]))])
    title = f"{trial['subscriptions']:,} subscriptions, stage by stage"
    return Shown(title, ("profiles", "live per second", "one more: p50, ms", "refused"), rows)


def markdown(report: dict[str, Any]) -> str:
    """The tables and the targets as a page."""
    shown = tables(report)
    if report["targets"]:
        rows = [[one["target"], *target_cells(one)] for one in report["targets"]]
        shown.append(Shown("Targets", ("", "wanted", "measured", ""), rows))
    about = report["machine"]
    parts = [f"# Subscriptions\n\n{about['processor']}, {about['cores']} cores; load average {about['load_average']}\n"]
    for title, columns, rows in shown:
        lines = [columns, ["---"] * len(columns), *rows]
        parts.append("\n".join([f"## {title}\n", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n")
    return "\n".join(parts)


def target_cells(target: dict[str, Any]) -> list[str]:
    """What is wanted, what was measured, and the verdict."""
    wanted = f"≥ {target['at_least']:,}" if target["at_least"] is not None else f"≤ {target['at_most']:,}"
    return [wanted, number(target["measured"]), {True: "met", False: "missed", None: "not measured"}[target["met"]]]


def number(value: float | None) -> str:
    """Three figures that count; a dash where nothing was measured."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
