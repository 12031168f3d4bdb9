"""Matching on Spark: the same rows as Spark's own filters, from frames, files and clusters."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import semcast
from semcast.model import SemcastError
from semcast.pipeline import match
from semcast.pipeline.messages import _MARK, Source, Split, Tally, _join, match_messages
from semcast.pipeline.records import read_profiles
from tests.laws.relational_worlds import COLUMNS, texts

pytestmark = pytest.mark.spark
language = semcast.language("relational")


def world(rows: int) -> pa.Table:
    random = Random(7)
    return pa.table(
        {name: pa.array(random.choices([None, *values], k=rows), type_) for name, (type_, values) in COLUMNS.items()}
    )


WORLD = world(400)


def differences(spark: SparkSession, written: list[str]) -> list[str]:
    """The profiles that Spark's own filter and the matcher do not agree on."""
    frame = spark.createDataFrame(WORLD)
    rows = frame.selectExpr(*[f"({text}\n) IS TRUE AS c{at}" for at, text in enumerate(written)]).collect()
    matches = language.matcher([language.parse(text) for text in written]).match(WORLD)
    found = [set(map(int, matches.of(row))) for row in range(WORLD.num_rows)]
    return [
        text
        for at, text in enumerate(written)
        if {r for r, row in enumerate(rows) if row[at]} != {r for r in range(len(rows)) if at in found[r]}
    ]


@given(written=st.lists(texts, min_size=60, max_size=60))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_matching_equals_spark_sql(spark: SparkSession, written: list[str]) -> None:
    assert differences(spark, written) == []


@pytest.mark.slow
@given(written=st.lists(texts, min_size=100, max_size=100))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_matching_equals_spark_sql_at_length(spark: SparkSession, written: list[str]) -> None:
    assert differences(spark, written) == []


@pytest.mark.parametrize(
    "text",
    [
        "s = 'it''s'", "s = 'it\\'s'", 's = "a"', "s LIKE 'ab\\\\%'", "s LIKE 'a!_c' ESCAPE '!'", "s = '\\u00e9'",
        "s = r'ab%'", "f <=> 0.1D", "i <=> NULL", "i == 3L", "i != 3", "! (i > 3)", "b IS UNKNOWN", "b IS NOT TRUE",
        "i IS DISTINCT FROM 3", "t > TIMESTAMP '1970-01-01T00:00:00Z'", "t < DATE '2023-11-15'",
        "t >= TIMESTAMP '1970-01-01 02:00:00+02:00'", "f > 1e300", "f = .1", "i IN (1, 2.0, 3)", "-3 <= i AND + 3 >= i",
        "(i) > (2)", "TRUE", "NULL", "i > 1 /* c */ -- d", "`i` > 1", "b > FALSE", "i BETWEEN 1 AND 3 AND NOT b",
    ],
)  # fmt: skip
def test_spelling_means_what_it_means_to_spark(spark: SparkSession, text: str) -> None:
    assert differences(spark, [text]) == []


def test_match_adds_positions_or_names(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "a"), (5, "b"), (9, None)], "x int, s string")
    positions = match(frame, ["x > 3", "s = 'b'"])
    assert positions.columns == ["x", "s", "profiles"]
    assert [(row.x, row.profiles) for row in positions.collect()] == [(1, []), (5, [0, 1]), (9, [0])]
    named = match(frame, {"high": "x > 3", "b": language.parse("s = 'b'")}, column="ids")
    assert [row.ids for row in named.collect()] == [[], ["high", "b"], ["high"]]
    with pytest.raises(SemcastError, match="already has a column 'x'"):
        match(frame, ["x > 3"], column="x")


