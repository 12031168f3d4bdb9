"""What a publish request brings: one message, or one in each line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request

from semcast.model.message import Message
from semcast.protocol.wire.framing import MAX_MESSAGE
from semcast.server.broker import BrokerHost
from semcast.server.http.answers import Problem

BODY_BYTES = 16 << 20
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")


async def read_body(request: Request) -> bytes:
    """All of a request's body, if it is not too much."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem(415, "send the body as it is, not compressed")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES:
            raise Problem(413, f"a body of more than {BODY_BYTES >> 20} MB; send fewer messages at once")
    return bytes(body)


def messages_of(host: BrokerHost, request: Request, stream: str, body: bytes) -> list[Message]:
    """The messages of a request, all of them fit to be published; Problem names the first line that is not."""
    query = request.query_params
    time_ms = _number(query.get("time_ms"), "time_ms")
    at = round(1000 * host.overlay_time()[0]) if time_ms is None else time_ms
    headers = tuple(_header(text) for text in query.getlist("header"))
    lines = request.headers.get("content-type", "").partition(";")[0].strip().lower() in _LINES
    found = []
    for number, payload in _lines(body) if lines else [(None, body)]:
        message = Message(stream, payload, query.get("topic"), at, query.get("key"), headers)
        check(host, message, {} if number is None else {"line": number})
        found.append(message)
    if not found:
        raise Problem(422, "there is no message in the body")
    return found


def _lines(body: bytes) -> Iterator[tuple[int | None, bytes]]:
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            yield number, line.strip()


def check(host: BrokerHost, message: Message, where: dict[str, Any]) -> None:
    """Problem where a message cannot be published, and where it stands."""
    size = len(message.payload)
    if size > MAX_MESSAGE:
        raise Problem(413, f"a payload of {size:,} bytes; {MAX_MESSAGE:,} are the most", **where)
    reason = host.streams.refusal(message)
    if reason is not None:
        raise Problem(422, f"line {where['line']}: {reason}" if where else reason, **where)


def _header(text: str) -> tuple[str, str]:
    name, found, value = text.partition(":")
    if not found or not name:
        raise Problem(400, f"header: write NAME:VALUE, not {text!r}")
    return name, value


def _number(text: str | None, name: str) -> int | None:
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    raise Problem(400, f"{name}: {text!r} is no whole number")
