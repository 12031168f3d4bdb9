"""`semcast bench`: benchmarks, side by side with peers."""

from __future__ import annotations

import json as json_
import os
from pathlib import Path
from typing import Annotated

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.model import SemcastError


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Which: forward, matching, mixed, mqtt, pipeline, publish, schemes, semantic, subscriptions, topics, "
            "trees, xpath. Default: all.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="WORKLOAD",
            help="Only this workload or part: W1 to W4 of matching, news or auction of xpath, W1, W2, swap, masked, "
            "semcast or latency of pipeline, load, churn or restarts of subscriptions; may be repeated.",
        ),
    ] = None,
    profiles: Annotated[
        list[int] | None,
        typer.Option(
            "--profiles",
            metavar="N",
            min=1,
            help="How many profiles (schemes, semantic, xpath); may be repeated.",
            show_default=False,
        ),
    ] = None,
    populations: Annotated[
        str | None,
        typer.Option(
            "--populations",
            metavar="N,N,…",
            help="How many subscriptions (subscriptions), for example 1000,10000.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Smaller workloads and fewer rounds: seconds instead of minutes, rough figures."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Another seed gives other profiles and other messages.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="The JSON file to write. Default: build/bench/NAME.json", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Measure SemCast side by side with its peers.

    **forward** sends messages through one interior broker, a real process, and through nats-server and
    mosquitto where they are installed, with the same raw sockets in turns: messages per second and per
    CPU-second for 1, 3 and 10 receivers, hop latency, a receiver that takes nothing, and forwarding by masks
    beside filtering by content.

    **matching** matches four workloads of 7,000 to 1,000,000 profiles with our engine, DuckDB, plain
    Spark and brute force in compiled code, in turns, and compares what they find pair by pair. A
    difference is an error (exit code 1). It also measures parsing, building an index and single
    messages. Let the machine rest meanwhile: a busy one blurs the figures.

    **mixed** does the same where only a third of the profiles have an equality to join on.

    **mqtt** publishes at QoS 0 to ten subscribers of one broker that is source and gateway, and of mosquitto
    where it is installed, in turns: messages per second and per CPU-second, and latency.

    **publish** waits for acknowledgements of durable messages, from one source broker and from JetStream with
    its default settings where nats-server is installed, with as many under way.

    **schemes** runs one overlay live under masked, semcast, spt and semnet, with the same interests and packets: link
    transmissions, bytes, tables and CPU time for each delivered message.

    **pipeline** matches and routes inside Spark with 7,000 and 100,000 profiles, next to a job that hands messages on
    untouched and to a plain join; what another plan costs; and publisher to client through Spark and without it.

    **semantic** finds the ports of a packet at a router with 10,000 interests, next to testing each of them.

    **subscriptions** gives an overlay of real processes with four gateways 1,000 to 1,000,000 subscriptions: how fast
    they are live, what one more takes, memory and CPU at each member, churn while messages are published, and members
    that are killed; beside nats-server and mosquitto with as many plain topics, where they are installed.

    **topics** repeats the evaluation of the paper on hierarchical streaming, and leaves its plots in
    build/bench/topics.

    **trees** says how far Steiner trees are above a certified bound, and what ten thousand brokers take.

    **xpath** matches documents of about 100 elements, news and auctions, against 1,000, 7,000 and 50,000
    profiles, next to one lxml XPath per profile and to parsing alone, with fresh engines and used ones.
    """
    from semcast_experiments.bench import BENCHMARKS, PARTS, Options

    chosen = list(dict.fromkeys(names or BENCHMARKS))
    for name in chosen:
        if name not in BENCHMARKS:
            raise SemcastError(f"there is no benchmark {name!r}; there is {', '.join(BENCHMARKS)}")
    if out is not None and len(chosen) > 1:
        raise SemcastError("--out names one file: run one benchmark at a time")
    files = {name: _writable(out or Path("build", "bench", f"{name}.json")) for name in chosen}
    parts = _parts(chosen, PARTS, only or [])
    counts = _counts(populations)
    reports = {}
    for name, file in files.items():
        options = Options(parts[name], quick, seed, tuple(profiles or ()), counts)
        reports[name] = BENCHMARKS[name](options, render.say)
        file.write_text(json_.dumps(reports[name], indent=2, ensure_ascii=False) + "\n")
        if name == "subscriptions":
            from semcast_experiments.cli.render_subscriptions import markdown

            file.with_suffix(".md").write_text(markdown(reports[name]))
    if json:
        render.data(reports[chosen[0]] if len(chosen) == 1 else reports)
    else:
        from semcast_experiments.cli.render_bench import show

        for report in reports.values():
            show(report)
    for name, report in reports.items():
        met = [target["met"] for target in report["targets"] if target["met"] is not None]
        targets = f"{met.count(True)} of {len(met)} targets met, " if met else ""
        unmatched = ("forward", "mqtt", "pipeline", "publish", "schemes", "subscriptions", "topics", "trees")
        equal = "all match sets equal, " if name not in unmatched else ""
        render.say(f"{name}: {equal}{targets}{report['seconds']:.0f} s, written to {files[name]}")


def _parts(chosen: list[str], known: dict[str, tuple[str, ...]], only: list[str]) -> dict[str, tuple[str, ...]]:
    """The workloads that each benchmark is limited to; none: all of them."""
    there = [part for name in chosen for part in known.get(name, ())]
    for part in only:
        if part not in there:
            raise SemcastError(f"there is no workload {part!r}; there is {', '.join(there) or 'only the whole'}")
    return {name: tuple(part for part in known.get(name, ()) if part in only) for name in chosen}


def _counts(text: str | None) -> tuple[int, ...]:
    """``1000,10000`` as numbers; none: those that the benchmark has."""
    try:
        found = tuple(int(part.replace("_", "")) for part in text.split(",")) if text else ()
    except ValueError:
        raise SemcastError(f"--populations {text!r}: write numbers with commas, for example 1000,10000") from None
    return found


def _writable(file: Path) -> Path:
    """Make the folder now: a benchmark must not run for minutes and then fail to write."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SemcastError(f"{file.parent}: cannot be made ({error.strerror})") from error
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise SemcastError(f"{file}: cannot be written")
    return file
