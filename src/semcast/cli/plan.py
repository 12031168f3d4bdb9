"""`semcast plan`: channels and trees from profiles, a sample of messages and a topology, on Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json, LanguageName, Master, Namespaces, SchemaText
from semcast.cli.workload import (
    MessagesFile,
    ProfilesFile,
    SourceBroker,
    TopologyFile,
    counted,
    matched,
    read_parsed,
    read_topology,
    with_gateways,
)
from semcast.model import SemcastError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from semcast.channels import Overlap, Selectivity
    from semcast.planning import Plan, PlannedChannel
    from semcast.planning.cost import Cost
    from semcast.trees import Topology

_SHOWN = 12
_DRAWN = 6  # more trees than that cannot be told apart
_SCHEMES = (
    "masked (few trees, each message over its cheapest, to exactly its gateways), unicast (a copy per gateway), "
    "spt (filtered at every hop), semcast (2005), semcast-merge, semcast-noisemerge, semcast-threshold (2004), "
    "semcast-o (2005 with central trees)."
)


def plan(
    profiles: ProfilesFile,
    messages: MessagesFile,
    topology: TopologyFile,
    source: SourceBroker,
    scheme: Annotated[str, typer.Option(help=_SCHEMES)] = "masked",
    channels: Annotated[int, typer.Option(min=1, help="At most so many channels (masked).")] = 64,
    seed: Annotated[int, typer.Option(help="For rendezvous points and the order in which gateways join.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Where the plan goes; default: stdout.", show_default=False)] = None,
    draw: Annotated[
        Path | None, typer.Option(help="Draw the most costly channels' trees, as .svg or .png.", show_default=False)
    ] = None,
    join: Annotated[
        str, typer.Option(help="What a gateway joins: the closest 'destination' (the papers' text) or 'broker'.")
    ] = "destination",
    threshold: Annotated[
        float | None, typer.Option(help="semcast-threshold's merging threshold; default: raised as it pays.")
    ] = None,
    max_merges: Annotated[int, typer.Option(help="Merging stops after this many merges.")] = 1000,
    oracle: Annotated[int, typer.Option(help="Messages to find a tree of their own for, as a yardstick.")] = 100,
    draw_gateways: Annotated[
        bool, typer.Option("--draw-gateways", help="Draw a gateway for every profile that names none.")
    ] = False,
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
    _check(scheme, join, out, draw, json)
    overlay = read_topology(topology)
    overlay.node(source)
    file = read_parsed(profiles, language, schema, namespace)
    wanted = with_gateways(file, overlay, seed if draw_gateways else None)
    clock = Clock()
    with clock("spark"):
        spark, matches = matched(wanted, messages, schema, master)

    from semcast.channels import Selectivity, Settings
    from semcast.planning.build import Request, make_plan

    distinct = wanted.distinct()
    selectivity = Selectivity.of(matches, len(distinct))
    with clock("spark"):
        matrix = _overlap(spark, selectivity) if scheme.startswith("semcast") else None
    request = Request(
        overlay,
        source,
        wanted.subscriptions,
        selectivity,
        seed,
        "broker" if join == "broker" else "destination",
        Settings(max_merges=max_merges, threshold=threshold),
        matrix,
        lambda wide, narrow: file.language.covers(distinct[wide], distinct[narrow]),
        channels,
    )
    with clock("planning"), render.step(f"planning {scheme}") as shown:
        made = make_plan(scheme, request, shown.note)
    cost = counted(made, overlay, wanted.subscriptions, matches, source, oracle)
    made = _written(made, cost, out)
    if draw is not None:
        _draw(made, overlay, draw)
    _show(made, cost)
    if json:
        render.data(_summary(made, out) | {"seconds": clock.seconds, "peak_memory_mb": render.peak_memory_mb()})
    files = ", ".join(str(path) for path in (out, draw) if path is not None)
    render.say(
        f"{scheme}: {len(made.channels):,} channels for {len(file.records):,} profiles ({len(distinct):,} distinct), "
        f"{cost.plan_with_leg:.2f} transmissions per message; Spark {clock.seconds['spark']:.1f} s, planning "
        f"{clock.seconds['planning']:.1f} s" + (f"; written to {files}" if files else "")
    )


class Clock:
    """Seconds by what they went into."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - begin, 3)


