"""Messages as JSON shows them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec

from semcast.client.messages import Received


def shown(message: Received, language: str) -> dict[str, Any]:
    """A message: JSON as it is, other text as text, anything else in base64."""
    found: dict[str, Any] = {"id": message.id, "stream": message.stream, "time_ms": message.time_ms}
    if message.topic is not None:
        found["topic"] = message.topic
    if message.key is not None:
        found["key"] = message.key
    if message.message.headers:
        found["headers"] = message.headers
    return found | body(message.payload, language)


def body(payload: bytes, language: str) -> dict[str, Any]:
    if language == "relational":
        # Without its line breaks, which would end a line of an event stream; its numbers stay as they were written.
        plain = msgspec.json.format(payload, indent=-1) if b"\n" in payload or b"\r" in payload else payload
        return {"json": msgspec.Raw(plain)}
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(payload).decode()}
