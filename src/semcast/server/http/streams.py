"""Streams over HTTP: which there are, publishing on them, and following them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from semcast.protocol.streams import Stream
from semcast.server.broker import BrokerHost
from semcast.server.coordinator import CoordinatorHost
from semcast.server.http.answers import Problem, answer, problem_of
from semcast.server.http.bodies import messages_of, read_body
from semcast.server.http.cursors import Cursor
from semcast.server.http.feeds import Feeds, Wish
from semcast.server.http.publishers import PATIENCE_S
from semcast.server.http.sse import EventStream
from semcast.storage.origins import KEY

if TYPE_CHECKING:
    from semcast.server.http.front import HttpFront

_EVERYTHING = {"relational": "TRUE", "xpath": "/*"}
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


class StreamRoutes:
    """The endpoints below /v1/streams of one broker or coordinator."""

    def __init__(self, front: HttpFront) -> None:
        self._front = front

    async def listed(self, request: Request) -> Response:
        declared = self._front.host.view.streams
        return answer({name: {"language": s.language, "schema": s.schema} for name, s in declared.items()})

    async def publish(self, request: Request) -> Response:
        """Answers when everything is durable."""
        host, publishers = publishing_host(self._front), self._front.publishers
        assert publishers is not None
        stream = request.path_params["stream"]
        declared(host, stream)
        body = await read_body(request)
        messages = messages_of(host, request, stream, body)
        origin, first = _origin(request.headers)
        source = publishers.source(request.query_params.get("source"), origin)
        patience_ms = _positive(request.query_params, "patience_ms")
        patience_s = PATIENCE_S if patience_ms is None else patience_ms / 1000
        if origin is None:
            receipts = await publishers.publish(messages, source, patience_s)
        else:
            receipts = await publishers.publish_once(messages, source, origin, first, patience_s)
        return answer({"published": len(receipts), "source": source, "ids": [receipt.id for receipt in receipts]})

    async def follow(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What a profile matches, as it comes."""
        request = Request(scope, receive)
        try:
            response: Response | EventStream = await self._following(request)
        except Exception as error:
            response = problem_of(error).response()
        await response(scope, receive, send)

    async def _following(self, request: Request) -> Response | EventStream:
        feeds = feeds_of(self._front)
        stream = declared(self._front.host, request.path_params["stream"])
        wish = wish_of(request, stream)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return EventStream(feeds, await feeds.begin(wish), stream.language)


def declared(host: BrokerHost | CoordinatorHost, name: str) -> Stream:
    """A stream by its name; Problem where there is none."""
    found = host.view.streams.get(name)
    if found is None:
        raise Problem(404, host.view.declared().unknown(name), streams=sorted(host.view.streams))
    return found


def publishing_host(front: HttpFront) -> BrokerHost:
    host = front.host
    if isinstance(host, CoordinatorHost):
        raise misdirected(host, "source", "a coordinator, which takes no messages")
    return host


def feeds_of(front: HttpFront) -> Feeds:
    if front.feeds is None:
        raise misdirected(front.host, "gateway", "no gateway")
    return front.feeds


def misdirected(host: BrokerHost | CoordinatorHost, role: str, what: str) -> Problem:
    """Somebody else is to be asked; the answer says who."""
    able = {name: f"http://{host.view.members[name].address}" for name in host.view.having(role)}
    return Problem(421, f"{host.name} is {what}; ask {' or '.join(able.values()) or 'one'}", **{role + "s": able})


def wish_of(request: Request, stream: Stream) -> Wish:
    """What a request asks to be sent. Where the client was before counts more than where it wanted to start."""
    query = request.query_params
    last = request.headers.get("last-event-id") or query.get("last_event_id") or query.get("cursor") or ""
    start = query.get("start", "latest")
    return Wish(
        stream=request.path_params["stream"],
        profile=profile_or_all(query.get("profile"), stream),
        start=start,
        session=query.get("session", ""),
        ordered=_flag(query, "ordered", True),
        max_delay_ms=_positive(query, "max_delay_ms"),
        expiry_s=_positive(query, "expiry_s"),
        cursor=Cursor.read(last) if last else None,
    )


def profile_or_all(text: str | None, stream: Stream) -> str:
    """A profile; without one everything, where the stream's language can say that."""
    if text is not None:
        return text
    if stream.language not in _EVERYTHING:
        raise Problem(400, f"profile: a {stream.language} stream needs one, for example ?profile=a/b")
    return _EVERYTHING[stream.language]


def _flag(query: Mapping[str, str], name: str, otherwise: bool) -> bool:
    text = query.get(name)
    if text is None or text.lower() in (*_TRUE, *_FALSE):
        return otherwise if text is None else text.lower() in _TRUE
    raise Problem(400, f"{name}: {text!r} is neither true nor false")


def _positive(query: Mapping[str, str], name: str) -> float | None:
    text = query.get(name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise Problem(400, f"{name}: {text!r} is no number from 0 on")
    return number


def _origin(headers: Mapping[str, str]) -> tuple[str | None, int]:
    """Under whose name, and from which number on: a key is an origin of its own, a session one for many requests."""
    key, session = headers.get("idempotency-key"), headers.get("origin-session")
    if session is not None:
        number = headers.get("origin-number", "")
        if not number.isdecimal():
            raise Problem(400, f"Origin-Session needs the number of its first message in Origin-Number, not {number!r}")
        return f"http-session:{session}", int(number)
    return (None, 0) if key is None else (f"{KEY}{key}", 0)
