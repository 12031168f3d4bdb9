"""Frames as bytes and back."""

from __future__ import annotations

import msgspec

from semcast.protocol.frames import AnyFrame

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(AnyFrame).decode


def encoded(frame: AnyFrame) -> bytes:
    return _encode(frame)


def decoded(data: bytes) -> AnyFrame:
    frame: AnyFrame = _decode(data)
    return frame
