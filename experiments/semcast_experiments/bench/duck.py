"""DuckDB as a peer: profiles and messages are tables of its own, matching is a join.

The plans are what remained of a search for the best SQL; what else was tried stands in docs/performance.md.
All but the last know that each profile asks for one symbol; the last, like our engine, is told nothing.
Only the query is timed: tables are loaded before, symbols are integers on both sides, and by slope the
building of the hash table does not count either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from semcast.model import SemcastError
from semcast_experiments.bench.conjunctions import NUMBERS, Conjunctions
from semcast_experiments.bench.race import Keys

_MAX_NESTED = 200_000  # profiles: a nested loop over a million takes minutes where others take a second


class DuckPlan:
    """One way to write the join; ``{n}`` in it stands for the number of messages."""

    peer = "DuckDB"

    def __init__(self, connection: Any, plan: str, query: str, profiles: int) -> None:
        self.connection = connection
        self.plan = plan
        self.query = query
        self.profiles = profiles

    def run(self, count: int) -> int:
        return int(self._pairs(count).num_rows)

    def keys(self, count: int) -> Keys:
        pairs = self._pairs(count)
        rows, profiles = (pairs.column(name).to_numpy().astype(np.int64) for name in ("row", "profile"))
        keys: Keys = rows * self.profiles + profiles
        keys.sort()
        return keys

    def _pairs(self, count: int) -> pa.Table:
        try:
            return self.connection.sql(self.query.format(n=count)).to_arrow_table()
        except RuntimeError as error:
            if "interrupted" in str(error).lower():  # so DuckDB answers Ctrl-C
                raise KeyboardInterrupt from None
            raise


def check_duckdb() -> None:
    """Complain before minutes of work, and not after them, when DuckDB is missing."""
    try:
        import duckdb  # noqa: F401
    except ImportError:
        raise SemcastError(
            "the benchmark compares with DuckDB, which is not installed: pip install 'semcast[bench]'"
        ) from None


def duck_plans(conjunctions: Conjunctions, messages: pa.RecordBatch) -> list[DuckPlan]:
    """DuckDB's contenders over these profiles and messages, on one thread."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, table in (
        ("wide", conjunctions.wide()),
        ("narrow", conjunctions.narrow()),
        ("shapes", _shapes(conjunctions)),
        ("m", conjunctions.coded(messages)),
    ):
        connection.register("loaded", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM loaded")
        connection.unregister("loaded")
    connection.execute(f"CREATE TABLE nullable AS SELECT {nullable_columns()} FROM wide")
    shapes = conjunctions.shapes()
    for number in range(len(shapes)):
        connection.execute(f"CREATE TABLE shape{number} AS SELECT * FROM narrow WHERE shape = {number}")
    first = "(SELECT * FROM m WHERE row < {n}) m"
    queries = {
        "hash join": f"SELECT row, profile FROM {first} JOIN wide p ON m.symbol = p.symbol AND {bounds(NUMBERS)}",
        "hash join with shape": _by_shape(first, conjunctions.ranges),
        "union of shapes": _union(first, shapes),
        "hash join, NULL for unbounded": (
            f"SELECT row, profile FROM {first} JOIN nullable p ON m.symbol = p.symbol AND {nullable_bounds()}"
        ),
    }
    if len(conjunctions) <= _MAX_NESTED:
        queries["nested loop, profiles of any form"] = (
            f"SELECT row, profile FROM {first} JOIN nullable p "
            f"ON (p.symbol IS NULL OR m.symbol = p.symbol) AND {nullable_bounds()}"
        )
    return [DuckPlan(connection, plan, query, len(conjunctions)) for plan, query in queries.items()]


def bounds(ranges: int) -> str:
    """Profile p's ranges hold for message m; infinite ends hold always."""
    return " AND ".join(f"m.a{i} >= p.low{i} AND m.a{i} < p.high{i}" for i in range(ranges))


def nullable_bounds() -> str:
    """The same where NULL means unbounded: how it is written first, and the planners' weak spot."""
    ends = (
        f"(p.low{i} IS NULL OR m.a{i} >= p.low{i}) AND (p.high{i} IS NULL OR m.a{i} < p.high{i})"
        for i in range(NUMBERS)
    )
    return " AND ".join(ends)


def nullable_columns() -> str:
    ends = (
        f"nullif(low{i}, CAST('-infinity' AS DOUBLE)) AS low{i}, nullif(high{i}, CAST('infinity' AS DOUBLE)) AS high{i}"
        for i in range(NUMBERS)
    )
    return "profile, symbol, " + ", ".join(ends)


def _shapes(conjunctions: Conjunctions) -> pa.Table:
    shapes = np.array(conjunctions.shapes(), np.int32)
    columns = {f"number{i}": shapes[:, i] for i in range(shapes.shape[1])}
    return pa.table({"shape": np.arange(len(shapes), dtype=np.int32), **columns})


def _by_shape(first: str, ranges: int) -> str:
    """Each message once per shape, with just that shape's attributes: fewer tests per candidate."""
    cases = " ".join(f"WHEN {n} THEN m.a{n}" for n in range(NUMBERS))
    values = ", ".join(f"CASE s.number{i} {cases} END AS a{i}" for i in range(ranges))
    spread = f"(SELECT row, symbol, shape, {values} FROM {first}, shapes s) m"
    return (
        f"SELECT row, profile FROM {spread} JOIN narrow p "
        f"ON m.symbol = p.symbol AND m.shape = p.shape AND {bounds(ranges)}"
    )


def _union(first: str, shapes: Sequence[tuple[int, ...]]) -> str:
    """One join per shape, with the conditions of that shape only."""
    joins = []
    for number, shape in enumerate(shapes):
        tests = " AND ".join(f"m.a{a} >= p.low{i} AND m.a{a} < p.high{i}" for i, a in enumerate(shape))
        joins.append(f"SELECT row, profile FROM {first} JOIN shape{number} p ON m.symbol = p.symbol AND {tests}")
    return " UNION ALL ".join(joins)
