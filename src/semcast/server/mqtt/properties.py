"""Messages ↔ PUBLISH packets: what MQTT says beside topic and payload travels as headers, and comes out unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mqtt5

from semcast.client.messages import Received
from semcast.model.message import Message

KEY, TIME, ID, GAP = "semcast-key", "semcast-time-ms", "semcast-id", "semcast-gap"
"""User properties with a meaning: a message's key and event time (both ways), its id, and what was lost before it."""
FROM = "mqtt-from"
_CONTENT, _RESPONSE, _CORRELATION = "mqtt-content-type", "mqtt-response-topic", "mqtt-correlation-data"
_TEXT, _EXPIRES = "mqtt-payload-text", "mqtt-expires-ms"
_OWN = frozenset((FROM, _CONTENT, _RESPONSE, _CORRELATION, _TEXT, _EXPIRES))


def message_of(
    packet: mqtt5.PublishPacket | mqtt5.Will, stream: str, topic: str | None, now_ms: int, sender: str | None = None
) -> Message:
    """What a client publishes; ``sender`` is told where somebody will have to know who it was."""
    headers: list[tuple[str, str]] = []
    key, time_ms = None, now_ms
    for name, value in packet.user_properties:
        if name == KEY:
            key = value
        elif name == TIME and value.isdecimal() and len(value) < 16:
            time_ms = int(value)
        elif name not in _OWN:
            headers.append((name, value))
    if packet.content_type is not None:
        headers.append((_CONTENT, packet.content_type))
    if packet.response_topic is not None:
        headers.append((_RESPONSE, packet.response_topic))
    if packet.correlation_data is not None:
        headers.append((_CORRELATION, packet.correlation_data.hex()))
    if packet.payload_format_indicator:
        headers.append((_TEXT, "1"))
    if packet.message_expiry_interval is not None:
        headers.append((_EXPIRES, str(now_ms + 1000 * packet.message_expiry_interval)))
    if sender is not None:
        headers.append((FROM, sender))
    return Message(stream, packet.payload or b"", topic, time_ms, key, tuple(headers))


class Expired(Exception):
    """A message that its publisher does not want to be given out any more."""


def packet_of(
    received: Received,
    topic: str,
    now_ms: int,
    *,
    qos: mqtt5.QoS,
    packet_id: int | None = None,
    duplicate: bool = False,
    subscription: int | None = None,
    include: Sequence[str] = (),
    gaps: Sequence[str] = (),
) -> mqtt5.PublishPacket:
    """What a client is sent. Expired where it came too late for that."""
    message = received.message
    given: dict[str, Any] = {}
    users: list[tuple[str, str]] = []
    for name, value in message.headers:
        if name in _OWN:
            _restore(given, name, value, now_ms)
        else:
            users.append((name, value))
    if message.key is not None:
        users.append((KEY, message.key))
    if "id" in include:
        users.append((ID, received.id))
    if "time" in include:
        users.append((TIME, str(message.time_ms)))
    users += [(GAP, gap) for gap in gaps]
    if subscription is not None:
        given["subscription_ids"] = [subscription]
    if users:
        given["user_properties"] = users
    return mqtt5.PublishPacket(topic, message.payload, qos=qos, packet_id=packet_id, duplicate=duplicate, **given)


def _restore(given: dict[str, Any], name: str, value: str, now_ms: int) -> None:
    if name == _CONTENT:
        given["content_type"] = value
    elif name == _RESPONSE:
        given["response_topic"] = value
    elif name == _CORRELATION:
        given["correlation_data"] = bytes.fromhex(value)
    elif name == _TEXT:
        given["payload_format_indicator"] = 1
    elif name == _EXPIRES:
        left_ms = int(value) - now_ms
        if left_ms <= 0:
            raise Expired
        given["message_expiry_interval"] = max(1, left_ms // 1000)


def sender_of(message: Message) -> str | None:
    return next((value for name, value in message.headers if name == FROM), None)
