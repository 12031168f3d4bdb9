"""`semcast subscribe`: what a profile matches, or many profiles of a file, a line each."""

from __future__ import annotations

import asyncio
import json as jsons
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from semcast.cli import render
from semcast.cli.live import Url, run_client
from semcast.model import ProfileError, SemcastError

if TYPE_CHECKING:
    from semcast.client import Client, Received, Subscription, Subscriptions
    from semcast.protocol.streams import Stream


def subscribe(
    stream: Annotated[str, typer.Argument(help="The stream.")],
    profile: Annotated[
        str | None, typer.Argument(help="What is wanted, in the stream's language.", show_default=False)
    ] = None,
    url: Url = None,
    profiles: Annotated[
        Path | None,
        typer.Option(
            help="Many profiles instead of one: JSON Lines, CSV or Parquet with id and text, as for semcast match.",
            show_default=False,
        ),
    ] = None,
    start: Annotated[str, typer.Option("--from", help="latest, earliest, or behind a message's id.")] = "latest",
    session: Annotated[
        str | None,
        typer.Option(
            help="A durable session: nothing is missed while away. With --profiles, one for each id.",
            show_default=False,
        ),
    ] = None,
    max_delay_ms: Annotated[
        float | None, typer.Option(help="A staleness bound; a profile's own in a file comes first.", show_default=False)
    ] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="In the order of each source.")] = False,
    count: Annotated[int | None, typer.Option(help="End after so many.", show_default=False)] = None,
    timeout: Annotated[
        float | None, typer.Option(help="End after so many seconds without one.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print id, topic, key, headers and time too.")] = False,
) -> None:
    """Print what matches, a line each, as it comes, until Ctrl-C; nothing that matches is missed from "live" on.

    With --profiles a line names its profile: {"profile": "p1", "message": {…}}. The message is the JSON object that was
    published, or an object with "payload" (and "topic") on streams that are not relational. A message has a line for
    each profile that it matches. Profiles that cannot be used are named with their place, and the others are taken; the
    command fails only where none can be.

    Under the scheme semnet that holds while nothing fails, there is no past to start from, and a session keeps what its
    router has in memory.
    """
    if (profile is None) == (profiles is None):
        raise typer.BadParameter("give a PROFILE, or a file of them with --profiles")
    options = {"start": start, "session": session, "max_delay_ms": max_delay_ms, "ordered": ordered}
    until = _Until(count, timeout)
    if profiles is not None:
        run_client(_subscribe_many(stream, profiles, url, options, until, json))
    else:
        assert profile is not None
        run_client(_subscribe(stream, profile, url, options, until, json))


class _Until:
    """When to end: after so many messages, or so many seconds without one."""

    def __init__(self, count: int | None, timeout_s: float | None) -> None:
        self._count, self._timeout_s = count, timeout_s

    async def of(self, source: Subscription | Subscriptions) -> AsyncIterator[Any]:
        given = 0
        while self._count is None or given < self._count:
            try:
                async with asyncio.timeout(self._timeout_s):
                    found = await anext(source)
            except (TimeoutError, StopAsyncIteration):
                return
            yield found
            given += 1


async def _subscribe(
    stream: str, profile: str, url: str | None, options: dict[str, Any], until: _Until, json: bool
) -> None:
    from semcast.client import Client

    async with Client(url) as client:
        subscription = client.subscribe(stream, profile, **options)
        await subscription.live()
        expected = subscription.expected_delay_ms
        render.say("live" if expected is None else f"live; the bound cannot be met: expect {expected:.0f} ms")
        async for message in until.of(subscription):
            _show(message, json)
        await subscription.close(keep=options["session"] is not None)


def _show(message: Received, json: bool) -> None:
    payload = message.payload.decode(errors="backslashreplace")
    if json:
        payload = jsons.dumps(_told(message) | {"payload": payload})
    elif message.topic is not None:
        payload = f"{message.topic}\t{payload}"
    _write(payload)


def _told(message: Received) -> dict[str, Any]:
    told = {"id": message.id, "stream": message.stream, "topic": message.topic, "key": message.key}
    return told | {"headers": message.headers, "time_ms": message.time_ms}


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# --- many


