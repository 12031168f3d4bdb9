"""Bytes ↔ packets: whole packets in, or an error that says how the connection has to end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

import mqtt5
from mqtt5 import DisconnectReasonCode as Disconnect

from semcast.model import ProfileError, SemcastError
from semcast.server.mqtt import texts, v311

PLAIN = 0x30
"""The first byte of a PUBLISH with QoS 0 that is neither retained nor sent again."""

Place = TypeVar("Place")


def plain_run(data: bytes, v5: bool, known: Mapping[bytes, Place]) -> tuple[list[tuple[Place, bytes]], int]:
    """The plain messages that ``data`` begins with, and where the first that is none begins, or is not all there."""
    found: list[tuple[Place, bytes]] = []
    at, size = 0, len(data)
    while at + 4 < size and data[at] == PLAIN:
        length, body = data[at + 1], at + 2
        if length & 0x80:
            more = data[body]
            if more & 0x80:
                more_still, body = data[body + 1], body + 1
                if more_still & 0x80:
                    break  # two megabytes and more: the codec has time for it
                more = more & 0x7F | more_still << 7
            length, body = length & 0x7F | more << 7, body + 1
        end = body + length
        topic_end = body + 2 + (data[body] << 8) + data[body + 1] if body + 1 < size else size
        if end > size or topic_end + v5 > end:
            break
        place = known.get(data[body + 2 : topic_end])
        if place is None or (v5 and data[topic_end]):
            break
        found.append((place, data[topic_end + v5 : end]))
        at = end
    return found, at


MAX_PACKET = 4 << 20
"""Bytes of a packet that is taken in, at most; a client is told so when it connects."""
MAX_CONNECT = 1 << 20
_LENGTH_BYTES = 4
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_CONNECT = 0x10
_V5 = 5


class MqttError(Exception):
    """Something that ends the connection, with the code and the reason that the client is told."""

    def __init__(self, code: Disconnect, reason: str, *, server: str | None = None) -> None:
        super().__init__(reason)
        self.code, self.reason, self.server = code, reason, server


class UnknownVersion(MqttError):
    """A protocol level that is not spoken here."""

    def __init__(self, level: int) -> None:
        super().__init__(Disconnect.PROTOCOL_ERROR, f"protocol level {level} is not spoken here, 4 and 5 are")


class Reader:
    """Takes bytes in as they come; gives packets one by one, so that whoever reads can stop between two."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._at = 0
        self.version = 0
        """Of MQTT, as the first packet says: 5, or 4, which is 3.1.1."""

    def feed(self, data: bytes) -> None:
        self._buffer += data

    @property
    def waiting(self) -> int:
        """Bytes that were not looked at."""
        return len(self._buffer) - self._at

    def next(self) -> mqtt5.Packet | None:
        """The next packet; None where it is not all there. MqttError for what is none, then and ever after."""
        frame = self._frame()
        if frame is None:
            return None
        if not self.version:
            self.version = _level(frame)
        if self.version != _V5:
            frame = v311.to_v5(frame)
        return decoded(frame)

    def run(self, known: Mapping[bytes, Place]) -> list[tuple[Place, bytes]]:
        """The plain messages that come next, each with what is known of its topic, and its payload.

        Plain is QoS 0 without properties, on a topic that is known; with anything else ``next`` goes on.
        """
        if not self.version or self._at >= len(self._buffer) or self._buffer[self._at] != PLAIN:
            return []
        if not known or self._whole() is None:
            return []  # it is not copied before it is all there
        data = bytes(memoryview(self._buffer)[self._at :])
        found, end = plain_run(data, self.version == _V5, known)
        self._pass(self._at + end)
        return found

    def _frame(self) -> bytes | None:
        end = self._whole()
        if end is None:
            return None
        frame = bytes(memoryview(self._buffer)[self._at : end])
        self._pass(end)
        return frame

    def _pass(self, end: int) -> None:
        self._at = end
        if end == len(self._buffer) or end > 1 << 16:
            del self._buffer[:end]
            self._at = 0

    def _whole(self) -> int | None:
        """Where the next packet ends, if it is all there."""
        buffer, at = self._buffer, self._at
        length = shift = 0
        for place in range(at + 1, at + 2 + _LENGTH_BYTES):
            if place - at > _LENGTH_BYTES:
                raise MqttError(Disconnect.MALFORMED_PACKET, "the packet's length is none")
            if place >= len(buffer):
                return None
            byte = buffer[place]
            length |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        most = MAX_PACKET if self.version else MAX_CONNECT
        if length > most:
            raise MqttError(Disconnect.PACKET_TOO_LARGE, f"a packet of {length:,} bytes; {most:,} are the most")
        end = place + 1 + length
        return None if end > len(buffer) else end


def connects(head: bytes) -> bool:
    """Do these bytes, eight or more, begin a CONNECT of any version of MQTT?"""
    at = 1
    while at < 5 and head[at] & 0x80:
        at += 1
    name = head[at + 1 : at + 7]
    return head[0] == _CONNECT and any(known.startswith(name) for known in (b"\x00\x04MQTT", b"\x00\x06MQIs"))


def _level(frame: bytes) -> int:
    """The protocol level of a first packet, which has to be CONNECT."""
    if frame[0] != _CONNECT:
        raise MqttError(Disconnect.PROTOCOL_ERROR, "the first packet has to be CONNECT")
    name = frame.find(b"\x00\x04MQTT", 2, 16)
    level = frame[name + 6] if name > 0 and name + 6 < len(frame) else 0
    if level not in (4, _V5):
        raise UnknownVersion(level)
    return level


def decoded(frame: bytes) -> mqtt5.Packet:
    """The packet of a whole frame; MqttError, and nothing else, where it is none."""
    if not texts.are_utf8(frame):
        raise MqttError(Disconnect.MALFORMED_PACKET, "the packet holds text that is no UTF-8")
    try:
        packet, size = mqtt5.read(memoryview(frame))
    except (ValueError, IndexError) as error:
        raise MqttError(Disconnect.MALFORMED_PACKET, f"the packet cannot be read: {error}") from None
    except BaseException as error:
        # A panic of the codec is no Exception; none is known that gets here.
        if type(error).__name__ != "PanicException":
            raise
        raise MqttError(Disconnect.MALFORMED_PACKET, "the packet cannot be read") from None
    if size != len(frame):
        raise MqttError(Disconnect.MALFORMED_PACKET, "the packet is longer than what it says")
    return packet


def told(error: SemcastError) -> str:
    """An error in one line: clients take a packet with a line feed in its text for damaged."""
    if isinstance(error, ProfileError):
        return f"{error.message} ({error.hint})" if error.hint else error.message
    return str(error)


def fitting(text: str, most: int = 1000) -> str:
    """A reason that a packet can carry."""
    clean = _CONTROL.sub(" ", text).encode("utf-8", "replace").decode()
    return clean if len(clean) <= most else clean[: most - 1] + "…"
