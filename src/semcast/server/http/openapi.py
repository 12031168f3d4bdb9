"""What can be asked over HTTP, as OpenAPI 3.1 tells programs."""

from __future__ import annotations

from typing import Any

from semcast.protocol.wire.framing import MAX_MESSAGE
from semcast.server.http.feeds import EXPIRY_S
from semcast.server.http.sse import KEEPALIVE_S

Json = dict[str, Any]
_ROW = {"symbol": "IBM", "price": 95.5}
_ERROR = {"$ref": "#/components/schemas/Error"}
_STREAM = {
    "name": "stream", "in": "path", "required": True, "description": "A declared stream.",
    "schema": {"type": "string"}, "example": "quotes",
}  # fmt: skip


def document(name: str, version: str, *, coordinator: bool) -> Json:
    """The description of one broker's or coordinator's API; both have all but what only one can do."""
    paths: Json = {
        "/v1/streams": {"get": _shows("The declared streams, with language and schema")},
        "/v1/streams/{stream}/messages": {"post": _publish(), "get": _follow()},
        "/v1/ws": {"get": _socket()},
        "/": {"get": _page("A page to watch a stream with")},
        "/docs": {"get": _page("This API, for people")},
        "/openapi.json": {"get": _shows("This API, for programs")},
        "/healthz": {"get": _health()},
        "/statusz": {"get": _shows("How this process stands: links, log, sessions; at a coordinator all brokers")},
        "/channelz": {"get": _shows("Channels: gateways, profiles, rates; what was sent and received", "channels")},
        "/treez": {"get": _shows("Trees: whole ones at a coordinator, its own place on each at a broker", "trees")},
        "/subz": {"get": _shows("Sessions here; at a coordinator all subscriptions")},
        "/overlayz": {"get": _shows("The overlay: brokers, links, addresses, streams", "topology", "members")},
        "/samplez": {"get": _shows("A source's latest messages, what they matched, and their way", "matched")},
        "/metrics": {"get": _plain("Counters for Prometheus")},
    }
    if coordinator:
        paths["/planz"] = {"get": _shows("The plan in force, as `semcast cost` reads it", "channels")}
        paths["/eventz"] = {"get": _shows("What was decided, and who came and went", "events")}
        paths["/reorganise"] = {"post": _reorganise()}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"SemCast: {name}", "version": version, "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {"schemas": _schemas()},
    }


def _schemas() -> Json:
    ids = {"type": "array", "items": {"type": ["string", "null"]}}
    return {
        "Error": {
            "type": "object",
            "required": ["error"],
            "properties": {"error": {"type": "string"}, "line": {"type": "integer"}},
        },
        "Published": {
            "type": "object",
            "required": ["published", "source", "ids"],
            "properties": {
                "published": {"type": "integer"},
                "source": {"type": "string"},
                "ids": {
                    **ids,
                    "description": "In the order of the messages; null where a repeated one stands is not known.",
                },
            },
        },
        "Health": {
            "type": "object",
            "required": ["name", "role", "healthy", "reasons"],
            "properties": {
                "name": {"type": "string"},
                "role": {"type": "string"},
                "healthy": {"type": "boolean"},
                "reasons": {"type": "array", "items": {"type": "string"}},
            },
        },
    }


def _answer(text: str, schema: Json, kind: str = "application/json") -> Json:
    return {"description": text, "content": {kind: {"schema": schema}}}


def _page(summary: str) -> Json:
    return {"summary": summary, "responses": {"200": _answer("HTML.", {"type": "string"}, "text/html")}}


def _plain(summary: str) -> Json:
    return {"summary": summary, "responses": {"200": _answer("Text.", {"type": "string"}, "text/plain")}}


def _shows(summary: str, *required: str) -> Json:
    schema: Json = {"type": "object", **({"required": list(required)} if required else {})}
    return {"summary": summary, "responses": {"200": _answer("As it is now.", schema)}}


def _health() -> Json:
    schema = {"$ref": "#/components/schemas/Health"}
    return {
        "summary": "Does this process do its part?",
        "responses": {"200": _answer("It does.", schema), "503": _answer("It does not; why.", schema)},
    }


def _reorganise() -> Json:
    return {
        "summary": "Decide anew on channels and trees, from statistics",
        "responses": {
            "202": _answer("It has begun.", {"type": "object", "required": ["reorganising", "epoch"]}),
            "409": _answer("Another coordinator leads.", _ERROR),
        },
    }


def _query(name: str, text: str, schema: Json, example: Any = None) -> Json:
    found: Json = {"name": name, "in": "query", "description": text, "schema": schema}
    return found if example is None else {**found, "example": example}


