"""`semcast pipeline`: a source's messages matched and routed on Spark, into a running overlay."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from semcast.cli import render
from semcast.cli.options import spark_settings
from semcast.cli.planner import tell


def pipeline(
    source: Annotated[
        str,
        typer.Option(help="A folder of JSON Lines, XML, CSV or Parquet; ingest; kafka://host:port/topic; rate:1000."),
    ],
    stream: Annotated[str, typer.Option(help="The stream that the messages are published on.")],
    coordinator: Annotated[
        str | None, typer.Option(help="host:port of a coordinator or broker.", envvar="SEMCAST_URL")
    ] = None,
    checkpoint: Annotated[str, typer.Option(help="Where the query keeps how far it is.")] = "semcast-pipeline",
    format: Annotated[str | None, typer.Option(help="json, xml, csv or parquet, where a folder does not tell.")] = None,
    dead_letters: Annotated[
        str | None, typer.Option(help="A folder for what does not fit the stream, as Parquet.")
    ] = None,
    statistics: Annotated[
        str | None, typer.Option(help="A folder for sampled messages and what matched them, as Parquet.")
    ] = None,
    progress: Annotated[
        str | None,
        typer.Option(help="A file to which each batch adds a line, for semcast dashboard --pipeline."),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark's master; default: this machine.")] = None,
    jars: Annotated[
        str | None, typer.Option(help="Jar files for Spark, with commas, in place of a download of Kafka's connector.")
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")
    ] = None,
    interval: Annotated[float, typer.Option(help="Seconds between batches, at least.")] = 0.0,
    at_once: Annotated[int, typer.Option(help="Files, or thousands of messages, a batch at most.")] = 64,
    once: Annotated[bool, typer.Option("--once", help="End with what is there now.")] = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan/--no-plan",
            help="Make the coordinator's reorganisations on this Spark too, by --statistics if given.",
        ),
    ] = True,
) -> None:
    """Match and route a source's messages on Spark, and append them to an overlay's sources, until Ctrl-C.

    Started again with the same checkpoint it goes on where it was; every message is in the overlay once.
    """
    from semcast.cli.spark import session
    from semcast.model import SemcastError
    from semcast.pipeline.failures import cause
    from semcast.pipeline.feeds import FORMATS, feed_of
    from semcast.pipeline.interrupts import stop
    from semcast.pipeline.options import Where
    from semcast.pipeline.reorganise import SparkPlanner
    from semcast.pipeline.streaming import Batch, Pipeline, Places

    if format is not None and format not in FORMATS.values():
        raise SemcastError(f"--format {format!r}: there is {', '.join(sorted(set(FORMATS.values())))}")
    where = Where.of({"url": coordinator or "", "stream": stream})
    feed = feed_of(source, format)
    settings = spark_settings(conf or [], jars, feed.packages)
    total = [0, 0, 0]

    def done(batch: Batch) -> None:
        for place, count in enumerate((batch.messages, batch.matched, batch.dead)):
            total[place] += count
        swap = f", plan taken up in {batch.swap_s:.2f} s" if batch.swap_s else ""
        dead = f", {batch.dead:,} dead letters" if batch.dead else ""
        lag = "" if batch.behind is None else f", {batch.behind:,} {batch.behind_of} behind"
        render.say(
            f"batch {batch.number}: {batch.messages:,} messages, {batch.matched:,} matched{dead}, "
            f"{batch.rate:,.0f}/s, {batch.seconds:.2f} s, plan {batch.epoch}{swap}{lag}"
        )
        if progress is not None:
            batch.add_to(progress, stream)

    spark = session("semcast pipeline", master, **settings)
    running = Pipeline(spark, where, feed, Places(checkpoint, dead_letters, statistics), at_once=at_once, done=done)
    planner = SparkPlanner(spark, where.url, statistics=statistics, done=tell) if plan else None
    query = running.start(once=once, interval_s=interval)
    print('{"ready": true}', flush=True)
    try:
        while not query.awaitTermination(1):
            pass
    except KeyboardInterrupt:
        query.stop()
    except Exception as error:
        raise SemcastError(f"the pipeline stopped: {cause(error)}") from None
    finally:
        if planner is not None:
            planner.close()
        running.close()
        stop(spark)
    dead = f"; {total[2]:,} dead letters" + (f" in {dead_letters}" if dead_letters else "") if total[2] else ""
    render.say(f"{total[0]:,} messages, {total[1]:,} matched{dead}; goes on from {checkpoint}")
    sys.stdout.flush()
