"""`semcast planner`: a running overlay's reorganisations, made on Spark."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from semcast.cli import render
from semcast.cli.options import spark_settings

if TYPE_CHECKING:
    from semcast.pipeline.reorganise import Reorganised


def planner(
    coordinator: Annotated[
        str | None, typer.Option(help="host:port of a coordinator or broker.", envvar="SEMCAST_URL")
    ] = None,
    statistics: Annotated[
        str | None,
        typer.Option(help="The folder of sampled messages that semcast pipeline --statistics writes, to plan by."),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark's master; default: this machine.")] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; may be repeated.")
    ] = None,
) -> None:
    """Make the reorganisations of an overlay's coordinators on Spark, until Ctrl-C.

    A coordinator checks what it is given, and makes a plan itself when nobody here does so in time.
    """
    from semcast.cli.spark import session
    from semcast.pipeline.interrupts import stop
    from semcast.pipeline.options import url_of
    from semcast.pipeline.reorganise import SparkPlanner

    url = url_of(coordinator)
    spark = session("semcast planner", master, **spark_settings(conf or []))
    made = 0

    def done(one: Reorganised) -> None:
        nonlocal made
        made += 1
        tell(one)

    try:
        with SparkPlanner(spark, url, statistics=statistics, done=done):
            print('{"ready": true}', flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        stop(spark)
    render.say(f"{made:,} plans made")
    sys.stdout.flush()


def tell(one: Reorganised) -> None:
    """A line about a plan that was made."""
    render.say(
        f"plan {one.epoch} made on Spark: {one.profiles:,} profiles, {one.samples:,} samples, statistics "
        f"{one.statistics_s:.2f} s, overlap {one.overlap_s:.2f} s, channels and trees {one.plan_s:.2f} s"
    )
