"""`semcast publish`: lines of a file or a pipe as messages, each of them sent when it is there."""

from __future__ import annotations

import asyncio
import json as jsons
import signal
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semcast.cli import render
from semcast.cli.lines import Lines
from semcast.cli.live import Url, run_client
from semcast.cli.options import Json
from semcast.model import SemcastError

if TYPE_CHECKING:
    from semcast.client import Client, Publishing, Receipt
    from semcast.model.message import Message

_PATIENCE_S = 5.0
"""After Ctrl-C, how long messages that were read may take to become durable."""
_INTERRUPTED = 130


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
    """Publish a file, or what is typed: a message per line, sent as it comes; all are durable when this ends.

    Relational streams take a JSON object per line, XML streams a document per line. Topic streams take a line as the
    payload where --topic is given, else an object with "topic" and "payload", or the topic alone. Ctrl-C ends it: what
    was read is published, and the last line says how many messages are durable.
    """
    run_client(_publish(stream, file, url, topic, source, json))


async def _publish(
    stream: str, file: Path | None, url: str | None, topic: str | None, source: str | None, json: bool
) -> None:
    from semcast.client import Client

    lines, tally = Lines(file), _Tally()
    async with Client(url) as client:
        publisher = client.publisher(source)
        work = asyncio.create_task(_feed(client, publisher, lines, stream, topic, tally))
        interruption = _Interruption(lines, work)
        await asyncio.wait({work})
        if interruption.happened:
            await publisher.stop(0)
    if not work.cancelled():
        work.result()
    tally.close(json)
    if interruption.happened:
        raise typer.Exit(_INTERRUPTED)
    if tally.failed:
        raise typer.Exit(1)


async def _feed(
    client: Client, publisher: Publishing, lines: Lines, stream: str, topic: str | None, tally: _Tally
) -> None:
    """Publish every line; returns when each of them is durable or refused."""
    number = 0
    async for batch in lines:
        for line in filter(bytes.strip, batch):
            number += 1
            try:
                receipt = await publisher.put(_message(client, stream, line, topic))
            except SemcastError as error:
                tally.refuse(number, error)
            else:
                tally.wait_for(number, receipt)
        tally.sweep()
    await publisher.drained()


class _Tally:
    """What became of the lines. It holds receipts only while they are under way: a pipe may never end."""

    def __init__(self) -> None:
        from semcast.client import Refused

        self.refused = 0
        self._refusal = Refused
        self._durable = self._unsure = 0
        self._last: str | None = None
        self._trouble = ""
        """Why messages will never be confirmed."""
        self._under_way: deque[tuple[int, asyncio.Future[Receipt]]] = deque()

    @property
    def failed(self) -> bool:
        return bool(self.refused or self._unsure)

    def refuse(self, number: int, error: BaseException) -> None:
        self.refused += 1
        render.say(f"line {number}: {error}")

    def wait_for(self, number: int, receipt: asyncio.Future[Receipt]) -> None:
        self._under_way.append((number, receipt))

    def sweep(self) -> None:
        """Count what is settled: receipts come in the order of their messages, so the oldest are looked at."""
        while self._under_way and self._under_way[0][1].done():
            number, receipt = self._under_way.popleft()
            error = receipt.exception()
            if error is None:
                self._durable += 1
                self._last = receipt.result().id
            elif isinstance(error, self._refusal):
                self.refuse(number, error)
            else:
                self._unsure += 1
                self._trouble = str(error)

    def close(self, json: bool) -> None:
        """Say the closing line, and the counts on stdout where they are asked for."""
        self.sweep()
        if json:
            counts = {"published": self._durable, "refused": self.refused, "last": self._last}
            render.data(counts | ({"unconfirmed": self._unsure} if self._unsure else {}))
        durable = "1 message is" if self._durable == 1 else f"{self._durable:,} messages are"
        last = f", the last is {self._last}" if self._last else ""
        unsure = f"; {self._unsure:,} were not confirmed" if self._unsure else ""
        if self._trouble:
            render.say(self._trouble)
        render.say(f"{durable} durable{last}; {self.refused:,} were refused{unsure}")


class _Interruption:
    """Ctrl-C and SIGTERM: no more lines are read; those that were get a few seconds. The second one ends at once."""

    def __init__(self, lines: Lines, work: asyncio.Task[None]) -> None:
        self.happened = False
        self._lines, self._work = lines, work
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._interrupt)

    def _interrupt(self) -> None:
        if self.happened:
            self._work.cancel()
            return
        self.happened = True
        self._lines.stop()
        self._loop.call_later(_PATIENCE_S, self._work.cancel)


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
