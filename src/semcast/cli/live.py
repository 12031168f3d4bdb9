"""`semcast status`, and what commands share that are clients of a running overlay."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json

Url = Annotated[
    str | None,
    typer.Option(
        "--url", help="semcast://HOST:PORT of a broker or coordinator. Default: SEMCAST_URL.", show_default=False
    ),
]


def status(
    url: Url = None,
    json: Json = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Again every second.")] = False,
) -> None:
    """Show how an overlay, or one broker of it, stands."""
    run_client(_status(url, json, watch))


async def _status(url: str | None, json: bool, watch: bool) -> None:
    from semcast.cli.render_status import show_status
    from semcast.client import Client

    async with Client(url) as client:
        while True:
            found = await client.ask("status")
            if json:
                render.data(found)
            else:
                show_status(found)
            if not watch:
                return
            await asyncio.sleep(1.0)


def run_client(work: Any) -> None:
    """Run a client's coroutine; an overlay that does not answer ends the command with exit code 3."""
    from semcast.client import Unreachable
    from semcast.server.serve import run

    try:
        run(work)
    except Unreachable as error:
        render.fail(str(error))
        raise typer.Exit(3) from None
