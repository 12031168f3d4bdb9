"""``semcast pipeline``: sources matched and routed on Spark, out of a live overlay to subscribers who come and go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from semcast.model import SemcastError
from semcast.pipeline.feeds import feed_of
from semcast.pipeline.options import Where
from semcast.pipeline.streaming import Batch, Pipeline, Places
from tests.pipeline.overlays import client, overlay, received

pytestmark = [pytest.mark.spark, pytest.mark.system]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with overlay(tmp_path_factory.mktemp("overlay")) as found:
        yield found


class Runs:
    """A pipeline that is run until it has done all that is there."""

    def __init__(self, spark: SparkSession, url: str, folder: Path, stream: str = "quotes") -> None:
        self.spark, self.where, self.folder = spark, Where(url, stream), folder
        self.incoming = folder / "in"
        self.incoming.mkdir()
        self.batches: list[Batch] = []

    def run(self, format_: str | None = None, at_once: int = 64, **places: str) -> None:
        where = Places(str(self.folder / "checkpoint"), **places)
        feed = feed_of(str(self.incoming), format_)
        pipeline = Pipeline(self.spark, self.where, feed, where, at_once=at_once, done=self.batches.append)
        try:
            pipeline.start(once=True).awaitTermination()
        finally:
            pipeline.close()

    @property
    def messages(self) -> int:
        return sum(batch.messages for batch in self.batches)


@pytest.fixture
def runs(spark: SparkSession, url: str, tmp_path: Path) -> Runs:
    return Runs(spark, url, tmp_path)


def lines(path: Path, symbol: str, prices: range) -> None:
    path.write_text("".join(json.dumps({"symbol": symbol, "price": float(price)}) + "\n" for price in prices))


def test_messages_reach_who_asked_for_them_and_profiles_are_taken_up_between_batches(runs: Runs, url: str) -> None:
    with client(url) as here:
        first = here.subscribe("quotes", "symbol = 'A' AND price < 3", ordered=True)
        lines(runs.incoming / "a.json", "A", range(3000))
        lines(runs.incoming / "b.json", "B", range(10))
        runs.run()
        assert [m["price"] for m in received(first, 3)] == [0.0, 1.0, 2.0]  # type: ignore[index]
        late = here.subscribe("quotes", "symbol = 'A' AND price >= 3000")
        lines(runs.incoming / "c.json", "A", range(2998, 3005))
        runs.run()
        assert sorted(m["price"] for m in received(late, 5)) == [3000.0, 3001.0, 3002.0, 3003.0, 3004.0]  # type: ignore[index]
    assert runs.messages == 3017
    assert runs.batches[-1].epoch == runs.batches[0].epoch  # nobody plans for a subscription


def test_what_does_not_fit_is_set_aside_with_the_reason_and_stops_nothing(runs: Runs, url: str, tmp_path: Path) -> None:
    rows = [
        '{"symbol": "DEAD", "price": 1}',
        '{"symbol": "DEAD", "price": "dear"}',
        "nonsense",
        "",
        '{"symbol": "DEAD", "price": 2}',
    ]
    (runs.incoming / "a.jsonl").write_text("\n".join(rows))
    with client(url) as here:
        quotes = here.subscribe("quotes", "symbol = 'DEAD'", ordered=True)
        runs.run(dead_letters=str(tmp_path / "dead"), statistics=str(tmp_path / "statistics"))
        assert [m["price"] for m in received(quotes, 2)] == [1, 2]  # type: ignore[index]
    assert [(batch.messages, batch.dead) for batch in runs.batches] == [(2, 2)]
    dead = pa.parquet.read_table(tmp_path / "dead").to_pylist()
    assert [bytes(row["payload"]) for row in dead] == [b'{"symbol": "DEAD", "price": "dear"}', b"nonsense"]
    assert "'price' should be a number" in dead[0]["reason"]
    assert "no JSON" in dead[1]["reason"]
    assert dead[0]["place"].endswith("a.jsonl")
    kept = pa.parquet.read_table(tmp_path / "statistics").to_pylist()
    assert [(json.loads(row["payload"])["price"], len(row["profiles"])) for row in kept] == [(1, 1), (2, 1)]


def test_a_batch_tells_how_many_files_are_there_that_were_in_none_yet(runs: Runs) -> None:
    for name in ("a", "b b", "c"):
        lines(runs.incoming / f"{name}.json", "LAG", range(2))
    (runs.incoming / "_hidden.json").write_text("{}")
    runs.run(at_once=1)
    lines(runs.incoming / "d.json", "LAG", range(2))
    runs.run(at_once=1)
    assert [(batch.behind, batch.behind_of) for batch in runs.batches] == [(n, "files") for n in (2, 1, 0, 0)]


def test_csv_and_parquet_become_messages_of_the_declared_kinds(runs: Runs, url: str, tmp_path: Path) -> None:
    (runs.incoming / "a.csv").write_text("symbol,price\nCSV,1.5\nCSV,cheap\n")
    with client(url) as here:
        quotes = here.subscribe("quotes", "symbol IN ('CSV', 'PARQUET')")
        runs.run(dead_letters=str(tmp_path / "dead"))
        assert received(quotes, 1) == [{"symbol": "CSV", "price": 1.5}]
        dead = pa.parquet.read_table(tmp_path / "dead").to_pylist()
        assert [bytes(row["payload"]) for row in dead] == [b"CSV,cheap"]
        other = Runs(runs.spark, url, tmp_path / "in")
        pa.parquet.write_table(pa.table({"symbol": ["PARQUET"], "price": [2.5]}), other.incoming / "a.parquet")
        other.run()
        assert received(quotes, 1) == [{"symbol": "PARQUET", "price": 2.5}]


def test_documents_are_messages_of_xml_streams(spark: SparkSession, url: str, tmp_path: Path) -> None:
    runs = Runs(spark, url, tmp_path, "news")
    for number in range(3):
        (runs.incoming / f"{number}.xml").write_text(f"<news><n>{number}</n></news>")
    (runs.incoming / "bad.xml").write_text("<news>")
    with client(url) as here:
        news = here.subscribe("news", "/news/n > 0")
        runs.run()
        found = [news.next(60) for _ in range(2)]
        assert news.next(1) is None
    assert sorted(m.payload for m in found if m) == [b"<news><n>1</n></news>", b"<news><n>2</n></news>"]
    assert sum(batch.dead for batch in runs.batches) == 1


def test_a_source_that_is_none_is_told_with_what_would_be_one(tmp_path: Path) -> None:
    for text, message in [
        (str(tmp_path / "nowhere"), "no such folder"),
        (str(tmp_path), "holds no messages yet; say which with --format"),
        ("kafka://", "write kafka://host:port/topic"),
        ("rate:many", "write rate: and how many"),
    ]:
        with pytest.raises(SemcastError, match=message):
            feed_of(text)
    assert feed_of("kafka://h:9092/t") == ("kafka", "t", "h:9092")
    assert "spark-sql-kafka-0-10_2.13:4" in (feed_of("kafka://h:9092/t").packages or "")


def test_what_live_publishers_put_on_a_stream_of_mode_spark_waits_for_the_pipeline(
    spark: SparkSession, url: str, tmp_path: Path
) -> None:
    batches: list[Batch] = []

    def run() -> None:
        pipeline = Pipeline(
            spark, Where(url, "later"), feed_of("ingest"), Places(str(tmp_path / "checkpoint")), done=batches.append
        )
        try:
            pipeline.start(once=True).awaitTermination()
        finally:
            pipeline.close()

    with client(url) as here:
        later = here.subscribe("later", "n >= 5", ordered=True)
        for turn in range(2):
            for number in range(10 * turn, 10 * turn + 10):
                here.publish("later", {"n": number}, key=f"k{number}")
            assert later.next(1.0) is None  # nobody has matched it yet
            run()
            found = [later.next(60) for _ in range(5 if turn == 0 else 10)]
            assert [m.json()["n"] for m in found if m] == ([5, 6, 7, 8, 9] if turn == 0 else list(range(10, 20)))
            assert later.next(1.0) is None
        assert found[0] is not None
        assert found[0].key == "k10"
    assert sum(batch.messages for batch in batches) == 20
    assert {batch.behind_of for batch in batches} == {"messages"}
    assert all(batch.behind is not None and batch.behind >= 0 for batch in batches)
    with pytest.raises(SemcastError, match="stream 'quotes' is inline: nothing of it waits"):
        Pipeline(spark, Where(url, "quotes"), feed_of("ingest"), Places(str(tmp_path / "other")))
