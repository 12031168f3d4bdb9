"""`semcast dashboard`: the page of a running overlay."""

from __future__ import annotations

import json as jsons
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.live import Url

_PORT = 7480


def dashboard(
    url: Url = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the page is served; 0: a free one.")] = _PORT,
    host: Annotated[str, typer.Option(help="The address to listen at; the page has no password.")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name that browsers may ask for, where a proxy has one; may be repeated.",
            show_default=False,
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(help="Show a recorded run instead: what semcast simulate --out wrote.", show_default=False),
    ] = None,
    pipeline: Annotated[
        Path | None,
        typer.Option(help="What semcast pipeline --progress writes, for the pipeline view.", show_default=False),
    ] = None,
) -> None:
    """Serve a page that shows a running overlay: channels, trees, loads, subscribers, costs. Until Ctrl-C.

    It asks the overlay's members for what they say of themselves, and changes nothing. It goes on trying while nobody
    answers, so that it may be started first.
    """
    from semcast.dashboard import Dashboard, Recording, Replay, Watcher
    from semcast.dashboard.pipeline import Progress
    from semcast.server.serve import Ending, run, serve

    recording = None
    if replay is not None:
        with render.step(f"reading {replay}"):
            recording = Recording(replay)

    async def start(ending: Ending) -> Any:
        live = recording is None
        served: Any = Dashboard(Watcher(url), url, Progress(pipeline)) if live else Replay(recording)  # type: ignore[arg-type]
        await served.start(host, port, allow_host or ())
        return served

    def ready(served: Any) -> None:
        render.say(f"the page is at http://{served.address}/")
        if not sys.stdout.isatty():
            print(jsons.dumps({"ready": True, "address": served.address}), flush=True)

    run(serve(start, ready))