def _header(name: str, text: str, kind: str = "string") -> Json:
    return {"name": name, "in": "header", "description": text, "schema": {"type": kind}}


def _publish() -> Json:
    text, number = {"type": "string"}, {"type": "number", "minimum": 0}
    lines = '{"symbol": "IBM", "price": 95.5}\n{"symbol": "SAP", "price": 120}\n'
    return {
        "summary": "Publish one message, or one in each line",
        "description": "Answers when all are durable. Where one does not fit its stream, none is published.",
        "parameters": [
            _STREAM,
            _query("topic", "Of all messages; topic streams need one.", text),
            _query("key", "Of all messages.", text),
            _query("header", "NAME:VALUE; may be repeated.", text),
            _query("time_ms", "Event time in ms since 1970; now, if not given.", {"type": "integer", "minimum": 0}),
            _query("source", "Which source; the nearest, if not given.", text),
            _query("patience_ms", "How long the source may take nothing in.", number, 10000),
            _header(
                "Idempotency-Key", "A request with the same key is published once, at whichever broker it is repeated."
            ),
            _header("Origin-Session", "As the key, for many requests: their messages are numbered on."),
            _header("Origin-Number", "The number of the first message, from 0 on.", "integer"),
        ],
        "requestBody": {
            "required": True,
            "description": f"A payload has at most {MAX_MESSAGE} bytes.",
            "content": {
                "application/json": {"schema": {"type": "object"}, "examples": {"a quote": {"value": _ROW}}},
                "application/x-ndjson": {"schema": text, "examples": {"two quotes": {"value": lines}}},
                "application/xml": {"schema": text},
                "application/octet-stream": {"schema": {}},
            },
        },
        "responses": {
            "200": _answer("Durable.", {"$ref": "#/components/schemas/Published"}),
            "403": _answer("A web page of an origin that may not publish.", _ERROR),
            "404": _answer("There is no such stream, or source.", _ERROR),
            "409": _answer("A number of an origin was left out; `expected` is the next.", _ERROR),
            "413": _answer("Too much.", _ERROR),
            "415": _answer("The body is compressed.", _ERROR),
            "421": _answer("A coordinator; the answer names sources.", _ERROR),
            "422": _answer("A message does not fit; `line` says which.", _ERROR),
            "503": _answer("The source takes nothing in; Retry-After says when to try again.", _ERROR),
        },
    }


def _follow() -> Json:
    text = {"type": "string"}
    return {
        "summary": "Follow what a profile matches, as server-sent events",
        "description": (
            "`message` events carry a message as JSON; `live` says that nothing is missed from then on, `gap` what is "
            "lost for who was away too long. An event's id is a cursor: who sends it as Last-Event-ID, to any gateway, "
            f"goes on there without loss or duplicate. A comment is sent every {KEEPALIVE_S:g} s where nothing else is."
        ),
        "parameters": [
            _STREAM,
            _query("profile", "What to match; everything, if not given (topic streams need one).", text, "price > 10"),
            _query("start", "latest, earliest, or the id of a message to start behind.", text, "latest"),
            _query("session", "A durable session's name; it waits for who comes back.", text),
            _query("ordered", "Each source's messages in its order.", {"type": "boolean", "default": True}),
            _query("max_delay_ms", "Staleness bound; `live` says what to expect where it cannot be met.",
                   {"type": "number", "minimum": 0}),
            _query("expiry_s", f"How long the session waits; without a name {EXPIRY_S:g} s, and 0 keeps none.",
                   {"type": "number", "minimum": 0}),
            _query("cursor", "As Last-Event-ID, for who cannot send headers.", text),
            _header("Last-Event-ID", "Where the client was; browsers send it by themselves."),
        ],
        "responses": {
            "200": _answer("A stream without end.", text, "text/event-stream"),
            "400": _answer("The profile or a parameter makes no sense.", _ERROR),
            "404": _answer("There is no such stream.", _ERROR),
            "421": _answer("No gateway; the answer names some.", _ERROR),
            "503": _answer("Too many readers.", _ERROR),
        },
    }  # fmt: skip


def _socket() -> Json:
    return {
        "summary": "WebSocket: many subscriptions and publishing over one connection",
        "description": (
            'Each message is a JSON object with one key: {"subscribe": {"id", "stream", "profile", …}}, '
            '{"subscribe": [{…}, …]} for many of them, {"replace": {"id", "profile"}}, {"unsubscribe": {"id"}}, '
            '{"ack": {"id", "message"}}, '
            '{"publish": {"id", "stream", "json"}}; answers are live, message, gap, cursor, replaced, unsubscribed, '
            "ended, published and error. See docs/clients-http.md."
        ),
        "responses": {"101": {"description": "It is one now."}},
    }
