"""``format("semcast")``: DataFrames into a running overlay, and subscriptions out of it, each message once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.pipeline.overlays import client, overlay, received

pytestmark = [pytest.mark.spark, pytest.mark.system]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with overlay(tmp_path_factory.mktemp("overlay")) as found:
        yield found


def test_a_frame_is_published_once_with_all_that_a_message_has(spark: SparkSession, url: str) -> None:
    rows = [(f"S{at}", float(at), f"k{at}", {"desk": "7"}, datetime(2026, 1, 2, tzinfo=UTC)) for at in range(3000)]
    frame = spark.createDataFrame(
        rows, "symbol string, price double, _key string, _headers map<string,string>, _time timestamp"
    )
    with client(url) as here:
        quotes = here.subscribe("quotes", "price >= 2990")
        frame.repartition(4).write.format("semcast").options(url=url, stream="quotes").mode("append").save()
        found = [quotes.next(60) for _ in range(10)]
        assert quotes.next(1) is None
    assert sorted(m.json()["price"] for m in found if m) == list(range(2990, 3000))  # type: ignore[type-var]
    first = next(m for m in found if m is not None)
    assert (first.key, first.headers) == (f"k{first.json()['price']:.0f}", {"desk": "7"})
    assert first.time_ms == 1767312000000


def test_a_write_that_is_named_is_not_written_again(spark: SparkSession, url: str) -> None:
    frame = spark.createDataFrame([("ONCE", float(at)) for at in range(50)], "symbol string, price double").coalesce(1)
    with client(url) as here:
        quotes = here.subscribe("quotes", "symbol = 'ONCE'")
        for _ in range(2):
            writer = frame.write.format("semcast").options(url=url, stream="quotes", origin="monday")
            writer.mode("append").save()
        assert len(received(quotes, 50)) == 50


def test_a_row_that_does_not_fit_its_stream_says_why(spark: SparkSession, url: str) -> None:
    frame = spark.createDataFrame([("x", "cheap")], "symbol string, price string")
    with pytest.raises(Exception, match="'price' should be a number, and is \"cheap\""):
        frame.write.format("semcast").options(url=url, stream="quotes").mode("append").save()
    with pytest.raises(Exception, match="there is no stream 'quots'; did you mean 'quotes'"):
        frame.write.format("semcast").options(url=url, stream="quots").mode("append").save()
    with pytest.raises(Exception, match="it needs a column 'topic'"):
        frame.write.format("semcast").options(url=url, stream="topics").mode("append").save()


def test_a_stream_is_published_and_subscribed_to_by_spark_alone(spark: SparkSession, url: str, tmp_path: Path) -> None:
    """Files in, messages over the overlay, files out; three runs of each query, every one from its checkpoint."""
    incoming, out = tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    subscribed = (
        spark.readStream.format("semcast")
        .options(url=url, stream="quotes", profile="symbol = 'SPARK' AND price < 40")
        .load()
    )

    def take() -> list[Any]:
        query = (
            subscribed.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "taken"))
            .trigger(availableNow=True)
            .start(str(out))
        )
        query.awaitTermination()
        return spark.read.schema(subscribed.schema).parquet(str(out)).collect()

    assert take() == []  # from here on nothing is missed
    for turn in range(2):
        lines = [f'{{"symbol": "SPARK", "price": {at}}}' for at in range(20 * turn, 20 * turn + 30)]
        (incoming / f"{turn}.json").write_text("\n".join(lines))
        query = (
            spark.readStream.schema("symbol string, price double")
            .json(str(incoming))
            .writeStream.format("semcast")
            .options(url=url, stream="quotes", checkpointLocation=str(tmp_path / "put"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    rows = take()
    expected = sorted([*map(float, range(30)), *map(float, range(20, 40))])
    assert sorted(row.price for row in rows) == expected
    assert {row.symbol for row in rows} == {"SPARK"}
    assert len({row["_id"] for row in rows}) == len(rows)
    assert take() == rows


def test_values_keep_their_kinds_on_the_way_through(spark: SparkSession, url: str) -> None:
    moment = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    columns = "name string, n struct<v:int>, at timestamp, big bigint, flag boolean"
    frame = spark.createDataFrame([("a", (3,), moment, 1 << 60, True), (None, None, None, None, None)], columns)
    frame.coalesce(1).write.format("semcast").options(url=url, stream="shapes").mode("append").save()
    read = spark.read.format("semcast").options(url=url, stream="shapes", profile="TRUE").load()
    assert [f"{f.name} {f.dataType.simpleString()}" for f in read.schema.fields[:5]] == columns.split(", ")
    found = read.orderBy("_id").drop("_id", "_time", "_key", "_headers").collect()
    assert found == frame.collect()


def test_streams_that_are_not_relational_have_payloads(spark: SparkSession, url: str) -> None:
    topics = spark.createDataFrame([("a/b", b"1"), ("c", b"2")], "topic string, payload binary")
    topics.coalesce(1).write.format("semcast").options(url=url, stream="topics").mode("append").save()
    read = spark.read.format("semcast").options(url=url, stream="topics", profile="a").load()
    assert [(row.topic, bytes(row.payload)) for row in read.collect()] == [("a/b", b"1")]
    news = spark.createDataFrame([("<a><b/></a>",), ("<c/>",)], "payload string")
    news.write.format("semcast").options(url=url, stream="news").mode("append").save()
    read = spark.read.format("semcast").options(url=url, stream="news", profile="/a/b").load()
    assert [bytes(row.payload) for row in read.collect()] == [b"<a><b/></a>"]
    loose = spark.createDataFrame([('{"x": 1}',)], "payload string")
    loose.write.format("semcast").options(url=url, stream="loose").mode("append").save()
    read = spark.read.format("semcast").options(url=url, stream="loose", profile="x = 1").load()
    assert [row.payload for row in read.collect()] == ['{"x": 1}']
