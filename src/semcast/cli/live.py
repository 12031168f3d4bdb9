"""`semcast subscribe`, `semcast status`: a running overlay's clients."""

from __future__ import annotations

import asyncio
import json as jsons
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json

if TYPE_CHECKING:
    from semcast.client import Received

Url = Annotated[
    str | None,
    typer.Option(
        "--url", help="semcast://HOST:PORT of a broker or coordinator. Default: SEMCAST_URL.", show_default=False
    ),
]


def subscribe(
    stream: Annotated[str, typer.Argument(help="The stream.")],
    profile: Annotated[str, typer.Argument(help="What is wanted, in the stream's language.")],
    url: Url = None,
    start: Annotated[str, typer.Option("--from", help="latest, earliest, or behind a message's id.")] = "latest",
    session: Annotated[
        str | None, typer.Option(help="A durable session: nothing is missed while away.", show_default=False)
    ] = None,
    max_delay_ms: Annotated[float | None, typer.Option(help="A staleness bound.", show_default=False)] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="In the order of each source.")] = False,
    count: Annotated[int | None, typer.Option(help="End after so many.", show_default=False)] = None,
    timeout: Annotated[
        float | None, typer.Option(help="End after so many seconds without one.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print id, topic, key, headers and time too.")] = False,
) -> None:
    """Print what matches, a line each, as it comes, until Ctrl-C; nothing that matches is missed from "live" on.

    Under the scheme semnet that holds while nothing fails, there is no past to start from, and a session keeps what its
    router has in memory.
    """
    options = {"start": start, "session": session, "max_delay_ms": max_delay_ms, "ordered": ordered}
    run_client(_subscribe(stream, profile, url, options, count, timeout, json))


async def _subscribe(
    stream: str,
    profile: str,
    url: str | None,
    options: dict[str, Any],
    count: int | None,
    timeout: float | None,
    json: bool,
) -> None:
    from semcast.client import Client

    async with Client(url) as client:
        subscription = client.subscribe(stream, profile, **options)
        await subscription.live()
        expected = subscription.expected_delay_ms
        render.say("live" if expected is None else f"live; the bound cannot be met: expect {expected:.0f} ms")
        given = 0
        while count is None or given < count:
            try:
                async with asyncio.timeout(timeout):
                    message = await anext(subscription)
            except TimeoutError:
                break
            _show(message, json)
            given += 1
        await subscription.close(keep=options["session"] is not None)


def _show(message: Received, json: bool) -> None:
    payload = message.payload.decode(errors="backslashreplace")
    if json:
        told = {"id": message.id, "stream": message.stream, "topic": message.topic, "key": message.key}
        payload = jsons.dumps(told | {"headers": message.headers, "time_ms": message.time_ms, "payload": payload})
    elif message.topic is not None:
        payload = f"{message.topic}\t{payload}"
    sys.stdout.write(payload + "\n")
    sys.stdout.flush()


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
