"""Where the texts of a packet stand, and whether they are UTF-8.

The codec panics on a text that is not: that ends no process, since it is caught, but it is printed by who can print no
less, on the broker's own standard error, and a hostile client could have it fill a disk. So texts are looked at before.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum


class _Type(IntEnum):
    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    DISCONNECT = 14
    AUTH = 15


_WILL, _PASSWORD, _USERNAME = 0x04, 0x40, 0x80  # flags of CONNECT
_SIZES = {
    **dict.fromkeys((0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), 1),
    **dict.fromkeys((0x13, 0x21, 0x22, 0x23), 2),
    **dict.fromkeys((0x02, 0x11, 0x18, 0x27), 4),
}
"""Properties of a fixed size."""
_NUMBER = 0x0B
_BINARY = (0x09, 0x16)
_TEXT = (0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F)
_PAIR = 0x26


def are_utf8(frame: bytes) -> bool:
    """Are all texts of a whole frame UTF-8? Of what is not laid out as a packet, those before the fault."""
    if frame.isascii():
        return True
    try:
        for text in _texts(_Cursor(frame)):
            text.decode()
    except UnicodeDecodeError:
        return False
    except (IndexError, KeyError):
        pass  # the codec says what is wrong with it
    return True


class _Cursor:
    """Goes through a frame; IndexError where it ends too early."""

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.at = 1
        self.number()  # its length, which is right: it is whole

    @property
    def left(self) -> int:
        return len(self.frame) - self.at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise IndexError
        self.at += size
        return self.frame[self.at - size : self.at]

    def text(self) -> bytes:
        """A text, or other bytes, behind their length."""
        return self.take(int.from_bytes(self.take(2), "big"))

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value
            if shift > 21:
                raise IndexError

    def properties(self) -> Iterator[bytes]:
        end = self.number() + self.at
        while self.at < end:
            known = self.number()
            if known in _TEXT:
                yield self.text()
            elif known == _PAIR:
                yield self.text()
                yield self.text()
            elif known in _BINARY:
                self.text()
            elif known == _NUMBER:
                self.number()
            else:
                self.take(_SIZES[known])


def _texts(packet: _Cursor) -> Iterator[bytes]:
    kind, flags = packet.frame[0] >> 4, packet.frame[0] & 0x0F
    match kind:
        case _Type.CONNECT:
            yield from _connecting(packet)
        case _Type.PUBLISH:
            yield packet.text()
            packet.take(2 if flags & 0x06 else 0)
            yield from packet.properties()
        case _Type.SUBSCRIBE | _Type.UNSUBSCRIBE:
            packet.take(2)
            yield from packet.properties()
            while packet.left:
                yield packet.text()
                packet.take(1 if kind == _Type.SUBSCRIBE else 0)
        case _Type.CONNACK | _Type.SUBACK | _Type.UNSUBACK:
            packet.take(2)
            yield from packet.properties()
        case _Type.DISCONNECT | _Type.AUTH:
            packet.take(1)
            yield from packet.properties()
        case _ if _Type.PUBLISH < kind <= _Type.PUBCOMP:
            packet.take(3)
            yield from packet.properties()


def _connecting(packet: _Cursor) -> Iterator[bytes]:
    yield packet.text()
    packet.take(1)  # the level: older ones were translated
    flags = packet.take(3)[0]  # and how long it is kept alive
    yield from packet.properties()
    yield packet.text()
    if flags & _WILL:
        yield from packet.properties()
        yield packet.text()
        packet.text()
    if flags & _USERNAME:
        yield packet.text()
    if flags & _PASSWORD:
        packet.text()
