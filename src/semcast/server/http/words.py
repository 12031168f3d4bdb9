"""What is said over a WebSocket: one JSON object per message, with one key that says what it is about."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from semcast.server.http.answers import Problem

Name = str | int
"""Clients choose names for subscriptions and requests; answers bear them."""


class Word(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Name


class Subscribe(Word, frozen=True, kw_only=True):
    """As the query of an event stream. With ``manual`` acks a message is taken when the client says so."""

    stream: str
    profile: str | None = None
    start: str = "latest"
    cursor: str = ""
    session: str = ""
    ordered: bool = True
    max_delay_ms: float | None = None
    expiry_s: float | None = None
    acks: Literal["auto", "manual"] = "auto"


class Replace(Word, frozen=True, kw_only=True):
    """Another profile for a subscription, atomically."""

    profile: str


class Unsubscribe(Word, frozen=True, kw_only=True):
    """The end of a subscription; ``keep`` leaves its session waiting."""

    keep: bool = False


class Ack(Word, frozen=True, kw_only=True):
    """A subscription's messages through this one are taken."""

    message: str


class Publish(Word, frozen=True, kw_only=True):
    """One message; its content is in one of ``json``, ``payload`` (text) and ``base64``."""

    stream: str
    json: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    payload: str | None = None
    base64: bytes | None = None
    topic: str | None = None
    key: str | None = None
    headers: dict[str, str] = {}
    time_ms: int | None = None
    source: str | None = None
    origin: str | None = None
    """With ``number``: taken in once, however often it is sent."""
    number: int | None = None

    def content(self) -> bytes:
        given = [part for part in (self.payload, self.base64) if part is not None]
        if isinstance(self.json, msgspec.Raw):
            given.append(bytes(self.json))
        if len(given) > 1:
            raise Problem(400, "publish: give one of json, payload and base64")
        content = given[0] if given else b""
        return content.encode() if isinstance(content, str) else content


class Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of these."""

    subscribe: Subscribe | None = None
    replace: Replace | None = None
    unsubscribe: Unsubscribe | None = None
    ack: Ack | None = None
    publish: Publish | None = None


AnyWord = Subscribe | Replace | Unsubscribe | Ack | Publish
_decoder = msgspec.json.Decoder(Said)
_encoder = msgspec.json.Encoder()


def heard(text: str | bytes) -> AnyWord:
    """What a client says; Problem where it makes no sense."""
    try:
        said = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Problem(400, f"not understood: {error}") from None
    words: list[AnyWord] = [
        word for word in (said.subscribe, said.replace, said.unsubscribe, said.ack, said.publish) if word is not None
    ]
    if len(words) != 1:
        raise Problem(400, "say one of subscribe, replace, unsubscribe, ack and publish at a time")
    return words[0]


def said(about: str, content: dict[str, Any]) -> str:
    return _encoder.encode({about: content}).decode()
