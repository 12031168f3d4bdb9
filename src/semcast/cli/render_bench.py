"""A benchmark's report as tables."""

from __future__ import annotations

from typing import Any

from semcast.cli import render

_COLUMNS = ("", "profiles", "matches per message", "µs per message", "ratio")
_SPARK_COLUMNS = ("inside Spark, local[2]", "µs per message", "ratio", "CPU µs per message", "ratio")


def show_matching(report: dict[str, Any]) -> None:
    """Ratios to the terminal: a peer's time per message over ours."""
    _in_process(report["workloads"])
    _in_spark(report["spark"])
    _figures(report)
    _targets(report["targets"])


def _in_process(workloads: dict[str, Any]) -> None:
    rows = []
    for name, found in workloads.items():
        ours = found["ours"]
        size = render.count(found["profiles"]), f"{found['matches_per_message']:g}"
        rows.append([f"{name} semcast", *size, _number(ours["us_per_message_cpu"]), "1"])
        for peer in found["peers"]:
            label = f"   {peer['peer']}: {peer['plan']}"
            rows.append([label, "", "", _number(peer["us_per_message_cpu"]), _number(peer["ratio_cpu"])])
    render.table("Matching, one thread, CPU time", _COLUMNS, rows, render.stdout)


def _in_spark(workloads: dict[str, Any]) -> None:
    rows = []
    for name, found in workloads.items():
        for record in (found["ours"], *found["peers"]):
            ours = record is found["ours"]
            label = f"{name} semcast" if ours else f"   {record['peer']}: {record['plan']}"
            cells = []
            for clock in ("wall", "cpu"):
                cells.append(_number(record.get(f"us_per_message_{clock}")))
                cells.append("1" if ours else _number(record.get(f"ratio_{clock}")))
            rows.append([label, *cells])
    render.table("Matching inside Spark, by slope", _SPARK_COLUMNS, rows, render.stdout)


def _figures(report: dict[str, Any]) -> None:
    rows = []
    for key, rate in report.get("parsing", {}).items():
        rows.append([f"parsing: {key.replace('_', ' ')}", render.count(rate)])
    if "singles" in report:
        rows.append(["single messages per second, W1", render.count(report["singles"]["messages_per_second"])])
    if "index" in report:
        index = report["index"]
        rows.append([f"index of {index['profiles']:,} parsed profiles, CPU seconds", f"{index['seconds_cpu']:.2f}"])
    if "scaling" in report:
        rows.append(["W4 over W3, per message", _number(report["scaling"]["w4_over_w3"])])
    if rows:
        render.table("Single figures", None, rows, render.stdout)


def _targets(targets: list[dict[str, Any]]) -> None:
    rows = []
    for target in targets:
        wanted = f"≥ {target['at_least']:,}" if target["at_least"] is not None else f"≤ {target['at_most']:,}"
        met = {True: "met", False: "missed", None: "not measured"}[target["met"]]
        rows.append([target["target"], wanted, _number(target["measured"]), met])
    render.table("Targets", ("", "wanted", "measured", ""), rows, render.stdout)


def _number(value: float | None) -> str:
    """Three figures that count; a dash where noise hid the value."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
