"""The benchmark of mixed profiles: W1 and W2 with an equality in a third of the profiles only.

A join over all profiles then has no key. DuckDB and Spark get the two ways out: a hash join for the
profiles that have the key and whatever the planner does for the rest, in one query; or, by hand, one join
per combination of attributes (120 of them), which no application would maintain.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import semcast
from semcast_experiments.bench.conjunctions import NUMBERS
from semcast_experiments.bench.duck import DuckPlan, bounds, check_duckdb
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.ours import Ours
from semcast_experiments.bench.race import Contender, Lap, Say, compare, in_process, race, sized, with_children
from semcast_experiments.bench.report import contest, machine, versions
from semcast_experiments.workloads.relational import MIXED

_TERM = re.compile(r"symbol = '([^']*)'|a(\d) >= ([\d.]+) AND a\2 < ([\d.]+)")


def run_mixed(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data; an error where a peer finds other pairs than ours."""
    check_duckdb()
    begin = time.perf_counter()
    found: dict[str, Any] = {}
    for name, workload in MIXED.items():
        count = workload.profiles // (20 if options.quick else 1)
        texts = workload.texts(options.seed)[:count]
        messages = workload.messages(8_192 if options.quick else 65_536, options.seed + 1)
        found[name] = {"profiles": count, **_against_duckdb(name, texts, messages, options, say)}
        if name == "W1":
            stream = workload.messages(20_000 if options.quick else 400_000, options.seed + 1)
            found["W1 inside Spark"] = _against_spark(texts, stream, options, say)
    return {
        "benchmark": "mixed",
        "quick": options.quick,
        "machine": machine(),
        "versions": versions(),
        "found": found,
        "note": [line for name, contested in found.items() for line in _lines(name, contested)],
        "targets": _targets(found, options.quick),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _against_duckdb(
    name: str, texts: Sequence[str], messages: pa.RecordBatch, options: Options, say: Say
) -> dict[str, Any]:
    import duckdb

    ours = Ours(_matcher(texts), messages)
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for table, content in (("p", wide(texts)), ("m", _numbered(messages))):
        connection.register("loaded", content)
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM loaded")
        connection.unregister("loaded")
    shapes = _shape_queries(texts)
    for number, profiles in enumerate(shapes.values()):
        connection.register("loaded", pa.table({"number": profiles}))
        connection.execute(f"CREATE TABLE s{number} AS SELECT p.* FROM p JOIN loaded ON profile = number")
        connection.unregister("loaded")
    first = "(SELECT * FROM m WHERE row < {n}) m"
    plans = {
        "hash join on equality + the rest": _one_query(first),
        "by hand, one join per shape": " UNION ALL ".join(
            f"SELECT row, profile FROM {first} JOIN s{number} p ON {condition}"
            for number, condition in enumerate(shapes)
        ),
    }
    clocks = in_process()
    ours.run(messages.num_rows)
    laps = [Lap(ours, 0, messages.num_rows)]
    for plan, query in plans.items():
        say(f"{name}: DuckDB, {plan}")
        peer = DuckPlan(connection, plan, query, len(texts))
        checked = 256
        pairs = compare(ours, peer, checked, len(texts))
        lap = sized(peer, clocks["cpu"], checked, 0.1 if options.quick else 2.0, messages.num_rows)
        lap.compared, lap.pairs = checked, pairs
        laps.append(lap)
    race(laps, clocks, 2 if options.quick else 3, lambda text: say(f"{name}: {text}"))
    return contest(laps[0], laps[1:], clocks)


def _against_spark(texts: Sequence[str], messages: pa.RecordBatch, options: Options, say: Say) -> dict[str, Any]:
    from semcast.cli.spark import session
    from semcast_experiments.bench.spark import MatchInSpark, SparkPlan, Stream

    spark = session("semcast bench", "local[2]")
    parse = semcast.language("relational").parse
    profiles = [parse(text) for text in texts]
    with tempfile.TemporaryDirectory(prefix="semcast-bench-") as folder:
        import pyarrow.parquet as pq

        pq.write_table(wide(texts), Path(folder, "wide.parquet"))
        spark.read.parquet(str(Path(folder, "wide.parquet"))).createOrReplaceTempView("p")
        stream = Stream(spark, Path(folder, "messages"), _numbered(messages))
        query = _one_query("{m} m").replace("SELECT row", "SELECT /*+ BROADCAST(p) */ row")
        contenders: list[Contender] = [
            MatchInSpark(stream, profiles),
            SparkPlan(stream, "hash join on equality + broadcast nested loop", query, len(texts)),
        ]
        clocks, oracle, laps = with_children(), Ours(_matcher(texts), messages), []
        for contender in contenders:
            say(f"W1 inside Spark: {contender.peer}")
            pairs = compare(oracle, contender, 512, len(texts))
            sized(contender, clocks["wall"], 2_048, 0.0, messages.num_rows)
            seconds = 0.2 if options.quick else 6.0
            lap = sized(contender, clocks["wall"], 8_192, seconds, messages.num_rows)
            lap.compared, lap.pairs = 512, pairs
            laps.append(lap)
        race(laps, clocks, 1 if options.quick else 3, lambda text: say(f"W1 inside Spark: {text}"))
        return contest(laps[0], laps[1:], clocks)


def _matcher(texts: Sequence[str]) -> Any:
    language = semcast.language("relational")
    return language.matcher([language.parse(text) for text in texts])


def wide(texts: Sequence[str]) -> pa.Table:
    """A low and a high column per attribute, infinite where a profile has no range; NULL where it has no symbol."""
    columns: dict[str, list[Any]] = {"profile": list(range(len(texts))), "symbol": []}
    lows: list[list[float]] = [[] for _ in range(NUMBERS)]
    highs: list[list[float]] = [[] for _ in range(NUMBERS)]
    for text in texts:
        terms = _TERM.findall(text)
        columns["symbol"].append(next((symbol for symbol, *_ in terms if symbol), None))
        ends = {int(number): (float(low), float(high)) for _, number, low, high in terms if number}
        for at in range(NUMBERS):
            low, high = ends.get(at, (float("-inf"), float("inf")))
            lows[at].append(low)
            highs[at].append(high)
    columns |= {f"low{at}": values for at, values in enumerate(lows)}
    columns |= {f"high{at}": values for at, values in enumerate(highs)}
    return pa.table(columns)


def _numbered(messages: pa.RecordBatch) -> pa.Table:
    rows = pa.array(range(messages.num_rows), pa.int32())
    return pa.table({"row": rows, **dict(zip(messages.schema.names, messages.columns, strict=True))})


def _one_query(messages: str) -> str:
    joined = f"SELECT row, profile FROM {messages} JOIN (SELECT * FROM p WHERE symbol IS"
    return (
        f"{joined} NOT NULL) p ON m.symbol = p.symbol AND {bounds(NUMBERS)} "
        f"UNION ALL {joined} NULL) p ON {bounds(NUMBERS)}"
    )


def _shape_queries(texts: Sequence[str]) -> dict[str, list[int]]:
    """The join condition of every combination of attributes, and the profiles that have it."""
    found: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        conditions = []
        for symbol, attribute, _, _ in _TERM.findall(text):
            n = attribute
            conditions.append("m.symbol = p.symbol" if symbol else f"m.a{n} >= p.low{n} AND m.a{n} < p.high{n}")
        found.setdefault(" AND ".join(conditions), []).append(number)
    return found


def _lines(name: str, contested: dict[str, Any]) -> list[str]:
    clock = contested["clock"]
    key, ratio = f"us_per_message_{clock}", f"ratio_{clock}"

    def cost(record: dict[str, Any]) -> str:
        return "lost in noise" if record[key] is None else f"{record[key]:,.2f} µs per message ({clock} time)"

    def times(peer: dict[str, Any]) -> str:
        return "" if peer[ratio] is None else f", {peer[ratio]:,.0f} times as much"

    return [f"{name}: semcast {cost(contested['ours'])}"] + [
        f"{name}: {peer['peer']}, {peer['plan']}: {cost(peer)}{times(peer)}" for peer in contested["peers"]
    ]


def _targets(found: dict[str, Any], quick: bool) -> list[dict[str, Any]]:
    wanted = {"W1": 80, "W2": 300, "W1 inside Spark": 20}
    targets = []
    for name, at_least in wanted.items():
        ratio = found[name]["peers"][0][f"ratio_{found[name]['clock']}"]
        met = None if quick or ratio is None else ratio >= at_least
        plan = found[name]["peers"][0]["plan"]
        targets.append(
            {
                "target": f"{name}: {plan}, over ours",
                "at_least": at_least,
                "at_most": None,
                "measured": ratio,
                "met": met,
            }
        )
    return targets
