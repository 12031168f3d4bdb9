"""`semcast publish`, `semcast subscribe`, `semcast status`: a running overlay's clients."""

from __future__ import annotations

import asyncio
import json as jsons
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.model import SemcastError

if TYPE_CHECKING:
    from semcast.client import Client, Received
    from semcast.model.message import Message

Url = Annotated[
    str | None,
    typer.Option(
        "--url", help="semcast://HOST:PORT of a broker or coordinator. Default: SEMCAST_URL.", show_default=False
    ),
]
_AT_A_TIME = 256


def publish(
    stream: Annotated[str, typer.Argument(help="The stream.")],
    file: Annotated[Path | None, typer.Argument(help="A message per line. Default: stdin.", show_default=False)] = None,
    url: Url = None,
    topic: Annotated[str | None, typer.Option(help="The topic of all messages.", show_default=False)] = None,
    source: Annotated[
        str | None, typer.Option(help="The source broker. Default: the nearest.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Publish a file, or what is typed: a message per line; it is durable when this ends.

    Relational streams take a JSON object per line, XML streams a document per line. Topic streams take a line as the
    payload where --topic is given, else an object with "topic" and "payload", or the topic alone.
    """
    _run(_publish(stream, file, url, topic, source, json))


async def _publish(
    stream: str, file: Path | None, url: str | None, topic: str | None, source: str | None, json: bool
) -> None:
    from semcast.client import Client

    async with Client(url) as client:
        publisher = client.publisher(source)
        receipts, refused = [], 0
        for number, line in enumerate(_lines(file), 1):
            try:
                receipts.append(await publisher.put(_message(client, stream, line, topic)))
            except SemcastError as error:
                refused += 1
                render.say(f"line {number}: {error}")
            if len(receipts) % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        found = await asyncio.gather(*receipts, return_exceptions=True)
    done = [receipt for receipt in found if not isinstance(receipt, BaseException)]
    for failure in found:
        if isinstance(failure, BaseException):
            refused += 1
            render.say(str(failure))
    last = done[-1].id if done else None
    if json:
        render.data({"published": len(done), "refused": refused, "last": last})
    durable = "1 message is" if len(done) == 1 else f"{len(done):,} messages are"
    render.say(f"{durable} durable{f', the last is {last}' if last else ''}; {refused:,} were refused")
    if refused:
        raise typer.Exit(1)


def _lines(file: Path | None) -> Iterator[bytes]:
    try:
        source = file.open("rb") if file is not None else sys.stdin.buffer
    except OSError as error:
        raise SemcastError(f"{file}: cannot be read ({error.strerror})") from None
    with source:
        for line in source:
            if line.strip():
                yield line.rstrip(b"\r\n")


def _message(client: Client, stream: str, line: bytes, topic: str | None) -> Message:
    declared = client.streams.declared.get(stream)
    if declared is None or declared.language != "topic" or topic is not None:
        return client.message(stream, line, topic=topic)
    try:
        given = jsons.loads(line)
    except ValueError:
        return client.message(stream, b"", topic=line.decode(errors="replace"))
    if not isinstance(given, dict) or not isinstance(given.get("topic"), str):
        raise SemcastError('a message of a topic stream is an object with a "topic"')
    payload = given.get("payload", "")
    return client.message(stream, payload if isinstance(payload, str) else jsons.dumps(payload), topic=given["topic"])


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
    _run(_subscribe(stream, profile, url, options, count, timeout, json))


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
    _run(_status(url, json, watch))


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


def _run(work: Any) -> None:
    from semcast.client import Unreachable
    from semcast.net.serve import run

    try:
        run(work)
    except Unreachable as error:
        render.fail(str(error))
        raise typer.Exit(3) from None
