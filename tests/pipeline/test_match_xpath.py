"""XPath on Spark: payloads that cannot be read are told, and cost no other message its matches."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from semcast.matching.xpath.documents import MAX_BYTES
from semcast.model import SemcastError
from semcast.pipeline import match
from semcast.pipeline.messages import Source, match_messages
from semcast.pipeline.records import read_profiles
from semcast.pipeline.tally import Tally

pytestmark = pytest.mark.spark
BOMB = "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>"
DEEP = "<a>" * 100_000


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"id": "a", "language": "xpath", "text": "/a"}\n'
        '{"id": "n", "language": "xpath", "text": "/n:a", "namespaces": {"n": "urn:n"}}\n'
    )
    return path


def run(spark: SparkSession, profiles: Path, messages: Path, out: Path) -> tuple[Mapping[int, list[str]], Tally]:
    found = read_profiles(profiles)
    tally = match_messages(Source(spark, messages), found.language, found.records, None, out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {row["message"]: row["profiles"] for row in rows}, tally


def test_payloads_that_cannot_be_read_are_counted_apart_from_missing_ones(
    spark: SparkSession, profiles: Path, tmp_path: Path
) -> None:
    payloads = ["<a/>", "<broken", None, BOMB, DEEP, "<a xmlns='urn:n'/>", "<a>" + "x" * MAX_BYTES + "</a>", 5, "<a/>"]
    lines = [json.dumps({"payload": payload}) for payload in payloads] + ["no message", "{}"]
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    found, tally = run(spark, profiles, tmp_path / "m.jsonl", tmp_path / "out.jsonl")
    assert found == {0: ["a"], 5: ["n"], 8: ["a"]}
    assert (tally.messages, tally.bad, tally.first_bad, tally.unfit) == (11, 1, [9], {"payload": 1})
    assert (tally.unreadable, tally.first_unreadable, tally.missing) == (4, [1, 3, 4, 6], 3)
    assert sum(tally.unreadable_why.values()) == 4
    assert {"not well-formed", "too deep", "too large"} < set(tally.unreadable_why)


def test_parquet_keeps_broken_encodings_to_themselves(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    payloads = [b"<a/>", b"<a>\xff</a>", "<a>é</a>".encode("utf-16"), b"", None, b"<a/>"]
    pyarrow.parquet.write_table(pa.table({"payload": pa.array(payloads, pa.binary())}), tmp_path / "m.parquet")
    found, tally = run(spark, profiles, tmp_path / "m.parquet", tmp_path / "out.jsonl")
    assert list(found) == [0, 2, 5]
    assert (tally.unreadable, tally.first_unreadable, tally.missing) == (2, [1, 3], 1)


def test_a_line_that_is_too_long_costs_no_other_message(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    good = b'{"payload": "<a/>"}\n'
    with (tmp_path / "m.jsonl").open("wb") as file:
        file.write(good + b'{"payload": "')
        for _ in range(70):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n' + good * 3)
    source = Source(spark, tmp_path / "m.jsonl")
    assert len(source.pieces) > 2
    found, tally = run(spark, profiles, tmp_path / "m.jsonl", tmp_path / "out.jsonl")
    assert list(found) == [0, 2, 3, 4]
    assert (tally.messages, tally.bad, tally.too_long, tally.first_bad) == (5, 1, 1, [1])


def test_xml_files_are_messages_in_order_of_their_names(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    texts = {
        "a.xml": "<a/>",
        "b.xml": "<broken",
        "c.xml": "<a xmlns='urn:n'/>",
        "sub/d.xml": "<b/>",
        "sub/e.xml": "<a/>",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "f.xml.gz").write_bytes(gzip.compress(b"<a>" + b" " * (MAX_BYTES + 10) + b"</a>"))
    (folder / "_ignored.xml").write_text("<a/>")
    found, tally = run(spark, profiles, folder, tmp_path / "out.jsonl")
    assert found == {0: ["a"], 2: ["n"], 5: ["a"]}
    assert (tally.messages, tally.unreadable, tally.first_unreadable, tally.missing) == (6, 2, [1, 3], 0)
    assert tally.unreadable_why == {"not well-formed": 1, "too large": 1}
    assert run(spark, profiles, folder / "[ac].xml", tmp_path / "out.jsonl")[0] == {0: ["a"], 1: ["n"]}
    assert run(spark, profiles, folder / "a.xml", tmp_path / "out.jsonl")[0] == {0: ["a"]}
    assert Source(spark, folder).missing(["payload", "price"]) == {"price": None}
    with pytest.raises(SemcastError, match="holds no files"):
        Source(spark, folder / "*.nothing")


def test_many_xml_files_are_few_tasks(spark: SparkSession, profiles: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for at in range(300):
        (folder / f"{at:03}.xml").write_text("<a/>" if at % 7 == 0 else "<b/>")
    found, tally = run(spark, profiles, folder, tmp_path / "out.jsonl")
    assert list(found) == list(range(0, 300, 7))
    assert tally.messages == 300
    assert Source(spark, folder).frame().rdd.getNumPartitions() < 20


def test_match_says_in_a_column_why_a_payload_was_not_read(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("<a/>",), ("<broken",), (None,), (DEEP,), ("<a/>",)], "payload string")
    found = match(frame, {"a": "/a"}, language="xpath", unreadable="why").collect()
    assert [(row.profiles, row.why) for row in found] == [
        (["a"], None),
        ([], "not well-formed"),
        ([], None),
        ([], "too deep"),
        (["a"], None),
    ]
    plain = match(frame, ["/a"], language="xpath")
    assert plain.columns == ["payload", "profiles"]
    assert [row.profiles for row in plain.collect()] == [[0], [], [], [], [0]]
    for name in ("payload", "profiles"):
        with pytest.raises(SemcastError, match="unreadable="):
            match(frame, ["/a"], language="xpath", unreadable=name)
    numbers = spark.createDataFrame([(1,), (5,)], "x int")
    assert [row.why for row in match(numbers, ["x > 3"], unreadable="why").collect()] == [None, None]
