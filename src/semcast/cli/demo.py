"""`semcast demo`: a stream of quotes matched against thousands of profiles on Spark."""

from __future__ import annotations

import json as json_
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.model import SemcastError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHUNK = 50_000


def demo(
    messages: Annotated[int, typer.Option(help="How many quotes to generate.", min=1)] = 1_000_000,
    profiles: Annotated[int, typer.Option(help="How many subscribers' profiles.", min=1)] = 7_000,
    out: Annotated[Path, typer.Option(help="Folder for the stream, the profiles and the plot.")] = Path("build/demo"),
    seed: Annotated[int, typer.Option(help="Another seed gives another stream.")] = 1,
    json: Json = False,
) -> None:
    """Generate a stream of stock quotes and thousands of profiles, and match them on Spark.

    Leaves the stream, the profiles and a plot behind, to try the other commands on.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SemcastError(f"{out}: cannot be made ({error.strerror})") from error
    from semcast.experiments import quotes

    texts = quotes.profiles(profiles, seed)
    profile_file, stream, plot = out / "profiles.jsonl", out / "quotes.parquet", out / "demand.png"
    _write_profiles(profile_file, texts)
    with render.step("starting Spark"):
        from semcast.pipeline.demand import demand
        from semcast.pipeline.progress import watched
        from semcast.pipeline.session import session

        spark = session("semcast demo")
    with render.step(f"generating {messages:,} quotes") as shown, watched(spark, shown.report):
        _stream(spark, messages, seed).write.mode("overwrite").parquet(str(stream))
    with render.step("compiling the kernels (once per machine)"):
        from semcast.matching.relational import kernels

        kernels.warm()
    begin = time.perf_counter()
    with render.step(f"matching them against {profiles:,} profiles") as shown, watched(spark, shown.report):
        found = demand(spark.read.parquet(str(stream)), texts)
    seconds = time.perf_counter() - begin
    with render.step("drawing the plot"):
        from semcast.experiments.plots import plot_demand

        plot_demand(found.messages_per_profile, found.messages_by_interest, plot)
    _summary(found, texts, messages, seconds, spark.sparkContext.defaultParallelism, out, json)


def _write_profiles(path: Path, texts: list[str]) -> None:
    with path.open("w") as file:
        for at, text in enumerate(texts):
            record = {"id": f"p{at}", "stream": "quotes", "language": "relational", "text": text}
            file.write(json_.dumps(record) + "\n")


def _stream(spark: SparkSession, messages: int, seed: int) -> DataFrame:
    """The stream, generated on the workers chunk by chunk."""
    import pyarrow as pa

    from semcast.experiments.quotes import quotes

    def generate(batches: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in batch.column(0).to_pylist():
                first = chunk * _CHUNK
                yield quotes(first, min(_CHUNK, messages - first), seed)

    schema = spark.createDataFrame(pa.Table.from_batches([quotes(0, 1, seed)])).schema
    chunks = -(-messages // _CHUNK)
    parts = min(chunks, 4 * spark.sparkContext.defaultParallelism)
    return spark.range(0, chunks, 1, parts).mapInArrow(generate, schema)


def _summary(found: Any, texts: list[str], messages: int, seconds: float, cores: int, out: Path, json: bool) -> None:
    pairs = int(found.messages_per_profile.sum())
    unwanted = int(found.messages_by_interest[0])
    result = {
        "messages": messages,
        "profiles": len(texts),
        "matches": pairs,
        "matches_per_message": pairs / messages,
        "selectivity": pairs / messages / len(texts),
        "unwanted_messages": unwanted,
        "seconds": round(seconds, 3),
        "messages_per_second": round(messages / seconds),
        "cores": cores,
    }
    if json:
        render.data(result)
    got = {text: int(count) for text, count in zip(texts, found.messages_per_profile, strict=True)}
    ranked = sorted(got, key=lambda text: (-got[text], text))
    shown = [ranked[len(ranked) * share // 100] for share in (0, 1, 10, 50, 90)]
    rows = [(text, f"{got[text]:,}") for text in dict.fromkeys(shown)]
    render.table("Some profiles and the messages that match them", ["profile", "messages"], rows)
    render.table(
        "One stream, matched once",
        None,
        [
            ("messages", f"{messages:,}"),
            ("profiles", f"{len(texts):,}"),
            ("matches", f"{pairs:,}"),
            ("profiles per message, mean", f"{pairs / messages:.2f}"),
            ("selectivity, mean", f"{result['selectivity']:.4%}"),
            ("messages nobody wants", f"{unwanted / messages:.1%}"),
            (f"throughput, {cores} cores", f"{messages / seconds:,.0f} messages/s"),
        ],
    )
    render.say(f"try: semcast explain --profiles {out / 'profiles.jsonl'} \"symbol = 'AAA' AND volume > 100000\"")
    render.say(f"{pairs:,} matches in {seconds:.1f} s; the stream, the profiles and demand.png are in {out}")
