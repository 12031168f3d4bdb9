"""The same messages in the bytes of each server's protocol."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semcast.protocol.wire.codec import encode
from semcast.protocol.wire.frames import Data, Key, Tally

SUBJECT = "c0"
GATEWAYS_PER_LINK = 12


def nats_publish(bodies: Sequence[bytes], subject: str) -> bytes:
    return b"".join(b"PUB %s %d\r\n%s\r\n" % (subject.encode(), len(body), body) for body in bodies)


def nats_message_bytes(size: int, subject: str) -> int:
    """Of a message as a subscriber gets it; subscriptions have the number 1."""
    return len(b"MSG %s 1 %d\r\n\r\n" % (subject.encode(), size)) + size


def mqtt_packet(kind: int, content: bytes) -> bytes:
    length, head = len(content), bytearray([kind])
    while True:
        length, low = length >> 7, length & 0x7F
        head.append(low | (0x80 if length else 0))
        if not length:
            return bytes(head) + content


def mqtt_connect(client: str) -> bytes:
    name = client.encode()
    return mqtt_packet(0x10, b"\0\4MQTT\4\2\0\0" + len(name).to_bytes(2, "big") + name)


def mqtt_subscribe(topic: str) -> bytes:
    return mqtt_packet(0x82, b"\0\1" + len(topic).to_bytes(2, "big") + topic.encode() + b"\0")


def mqtt_publish(body: bytes, topic: str) -> bytes:
    return mqtt_packet(0x30, len(topic).to_bytes(2, "big") + topic.encode() + body)


def masks(rng: np.random.Generator, links: int, count: int) -> list[int]:
    """A mask per message, no two alike if chance wills: one to three gateways behind every link."""
    found = []
    for _ in range(count):
        mask = 0
        for link in range(links):
            chosen = rng.choice(GATEWAYS_PER_LINK, rng.integers(1, 4), replace=False)
            mask |= sum(1 << (link * GATEWAYS_PER_LINK + int(gateway)) for gateway in chosen)
        found.append(mask)
    return found


def frames(key: Key, source: str, bodies: Sequence[bytes], asked: Sequence[int], per_frame: int) -> bytes:
    """All messages in frames of so many, and a tally behind them."""
    encoded = []
    for first in range(0, len(bodies), per_frame):
        some = bodies[first : first + per_frame]
        numbers = tuple(range(first + 1, first + 1 + len(some)))
        encoded.append(encode(Data(key, 1, source, numbers, tuple(asked[first : first + per_frame]), tuple(some))))
    counts: dict[int, int] = {}
    for mask in asked:
        for gateway in range(mask.bit_length()):
            counts[gateway] = counts.get(gateway, 0) + (mask >> gateway & 1)
    encoded.append(encode(Tally(key, 1, 0, 0, source, 1, len(bodies), counts)))
    return b"".join(encoded)
