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


class Unclear(msgspec.Struct, frozen=True):
    """What stands in the place of a subscription and is none."""

    id: Name | None
    reason: str


class SubscribeMany(msgspec.Struct, frozen=True):
    """Many subscriptions in one message; each is answered by itself, and one that makes no sense spoils no other."""

    asked: tuple[Subscribe | Unclear, ...]


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

    subscribe: Subscribe | list[msgspec.Raw] | None = None
    replace: Replace | None = None
    unsubscribe: Unsubscribe | None = None
    ack: Ack | None = None
    publish: Publish | None = None


class _Named(msgspec.Struct, frozen=True):
    id: Name | None = None


AnyWord = Subscribe | Replace | Unsubscribe | Ack | Publish
_decoder = msgspec.json.Decoder(Said)
_one = msgspec.json.Decoder(Subscribe)
_named = msgspec.json.Decoder(_Named)
_encoder = msgspec.json.Encoder()


def heard(text: str | bytes) -> AnyWord | SubscribeMany:
    """What a client says; Problem where it makes no sense."""
    try:
        said = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Problem(400, f"not understood: {error}") from None
    given = (said.subscribe, said.replace, said.unsubscribe, said.ack, said.publish)
    words = [word for word in given if word is not None]
    if len(words) != 1:
        raise Problem(400, "say one of subscribe, replace, unsubscribe, ack and publish at a time")
    word = words[0]
    return SubscribeMany(tuple(map(_asked, word))) if isinstance(word, list) else word


def _asked(raw: msgspec.Raw) -> Subscribe | Unclear:
    try:
        return _one.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = f"not understood: {error}"
    try:
        return Unclear(_named.decode(raw).id, reason)
    except (msgspec.DecodeError, RecursionError):
        return Unclear(None, reason)


def said(about: str, content: dict[str, Any]) -> str:
    return _encoder.encode({about: content}).decode()