@dataclass
class _Wanted:
    """The profiles of a file that are about one stream."""

    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    refused: int = 0
    others: int = 0
    """Of other streams."""

    def refuse(self, where: str, reason: str) -> None:
        self.refused += 1
        render.say(reason if reason.startswith(where) else f"{where}: {reason}")


def _wanted(path: Path, stream: str, declared: Stream) -> _Wanted:
    """Read a file; what cannot be used is said at once, with its place."""
    from semcast.files import profile_rows

    found = _Wanted()
    for where, row in profile_rows(path):
        if isinstance(row, SemcastError):
            found.refuse(where, str(row))
        elif row.get("stream", stream) != stream:
            found.others += 1
        else:
            try:
                _take(found, where, row, declared)
            except SemcastError as error:
                found.refuse(where, str(error))
    return found


def _take(found: _Wanted, where: str, row: dict[str, Any], declared: Stream) -> None:
    from semcast.files import named_text

    id_, text = named_text(row)
    language = row.get("language", declared.language)
    if language != declared.language:
        raise ProfileError(f"profile {id_!r} is {language}, and the stream {declared.language}")
    if id_ in found.places:
        raise ProfileError(f"the id {id_!r} is already used in {found.places[id_]}")
    bound = row.get("max_delay_ms")
    if bound is not None:
        if isinstance(bound, bool) or not isinstance(bound, int | float) or bound <= 0:
            raise ProfileError(f'profile {id_!r}: "max_delay_ms" must be a number above 0')
        found.bounds[id_] = float(bound)
    found.texts[id_] = _with_prefixes(row, text, declared)
    found.places[id_] = where


def _with_prefixes(row: dict[str, Any], text: str, declared: Stream) -> str:
    """A text that means the same without the prefixes that its own record declares."""
    if "namespaces" not in row:
        return text
    from semcast.files import own_prefixes
    from semcast.matching import language

    chosen = language(declared.language)
    if not chosen.has_namespaces:
        return text
    return chosen.canonical(chosen.parse(text, namespaces={**declared.namespaces, **own_prefixes(row)}))


async def _subscribe_many(
    stream: str, path: Path, url: str | None, options: dict[str, Any], until: _Until, json: bool
) -> None:
    from semcast.client import Client

    async with Client(url) as client:
        declared = client.streams.declared.get(stream)
        if declared is None:
            raise SemcastError(client.streams.unknown(stream))
        wanted = _wanted(path, stream, declared)
        found = await _begun(client, stream, wanted, options)
        plain = declared.language == "relational" and not json
        async for id_, message in until.of(found):
            _write(_named(id_, message, plain, json))
        await found.close(keep=options["session"] is not None)


async def _begun(client: Client, stream: str, wanted: _Wanted, options: dict[str, Any]) -> Subscriptions:
    """Subscribe, and say how many are live; SemcastError where none is."""
    bound = options["max_delay_ms"]
    bounds = wanted.bounds if bound is None else dict.fromkeys(wanted.texts, bound) | wanted.bounds
    found = await client.subscribe_many(stream, wanted.texts, **{**options, "max_delay_ms": bounds})
    for place, error in found.errors.items():
        id_ = found.ids[place]
        wanted.refuse(wanted.places[id_], f"profile {id_!r}: {error}")
    if wanted.others:
        render.say(f"{wanted.others:,} profiles of other streams are left out")
    live = found.live
    if not live:
        raise SemcastError(f"none of the profiles can be used on stream {stream!r}")
    unmet = sum(subscription.expected_delay_ms is not None for subscription in live)
    render.say(
        f"{len(live):,} subscriptions are live"
        + (f"; {wanted.refused:,} profiles cannot be used" if wanted.refused else "")
        + (f"; {unmet:,} bounds cannot be met" if unmet else "")
    )
    return found


def _named(id_: str, message: Received, plain: bool, json: bool) -> str:
    """A message as one line that names its profile."""
    shown: Any
    if plain:
        shown = msgspec.Raw(msgspec.json.format(message.payload, indent=-1))
    else:
        shown = _told(message) if json else {} if message.topic is None else {"topic": message.topic}
        shown["payload"] = message.payload.decode(errors="backslashreplace")
    return msgspec.json.encode({"profile": id_, "message": shown}).decode()
