"""`semcast plan`: channels and trees from profiles, a sample of messages and a topology, on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json, LanguageName, Master, Namespaces, SchemaText
from semcast.cli.render_plan import draw_plan, show_plan, told
from semcast.cli.workload import (
    MessagesFile,
    ProfilesFile,
    SourceBrokers,
    SourceColumnName,
    TopologyFile,
    check_sources,
    counted,
    matched,
    read_parsed,
    read_plan,
    read_topology,
    with_gateways,
)
from semcast.model import SemcastError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from semcast.channels.overlap import Overlap
    from semcast.channels.selectivity import Selectivity
    from semcast.cli.workload import Profiles
    from semcast.planning.build import Request
    from semcast.planning.cost import Cost
    from semcast.planning.plan import Plan
    from semcast.planning.reorganise import Reorganised

_SCHEMES = (
    "masked (few trees, each message over its cheapest, to exactly its gateways), unicast (a copy per gateway), "
    "spt and semnet (filtered at every hop), semcast (2005), semcast-merge, semcast-noisemerge, "
    "semcast-threshold (2004), semcast-o (2005 with central trees)."
)


def plan(
    profiles: ProfilesFile,
    messages: MessagesFile,
    topology: TopologyFile,
    source: SourceBrokers,
    scheme: Annotated[str | None, typer.Option(help=_SCHEMES + " Default: masked, or as in --from.")] = None,
    channels: Annotated[int, typer.Option(min=1, help="At most so many channels (masked).")] = 64,
    seed: Annotated[int, typer.Option(help="For rendezvous points and the order in which gateways join.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Where the plan goes; default: stdout.", show_default=False)] = None,
    previous: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="The plan in force: change as few of its channels as the gain justifies, and say which. "
            "The new plan is its next epoch; one that stays as it is keeps its epoch.",
            show_default=False,
        ),
    ] = None,
    least_gain: Annotated[
        float | None,
        typer.Option(
            help="With --from: the share of the cost that a change must save; by default 0.002 for each tree (masked), "
            "0.05 for the whole plan (others).",
            show_default=False,
        ),
    ] = None,
    draw: Annotated[
        Path | None, typer.Option(help="Draw the most costly channels' trees, as .svg or .png.", show_default=False)
    ] = None,
    join: Annotated[
        str, typer.Option(help="What a gateway joins: the closest 'destination' (the papers' text) or 'broker'.")
    ] = "destination",
    threshold: Annotated[
        float | None, typer.Option(help="semcast-threshold's merging threshold; default: raised as it pays.")
    ] = None,
    max_noise: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="semcast-threshold: the share of what two roots match together that only one of them may match. "
            "1: the threshold alone decides.",
        ),
    ] = 0.5,
    max_merges: Annotated[int, typer.Option(help="Merging stops after this many merges.")] = 1000,
    oracle: Annotated[int, typer.Option(help="Messages to find a tree of their own for, as a yardstick.")] = 100,
    draw_gateways: Annotated[
        bool, typer.Option("--draw-gateways", help="Draw a gateway for every profile that names none.")
    ] = False,
    half_life: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Seconds by which a message must be older than the newest to count half as much (2005 §3.2.1); "
            "default: all count the same. Needs --time-column.",
            show_default=False,
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            help="The messages' column with their time: seconds, or a timestamp as 2026-01-31T12:00:00Z.",
            show_default=False,
        ),
    ] = None,
    source_column: SourceColumnName = None,
    language: LanguageName = None,
    schema: SchemaText = None,
    namespace: Namespaces = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Decide on channels and their trees.

    The messages are a sample of the stream: they are matched on Spark, and the channels are those that would have
    carried them cheapest, as far as the scheme can see. The plan is written with what it costs on that sample; `semcast
    cost` counts it on other messages. No plan withholds a message from a profile that matches it, whatever the sample.
    """
    old = None if previous is None else read_plan(previous)
    scheme = _scheme(scheme, old, previous)
    _check(scheme, join, out, draw, json, least_gain if old is None else None)
    if (half_life is None) != (time_column is None):
        raise SemcastError("--half-life and --time-column go together: messages count less the older they are")
    overlay = read_topology(topology)
    check_sources(source, overlay)
    if old is not None:
        old.check_links(overlay)  # complains before Spark starts
    file = read_parsed(profiles, language, schema, namespace)
    wanted = with_gateways(file, overlay, seed if draw_gateways else None, old.gateways if old else ())
    clock = Clock()
    with clock("spark"):
        spark, matches, origins, times = matched(wanted, messages, schema, master, source, source_column, time_column)

    from semcast.channels.channelize import Settings
    from semcast.channels.selectivity import Selectivity, decay
    from semcast.planning.build import Request, make_plan

    distinct = wanted.distinct()
    selectivity = Selectivity.of(matches, len(distinct))
    if times is not None and half_life is not None:
        selectivity = replace(selectivity, weights=decay(times.max() - times, half_life))
    with clock("spark"):
        matrix = _overlap(spark, selectivity) if scheme.startswith("semcast") else None
    request = Request(
        overlay,
        source[0],
        wanted.subscriptions,
        selectivity,
        seed,
        "broker" if join == "broker" else "destination",
        Settings(max_merges=max_merges, threshold=threshold, max_noise=max_noise),
        matrix,
        lambda wide, narrow: file.language.covers(distinct[wide], distinct[narrow]),
        channels,
        origins=origins,
    )
    done: Reorganised | None = None
    with clock("planning"), render.step(f"planning {scheme}") as shown:
        if old is None:
            made = make_plan(scheme, request, shown.note)
        else:
            done = _reorganised(old, request, wanted, least_gain, shown.note)
            made = done.plan
    cost = counted(made, overlay, wanted.subscriptions, matches, origins, oracle)
    made = _written(made, cost, out)
    if draw is not None:
        draw_plan(made, overlay, draw)
    show_plan(made, cost)
    if json:
        render.data(_summary(made, done, out, clock))
    if old is not None and done is not None:
        _tell(old, done)
    files = ", ".join(str(path) for path in (out, draw) if path is not None)
    render.say(
        f"{scheme}: {len(made.channels):,} channels for {len(file.records):,} profiles ({len(distinct):,} distinct), "
        f"{cost.plan_with_leg:.2f} transmissions per message; Spark {clock.seconds['spark']:.1f} s, planning "
        f"{clock.seconds['planning']:.1f} s" + (f"; written to {files}" if files else "")
    )


