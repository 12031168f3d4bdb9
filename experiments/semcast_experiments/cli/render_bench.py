"""A benchmark's report as tables."""

from __future__ import annotations

from typing import Any

from semcast.cli import render
from semcast_experiments.cli.render_subscriptions import tables, target_cells

_COLUMNS = ("", "µs per message", "ratio")
_SPARK_COLUMNS = ("", "µs per message", "ratio", "CPU µs", "ratio")


def show(report: dict[str, Any]) -> None:
    """A report's tables, or its words."""
    if report["benchmark"] == "matching":
        show_matching(report)
        return
    if report["benchmark"] == "xpath":
        show_xpath(report)
        return
    if report["benchmark"] == "forward":
        show_forward(report)
        return
    if report["benchmark"] in ("mqtt", "publish"):
        show_clients(report)
        return
    if report["benchmark"] == "schemes":
        show_schemes(report)
        return
    if report["benchmark"] == "subscriptions":
        show_subscriptions(report)
        return
    for line in report["note"]:
        render.stdout.print(f"- {line}", markup=False, soft_wrap=True)
    if not report["quick"]:
        _targets(report["targets"])


def show_matching(report: dict[str, Any]) -> None:
    """Ratios to the terminal: a peer's time per message over ours."""
    workloads, in_spark = report["workloads"], report["spark"]
    for name, found in workloads.items():
        size = f"{found['profiles']:,} profiles, {found['matches_per_message']:g} matches per message"
        render.table(f"{name}: {size}; one thread, CPU time", _COLUMNS, _rows(found, ("cpu",)), render.stdout)
    for name, found in in_spark.items():
        title = f"{name} inside Spark on local[2], by slope"
        render.table(title, _SPARK_COLUMNS, _rows(found, ("wall", "cpu")), render.stdout)
    _figures(report)
    if not report["quick"]:
        _targets(report["targets"])


def show_subscriptions(report: dict[str, Any]) -> None:
    """A column per population, then stages, peers and targets."""
    for title, columns, rows in tables(report):
        render.table(title, columns, rows, render.stdout)
    if not report["quick"]:
        _targets(report["targets"])


def show_schemes(report: dict[str, Any]) -> None:
    """A row per scheme: link transmissions, bytes and hops that match, per packet; tables; CPU time per delivery."""
    columns = ("", "links", "KB", "KB besides", "matched", "tables, KB", "largest", "CPU µs")
    packets = report["packets"]
    rows = [
        [
            found["scheme"],
            *(f"{found[key] / packets / unit:.2f}" for key, unit in _PER_PACKET.items()),
            *(f"{found[key] / 1e3:.1f}" for key in ("table_bytes", "largest_table_bytes")),
            _number(found["cpu_us"]),
        ]
        for found in report["schemes"]
    ]
    title = f"{report['brokers']} brokers, {report['interests']} interests at {report['gateways']} of them, "
    title += f"{packets:,} packets, {report['delivered']:,} deliveries; per packet, CPU per delivery"
    render.table(title, columns, rows, render.stdout)


_PER_PACKET = {"transmissions": 1, "data_bytes": 1e3, "control_bytes": 1e3, "evaluations": 1}


def show_forward(report: dict[str, Any]) -> None:
    """Every cell beside nats-server, then single figures."""
    columns = ("", "k/s", "times nats", "k/CPU-s", "times nats", "CPU", "kept waiting", "lost")
    for cell in report["cells"]:
        title = f"1→{cell['fan']}, {cell['bytes']} bytes; load average {cell['load_average']}"
        rows = [[name, *_forward_figures(record)] for name, record in cell["contenders"].items()]
        render.table(title, columns, rows, render.stdout)
    rows = []
    for hop in report["latency"]:
        for name, p50 in hop["p50_us"].items():
            rows.append([f"1→{hop['fan']}: {name}", _number(p50)])
    render.table("Hop latency at a low rate: median, µs", None, rows, render.stdout)
    rows = [
        [f"{found['profiles']:,}", str(row["per_frame"]), *(_number(row[key]) for key in ("masks", "content", "ratio"))]
        for found in report["content"]
        for row in found["rows"]
    ]
    costs = ("profiles", "messages per frame", "masks", "content", "times")
    render.table("CPU µs of an interior broker per message delivered", costs, rows, render.stdout)
    if not report["quick"]:
        _targets(report["targets"])


def show_clients(report: dict[str, Any]) -> None:
    """Every cell beside the peer."""
    peer = report["peer"]
    columns = ("", "k/s", f"times {peer}", "k/CPU-s", f"times {peer}", "CPU", "kept waiting")
    for cell in report["cells"]:
        what = cell["case"] if "case" in cell else f"{cell['under_way']:,} under way"
        title = f"{what}, {cell['bytes']} bytes; load average {cell['load_average']}"
        rows = [[name, *_forward_figures(record)] for name, record in cell["contenders"].items()]
        render.table(title, columns, [row[: len(columns)] for row in rows], render.stdout)
    rows = [
        [f"{hop['case']}: {n}", _number(p50)] for hop in report.get("latency", ()) for n, p50 in hop["p50_us"].items()
    ]
    if rows:
        render.table("Until all subscribers have a message, one at a time: median, µs", None, rows, render.stdout)
    if not report["quick"]:
        _targets(report["targets"])


def _forward_figures(record: dict[str, Any]) -> list[str]:
    thousands = (record["per_second"] / 1000, record.get("ratio"), record["per_cpu_second"] / 1000)
    shares = (f"{record['cpu_share']:.0%}", f"{record['waited_share']:.0%}")
    return [*map(_number, thousands), _number(record.get("ratio_cpu")), *shares, _number(record.get("lost"))]


def show_xpath(report: dict[str, Any]) -> None:
    """Documents per second of every contender, and ours at equal matches."""
    for name, found in report["schemas"].items():
        documents = found["documents"]
        size = f"{documents['mean_bytes']:,} bytes, {documents['mean_elements']:g} elements on average"
        _xpath_table(f"{name}: {size}; one thread, CPU time", found["races"], ("ratios",))
        _xpath_table(f"{name}: growth at equal matches", found["growth"], ("over_the_first",))


def _xpath_table(title: str, races: list[dict[str, Any]], more: tuple[str, ...]) -> None:
    columns = ["documents per second", *(f"{race['profiles']:,} profiles" for race in races)]
    rows = [["matches per document", *(_number(race["matches_per_document"]) for race in races)]]
    rows += [
        [contender, *(_number(1e6 / race["us_per_document"][contender]) for race in races)]
        for contender in races[0]["us_per_document"]
    ]
    for key in more:
        rows += [[f"{name}: times", *(_number(race[key][name]) for race in races)] for name in races[0][key]]
    if "build_seconds" in races[0]:
        rows.append(["CPU seconds to build", *(_number(race["build_seconds"]) for race in races)])
    render.table(title, columns, rows, render.stdout)


def _rows(found: dict[str, Any], clocks: tuple[str, ...]) -> list[list[str]]:
    rows = []
    for record in (found["ours"], *found["peers"]):
        row = [f"{record['peer']}, {record['plan']}"]
        for clock in clocks:
            row.append(_number(record.get(f"us_per_message_{clock}")))
            row.append("1" if record is found["ours"] else _number(record.get(f"ratio_{clock}")))
        rows.append(row)
    return rows


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
    rows = [[target["target"], *target_cells(target)] for target in targets]
    render.table("Targets", ("", "wanted", "measured", ""), rows, render.stdout)


def _number(value: float | None) -> str:
    """Three figures that count; a dash where noise hid the value."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