def _check(scheme: str, join: str, out: Path | None, draw: Path | None, json: bool) -> None:
    """Complain before anything runs that takes long."""
    from semcast.planning.build import SCHEMES

    if scheme not in SCHEMES:
        raise SemcastError(f"there is no scheme {scheme!r}; there are {', '.join(SCHEMES)}")
    if join not in ("destination", "broker"):
        raise SemcastError(f"--join {join}: gateways join the closest 'destination' or the closest 'broker'")
    if json and out is None:
        raise SemcastError("--json prints a summary on stdout, so the plan needs a file: give --out")
    for path in (out, draw):
        if path is not None and not path.parent.is_dir():
            raise SemcastError(f"{path.parent}: no such folder")
    if draw is not None:
        from semcast.experiments.drawing import check_format

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


def _summary(made: Plan, out: Path | None) -> dict[str, Any]:
    return {
        "out": str(out),
        "scheme": made.scheme,
        "channels": len(made.channels),
        "cost": made.cost,
        "estimate": made.estimate,
    }


def _busiest(made: Plan) -> list[PlannedChannel]:
    return sorted(made.channels, key=lambda channel: (-channel.rate * len(channel.tree), channel.id))


def _draw(made: Plan, overlay: Topology, path: Path) -> None:
    from semcast.experiments.drawing import draw

    shown = _busiest(made)[:_DRAWN]
    trees = {channel.id: made.tree(channel, overlay).links.tolist() for channel in shown}
    of = f"{len(shown)} of {len(made.channels):,} channels" if len(made.channels) > len(shown) else "all channels"
    with render.step(f"drawing {path}"):
        draw(overlay, trees, out=path, title=f"{made.scheme}: {of}, the most costly first")


def _show(made: Plan, cost: Cost) -> None:
    busiest = _busiest(made)
    rows = [
        [
            channel.id,
            f"{channel.rate:.2%}",
            str(len(channel.tree)),
            str(len(channel.gateways)),
            f"{len(channel.profiles):,}",
            _short(channel.expression),
        ]
        for channel in busiest[:_SHOWN]
    ]
    if len(busiest) > _SHOWN:
        rows.append([f"… {len(busiest) - _SHOWN:,} more", "", "", "", "", ""])
    render.table(
        "Channels, the most costly first", ["channel", "rate", "links", "gateways", "profiles", "carries"], rows
    )
    show_cost(cost)


def show_cost(cost: Cost) -> None:
    """What a message costs, by this plan and by others."""
    rows = [
        ["this plan", _number(cost.plan_with_leg), _above(cost.plan_with_leg, cost.oracle)],
        ["  without the legs to rendezvous points", _number(cost.plan), _above(cost.plan, cost.oracle)],
        ["shortest-path tree, filtered at every hop", _number(cost.spt), _above(cost.spt, cost.oracle)],
        ["a copy per gateway", _number(cost.unicast), _above(cost.unicast, cost.oracle)],
        ["a copy per client", _number(cost.unicast_clients), _above(cost.unicast_clients, cost.oracle)],
        [f"oracle: a tree per message ({cost.oracle_messages:,} sampled)", _number(cost.oracle), ""],
        ["  no tree can do with less", _number(cost.oracle_bound), _above(cost.oracle_bound, cost.oracle)],
    ]
    render.table("Link transmissions per message", ["", "mean", "above the oracle"], rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _above(value: float | None, oracle: float | None) -> str:
    return f"{value / oracle - 1:+.1%}" if value is not None and oracle else ""


def _short(expression: str | None) -> str:
    if expression is None:
        return "any message, by its gateways"
    return expression if len(expression) <= 18 else expression[:17] + "…"