def _tell(old: Plan, done: Reorganised) -> None:
    if done.kept:
        render.say(f"kept: {done.kept}")
    render.say(f"epoch {old.epoch} → {done.plan.epoch}; {told(done.change)}")


def _scheme(scheme: str | None, old: Plan | None, path: Path | None) -> str:
    if old is not None and scheme not in (None, old.scheme):
        raise SemcastError(f"{path} is a plan of {old.scheme!r}: a plan of {scheme!r} has to be made without --from")
    return scheme or (old.scheme if old else "masked")


def _reorganised(
    old: Plan, request: Request, wanted: Profiles, least_gain: float | None, say: Callable[[str], None]
) -> Reorganised:
    from semcast.planning.reorganise import reorganised

    by_id = {record.id: record.profile for record in wanted.file.records}

    def covers(wide: str, narrow: str) -> bool:
        return wide in by_id and narrow in by_id and wanted.file.language.covers(by_id[wide], by_id[narrow])

    return reorganised(old, request, covers, least_gain, say)


class Clock:
    """Seconds by what they went into."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - begin, 3)


def _check(scheme: str, join: str, out: Path | None, draw: Path | None, json: bool, unused_gain: float | None) -> None:
    """Complain before anything runs that takes long."""
    from semcast.planning.schemes import scheme_of

    scheme_of(scheme)
    if join not in ("destination", "broker"):
        raise SemcastError(f"--join {join}: gateways join the closest 'destination' or the closest 'broker'")
    if unused_gain is not None:
        raise SemcastError("--least-gain: there is nothing to gain without a plan in force; name it with --from")
    if json and out is None:
        raise SemcastError("--json prints a summary on stdout, so the plan needs a file: give --out")
    for path in (out, draw):
        if path is not None and not path.parent.is_dir():
            raise SemcastError(f"{path.parent}: no such folder")
    if draw is not None:
        from semcast.draw.overlay import check_format

        check_format(draw)


def _overlap(spark: SparkSession, selectivity: Selectivity) -> Overlap:
    from semcast.pipeline.overlaps import overlap
    from semcast.pipeline.progress import watched

    with render.step("overlap of profiles") as shown, watched(spark, shown.report):
        return overlap(spark, selectivity, least=1.0)


def _written(made: Plan, cost: Cost, out: Path | None) -> Plan:
    """The plan with its cost, on stdout or in a file."""
    import msgspec

    made = msgspec.structs.replace(made, cost=cost.as_dict())
    if out is None:
        typer.echo(made.to_json(), nl=False)
    else:
        out.write_text(made.to_json())
    return made


def _summary(made: Plan, done: Reorganised | None, out: Path | None, clock: Clock) -> dict[str, Any]:
    changed = {} if done is None else {"delta": done.change._asdict(), "kept": done.kept}
    return {
        "out": str(out),
        "scheme": made.scheme,
        "epoch": made.epoch,
        "channels": len(made.channels),
        "cost": made.cost,
        "estimate": made.estimate,
        **changed,
        "seconds": clock.seconds,
        "peak_memory_mb": render.peak_memory_mb(),
    }
