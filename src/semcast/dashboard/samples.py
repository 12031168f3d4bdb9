"""Messages that sources have told of, matched anew."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping

import msgspec

from semcast.dashboard.snapshot import Json
from semcast.model.message import Message, ProfileText
from semcast.protocol.filters import Filter


def matches(profiles: Mapping[str, ProfileText], seen: list[Json]) -> list[list[str]]:
    """Per message the names of the profiles that match it, by the engines that sources and gateways use."""
    return Filter(profiles).match([_message(one) for one in seen])


def _message(seen: Json) -> Message:
    """A message that a source has told of."""
    if "json" in seen:
        payload = msgspec.json.encode(seen["json"])
    else:
        payload = seen["payload"].encode() if "payload" in seen else b64decode(seen["base64"])
    return Message(seen["stream"], payload, seen.get("topic"), seen["time_ms"], seen.get("key"))
