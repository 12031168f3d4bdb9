"""PUBLISH packets of QoS 0 for many clients at once: what clients can be sent in the same bytes is encoded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import mqtt5

from semcast.client.messages import Received
from semcast.model.message import Message
from semcast.server.mqtt import v311
from semcast.server.mqtt.properties import Expired, packet_of

_V5 = 5
_KNOWN_TOPICS = 1 << 12
_LENGTHS = tuple(b"\x30" + v311.length_of(size) for size in range(1 << 11))
"""The first bytes of a packet of so many bytes behind them."""


class Form(NamedTuple):
    """All that makes packets of the same message differ."""

    version: int
    identifier: int | None
    include: tuple[str, ...]


class Encoder:
    """Encodes for one form. ``count`` is told of what is not sent, and why."""

    def __init__(self, form: Form, topic: Callable[[Message], str], count: Callable[[str], None]) -> None:
        self._form = form
        self._topic, self._count = topic, count
        self._heads: dict[str, bytes] = {}
        self._simple = not (form.version == _V5 and form.include)

    def packets(
        self, source: str, numbers: Iterable[int], messages: Iterable[Message], now_ms: int, gaps: tuple[str, ...] = ()
    ) -> list[bytes]:
        """One for each message, empty where it has expired or cannot be sent; the first tells of the gaps before it."""
        found: list[bytes] = []
        heads, simple = self._heads, self._simple
        for number, message in zip(numbers, messages, strict=True):
            if simple and not gaps and message.key is None and not message.headers:
                topic = message.stream if message.topic is None else message.topic
                head = heads.get(topic)
                if head is None:
                    head = self._head(topic)
                if not head:
                    self._count("mqtt unsendable")
                    found.append(b"")
                    continue
                payload = message.payload
                size = len(head) + len(payload)
                first = _LENGTHS[size] if size < 1 << 11 else b"\x30" + v311.length_of(size)
                found.append(b"%b%b%b" % (first, head, payload))
            else:
                found.append(self._by_codec(Received(source, number, message), now_ms, gaps))
                gaps = ()
        return found

    def _head(self, topic: str) -> bytes:
        """What the codec puts between a packet's length and its payload; nothing where it refuses the topic."""
        number = self._form.identifier
        try:
            packet = mqtt5.PublishPacket(topic, b"", subscription_ids=None if number is None else [number])
            whole = packet.write() if self._form.version == _V5 else v311.written(packet)
        except ValueError:
            whole = b"\x30\0"
        head = whole[v311.header(whole) :]
        if len(self._heads) >= _KNOWN_TOPICS:
            self._heads.clear()
        self._heads[topic] = head
        return head

    def _by_codec(self, received: Received, now_ms: int, gaps: tuple[str, ...]) -> bytes:
        try:
            packet = packet_of(
                received,
                self._topic(received.message),
                now_ms,
                qos=mqtt5.QoS.AT_MOST_ONCE,
                subscription=self._form.identifier,
                include=self._form.include,
                gaps=gaps,
            )
            return packet.write() if self._form.version == _V5 else v311.written(packet)
        except Expired:
            self._count("mqtt expired")
        except ValueError:
            self._count("mqtt unsendable")
        return b""