def test_match_takes_any_language(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("Streams/Sensor/Fluid",), ("Streams/Results",), (None,)], "topic string")
    texts = ["Streams/Sensor", "Streams/*"]
    assert [row.profiles for row in match(frame, texts, language="topic").collect()] == [[0, 1], [1], []]
    topic = semcast.language("topic")
    found = match(frame, {"t": topic.parse(texts[0])}).collect()
    assert [row.profiles for row in found] == [["t"], [], []]
    with pytest.raises(SemcastError, match="profile 1 is no topic profile"):
        match(frame, [topic.parse("a"), language.parse("x > 1")])
    lines = [json.dumps({"id": f"p{at}", "language": "topic", "text": text}) for at, text in enumerate(texts)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    (tmp_path / "m.jsonl").write_text('{"topic": "Streams/Sensor"}\n{"topic": 5}\n{"topic": "Streams/x"}\n')
    rows, tally = run(spark, tmp_path / "p.jsonl", tmp_path / "m.jsonl", tmp_path / "out.jsonl")
    assert rows == {0: ["p0", "p1"], 2: ["p1"]}
    assert tally.unfit == {"topic": 1}


def test_match_passes_other_columns_through(spark: SparkSession) -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    frame = spark.createDataFrame(
        [(1, [1, 2], {"k": 3}, moment, (7,))], "x int, l array<int>, m map<string,int>, t timestamp, n struct<v:int>"
    )
    (row,) = match(frame, ["n.v = 7 AND t >= DATE '2024-01-01'"]).collect()
    assert (row.l, row.m, row.n.v, row.profiles) == ([1, 2], {"k": 3}, 7, [0])


def test_match_works_on_a_streaming_frame(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"x": 1}\n{"x": 5}\n')
    stream = match(spark.readStream.schema("x int").json(str(tmp_path / "in")), {"high": "x > 3"})
    query = stream.writeStream.format("memory").queryName("matched").trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted((row.x, row.profiles) for row in spark.table("matched").collect()) == [(1, []), (5, ["high"])]


# -- files


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.jsonl"
    written = {"high": "x > 90", "b": "s = 'b'", "none": "x IS NULL", "nested": "n.v = 3"}
    lines = [json.dumps({"id": i, "language": "relational", "text": t}) for i, t in written.items()]
    path.write_text("\n".join(lines))
    return path


def run(spark: SparkSession, profiles: Path, messages: Path, out: Path) -> tuple[dict[int, list[str]], Tally]:
    found = read_profiles(profiles)
    tally = match_messages(Source(spark, messages), found.language, found.records, None, out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["message"] for row in rows] == sorted(row["message"] for row in rows)
    return {row["message"]: row["profiles"] for row in rows}, tally


def test_bad_lines_keep_their_numbers_and_are_counted(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    lines = [
        '{"x": 95, "s": "b"}',
        "garbage",
        '{"x": 5}',
        "",
        '{"s": "b", "x": "95"}',
        '{"n": {"v": 3}, "x": 1}',
        '{"x": 9',
    ]
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    found, tally = run(spark, profiles, tmp_path / "m.jsonl", tmp_path / "out.jsonl")
    assert found == {0: ["high", "b"], 4: ["b", "none"], 5: ["nested"]}
    assert (tally.messages, tally.bad, tally.first_bad, tally.unfit) == (7, 3, [1, 3, 6], {"x": 1})
    assert (tally.matched, tally.pairs) == (3, 5)


def test_a_large_file_is_numbered_across_its_splits(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    pad, rows = "y" * 200, 120_000
    with (tmp_path / "m.jsonl").open("w") as file:
        file.writelines(f'{{"x": {at % 100}, "pad": "{pad}"}}\n' for at in range(rows))
    source = Source(spark, tmp_path / "m.jsonl")
    assert len(source.splits()) > 2
    found, tally = run(spark, profiles, tmp_path / "m.jsonl", tmp_path / "out.jsonl")
    assert list(found) == [at for at in range(rows) if at % 100 > 90]
    assert tally.messages == rows


def test_a_folder_is_numbered_in_order_of_names(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    folder = tmp_path / "messages"
    folder.mkdir()
    for name, count in (("b.jsonl", 50), ("a.jsonl", 3), ("c.jsonl", 1), ("_ignored.jsonl", 5)):
        (folder / name).write_text(f'{{"x": 99, "from": "{name}"}}\n' * count)
    found, _ = run(spark, profiles, folder, tmp_path / "out.jsonl")
    assert list(found) == list(range(54))
    (folder / "b.jsonl").write_text('{"x": 1}\n' * 50)
    found, _ = run(spark, profiles, folder, tmp_path / "out.jsonl")
    assert list(found) == [0, 1, 2, 53]


def test_csv_and_parquet_and_gzip(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text('x,s\n95,b\n5,"b\nb"\n,"b"\n5,\n')
    expected = {0: ["high", "b"], 2: ["b", "none"]}
    assert run(spark, profiles, tmp_path / "m.csv", tmp_path / "out.jsonl")[0] == expected
    table = pa.table({"x": [95, 5, None, 5], "s": ["b", "b\nb", "b", None]})
    pyarrow.parquet.write_table(table, tmp_path / "m.parquet")
    assert run(spark, profiles, tmp_path / "m.parquet", tmp_path / "out.jsonl")[0] == expected
    (tmp_path / "m.jsonl.gz").write_bytes(
        gzip.compress(b"".join(json.dumps(r).encode() + b"\n" for r in table.to_pylist()))
    )
    assert run(spark, profiles, tmp_path / "m.jsonl.gz", tmp_path / "out.jsonl")[0] == expected


def test_relative_paths_are_taken_from_where_this_process_is(
    spark: SparkSession, profiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # Spark's JVM, and so its tasks, stay where they were started
    (tmp_path / "m.csv").write_text("x,s\n95,b\n5,a\n")
    (tmp_path / "m.jsonl").write_text('{"x": 95, "s": "b"}\n{"x": 5, "s": "a"}\n')
    pyarrow.parquet.write_table(pa.table({"x": [95, 5], "s": ["b", "a"]}), tmp_path / "m.parquet")
    for name in ("m.csv", "m.jsonl", "m.parquet"):
        assert run(spark, profiles, Path(name), Path("out.jsonl"))[0] == {0: ["high", "b"]}
    assert {file.name for file in tmp_path.iterdir()} >= {"out.jsonl"}
    assert not list(tmp_path.glob(".*"))


def test_results_that_cannot_be_seen_from_here_are_no_result(tmp_path: Path) -> None:
    """As with workers on other machines: the driver says that all went well, and holds what its own tasks wrote."""
    parts = tmp_path / ".out.jsonl.parts"
    parts.mkdir()
    (parts / "part-00001-x.txt").write_text('{"message": 7, "profiles": ["p"]}\n' + _MARK + "{}\n")
    splits = [Split(0, 0, 7), Split(1, 7, 3)]
    with pytest.raises(SemcastError, match="what 1 of 2 tasks found is not in"):
        _join(parts, splits, tmp_path / "out.jsonl", 2)
    assert [file.name for file in tmp_path.iterdir()] == [parts.name]
    _join(parts, splits[1:], tmp_path / "out.jsonl", 1)
    assert json.loads((tmp_path / "out.jsonl").read_text())["message"] == 7


def test_a_csv_row_of_another_width_is_bad(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("x,s\n95,b\n95\n95,b,c\n1,b\n9")
    found, tally = run(spark, profiles, tmp_path / "m.csv", tmp_path / "out.jsonl")
    assert found == {0: ["high", "b"], 3: ["b"]}
    assert (tally.messages, tally.bad, tally.first_bad) == (5, 3, [1, 2, 4])
    assert Source(spark, tmp_path / "m.csv").missing(["x", "S", "n.v"]) == {"S": "s", "n.v": None}


def test_damaged_files_end_in_one_clear_error(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    (tmp_path / "m.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SemcastError, match=r"m\.parquet.*damaged or only half written"):
        run(spark, profiles, tmp_path / "m.parquet", tmp_path / "out.jsonl")
    (tmp_path / "m.parquet").unlink()
    whole = gzip.compress(b'{"x": 95}\n' * 100_000)
    (tmp_path / "m.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SemcastError, match=r"m\.jsonl\.gz.*damaged or only half written"):
        run(spark, profiles, tmp_path / "m.jsonl.gz", tmp_path / "out.jsonl")
    with pytest.raises(SemcastError, match="no such file"):
        run(spark, profiles, tmp_path / "none", tmp_path / "out.jsonl")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.jsonl.gz", "profiles.jsonl"]


@pytest.fixture
def empty_folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def test_an_empty_folder_and_an_empty_file(
    spark: SparkSession, profiles: Path, empty_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(SemcastError, match="holds no files"):
        Source(spark, empty_folder)
    (tmp_path / "m.jsonl").write_text("")
    found, tally = run(spark, profiles, tmp_path / "m.jsonl", tmp_path / "out.jsonl")
    assert (found, tally.messages) == ({}, 0)
