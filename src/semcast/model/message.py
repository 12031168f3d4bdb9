"""A message as clients see it, and what a profile declaration is made of."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_HEADERS = 1024


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a publisher hands over. Its id, (source, number), is given by the log that takes it in."""

    stream: str
    payload: bytes
    """JSON for relational streams, XML for XPath and semantic ones, anything for topics."""
    topic: str | None = None
    time_ms: int = 0
    """Event time, since 1970."""
    key: str | None = None
    headers: Annotated[tuple[tuple[str, str], ...], msgspec.Meta(max_length=MAX_HEADERS)] = ()


class ProfileText(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A profile as it travels: its canonical text, so that equal profiles are equal."""

    stream: str
    language: str
    text: str


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Message)


def packed(message: Message) -> bytes:
    """A message as a body that brokers copy and never read."""
    return _encoder.encode(message)


def unpacked(body: bytes) -> Message:
    """The message of a body; msgspec.DecodeError where it is none."""
    return _decoder.decode(body)
