"""`semcast demo`: quotes matched on Spark, then a whole overlay with hundreds of subscribers, live."""

from __future__ import annotations

import asyncio
import json as json_
import time
from collections.abc import Coroutine, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.doctor import memory
from semcast.cli.options import Json
from semcast.model import SemcastError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from semcast.dashboard import Dashboard
    from semcast.demo import Outcome

_CHUNK = 50_000


def demo(
    messages: Annotated[int, typer.Option(help="How many quotes to match on Spark.", min=1)] = 1_000_000,
    profiles: Annotated[int, typer.Option(help="Against how many profiles.", min=1)] = 7_000,
    seconds: Annotated[float, typer.Option(help="How long messages flow over the live overlay; 0: not at all.")] = 60.0,
    brokers: Annotated[int, typer.Option(help="Brokers of the live overlay.", min=3)] = 30,
    subscribers: Annotated[int, typer.Option(help="Its subscribers, in all four languages.", min=4)] = 300,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the overlay running, until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where its page is served; 0: at a free one.")] = 7480,
    out: Annotated[Path, typer.Option(help="Folder for all that is left behind.")] = Path("build/demo"),
    seed: Annotated[int, typer.Option(help="Another seed gives other streams and another overlay.")] = 1,
    json: Json = False,
) -> None:
    """Match a stream of stock quotes on Spark, then run a whole overlay: brokers, streams, subscribers, live.

    Leaves the quotes, the profiles, a plot and the overlay's file behind, to try the other commands on.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SemcastError(f"{out}: cannot be made ({error.strerror})") from error
    for finding in memory():
        if finding.advice:
            render.say(f"memory is short, {finding.detail}: {finding.advice}")
    result, spark = _matching(messages, profiles, out, seed)
    live = _live(spark, out, seconds, brokers, subscribers, seed, keep, port) if seconds > 0 else None
    if json:
        render.data(result | ({"live": live} if live is not None else {}))


def _matching(messages: int, profiles: int, out: Path, seed: int) -> tuple[dict[str, Any], SparkSession]:
    from semcast.demo import quotes

    texts = quotes.profiles(profiles, seed)
    profile_file, stream, plot = out / "profiles.jsonl", out / "quotes.parquet", out / "demand.png"
    _write_profiles(profile_file, texts)
    with render.step(f"loading ({render.FIRST_TIME})"):
        from semcast.cli.spark import session
        from semcast.pipeline.demand import demand
        from semcast.pipeline.progress import watched
    with render.step("starting Spark"):
        spark = session("semcast demo")
    with render.step(f"generating {messages:,} quotes") as shown, watched(spark, shown.report):
        _stream(spark, messages, seed).write.mode("overwrite").parquet(str(stream))
    with render.step(f"getting the matcher ready ({render.FIRST_TIME})"):
        from semcast.matching.relational import kernels

        kernels.warm()
    begin = time.perf_counter()
    with render.step(f"matching them against {profiles:,} profiles") as shown, watched(spark, shown.report):
        found = demand(spark.read.parquet(str(stream)), texts)
    seconds = time.perf_counter() - begin
    with render.step("drawing the plot"):
        from semcast.draw.demand import plot_demand

        plot_demand(found.messages_per_profile, found.messages_by_interest, plot)
    return _summary(found, texts, messages, seconds, spark.sparkContext.defaultParallelism, out), spark


def _live(
    spark: SparkSession, out: Path, seconds: float, brokers: int, subscribers: int, seed: int, keep: bool, port: int
) -> dict[str, Any]:
    with render.step(f"getting the brokers ready ({render.FIRST_TIME})"):
        from semcast.demo import LiveDemo, Scale
        from semcast.server.serve import run
        from semcast.server.warmup import warm

        warm(["relational", "semantic", "topic", "xpath"])

    async def play() -> Outcome:
        demo = LiveDemo(out, Scale(seconds, brokers, subscribers, seed=seed), render.say, spark)
        try:
            await demo.start()
            gateway = demo.whole.addresses()[demo.having("gateway")[0]]
            page = await _page(gateway, port, demo.progress)
            render.say(f"watch it: http://{page.address}/")
            render.say(f'or, elsewhere: semcast subscribe quotes "price > 500" --url semcast://{gateway}')
            try:
                outcome = await demo.run()
                _outcome(outcome)
                if keep:
                    render.say(f"messages go on flowing until Ctrl-C; the page is at http://{page.address}/")
                    await _interrupted(demo.keep())
            finally:
                await page.stop()
            return outcome
        finally:
            await demo.stop()

    return run(play()).as_dict()


async def _page(url: str, port: int, progress: Path | None) -> Dashboard:
    """The page of the overlay; where its port is taken, at another one."""
    from semcast.dashboard import Dashboard, Watcher
    from semcast.dashboard.pipeline import Progress

    for chosen in dict.fromkeys((port, 0)):
        page = Dashboard(Watcher(url), url, Progress(progress))
        try:
            await page.start("127.0.0.1", chosen)
        except SemcastError as error:
            if not chosen:
                raise
            render.say(f"{error}: taking one")
        else:
            return page
    raise AssertionError("a free port is always to be had")


async def _interrupted(work: Coroutine[Any, Any, None]) -> None:
    """Go on until somebody wants the end, or it fails."""
    from semcast.server.serve import Ending

    ending, task = Ending(), asyncio.create_task(work)
    task.add_done_callback(lambda done: ending.end() if done.cancelled() else ending.failed("", done.exception()))  # type: ignore[arg-type]
    try:
        await ending.wait()
    finally:
        task.cancel()


def _outcome(outcome: Outcome) -> None:
    done, links, ages = outcome.deliveries, outcome.after, outcome.ages
    each = max(1, links.messages)
    asking = ", ".join(f"{count} {language}" for language, count in outcome.subscribers.items())
    render.table(
        "One overlay, live",
        None,
        [
            ("brokers, of them gateways", f"{outcome.brokers}, {outcome.gateways}"),
            ("subscribers", asking),
            ("messages published", f"{outcome.messages:,}"),
            ("deliveries", f"{done.delivered:,}"),
            ("missed", f"{done.missed:,}"),
            ("duplicates", f"{done.duplicates:,}"),
            ("link transmissions per message", f"{links.live / each:.2f}"),
            ("  a shortest-path tree, filtering at every hop", f"{links.spt / each:.2f} ({links.below_spt:.0%} saved)"),
            ("  a copy per gateway", f"{links.unicast / each:.2f} ({links.below_unicast:.0%} saved)"),
            ("the reorganisation took off", f"{outcome.saved:.0%}"),
            ("age at delivery, median and 99th percentile", f"{ages.p50_ms:.0f} ms, {ages.p99_ms:.0f} ms"),
            (f"later than their bound of {ages.bound_ms:.0f} ms", f"{ages.late:,} of {ages.bounded:,}"),
        ],
    )


def _write_profiles(path: Path, texts: list[str]) -> None:
    with path.open("w") as file:
        for at, text in enumerate(texts):
            record = {"id": f"p{at}", "stream": "quotes", "language": "relational", "text": text}
            file.write(json_.dumps(record) + "\n")


def _stream(spark: SparkSession, messages: int, seed: int) -> DataFrame:
    """The stream, generated on the workers chunk by chunk."""
    import pyarrow as pa

    from semcast.demo.quotes import quotes

    def generate(batches: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in batch.column(0).to_pylist():
                first = chunk * _CHUNK
                yield quotes(first, min(_CHUNK, messages - first), seed)

    schema = spark.createDataFrame(pa.Table.from_batches([quotes(0, 1, seed)])).schema
    chunks = -(-messages // _CHUNK)
    parts = min(chunks, 4 * spark.sparkContext.defaultParallelism)
    return spark.range(0, chunks, 1, parts).mapInArrow(generate, schema)


def _summary(found: Any, texts: list[str], messages: int, seconds: float, cores: int, out: Path) -> dict[str, Any]:
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
    return result
