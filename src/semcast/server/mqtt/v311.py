"""MQTT 3.1.1 in terms of 5: the packets differ in the properties that 5 adds, and in codes.

What comes in is given the empty properties that the codec expects; what goes out loses them. A 3.1.1 client can be told
no reasons, and cannot be sent a DISCONNECT.
"""

from __future__ import annotations

from collections.abc import Callable

import mqtt5

_WILL, _CLEAN = 0x04, 0x02
_KEPT = b"\x05\x11\xff\xff\xff\xff"
"""Properties of a CONNECT whose session is to be kept: for as long as the server does."""
_REFUSED = {
    mqtt5.ConnAckReasonCode.UNSUPPORTED_PROTOCOL_VERSION.value: 1,
    mqtt5.ConnAckReasonCode.CLIENT_ID_NOT_VALID.value: 2,
}
_UNAVAILABLE = 3


def to_v5(frame: bytes) -> bytes:
    """A whole packet of 3.1.1 as one of 5. What is too short to be one comes back as it is, for the codec to refuse."""
    change = _INBOUND.get(frame[0] >> 4)
    if change is None:
        return frame
    body = frame[header(frame) :]
    changed = change(frame[0], body)
    return frame if changed is None else bytes((frame[0],)) + length_of(len(changed)) + changed


def header(frame: bytes) -> int:
    """Bytes of a packet before what its length counts."""
    at = 1
    while frame[at] & 0x80:
        at += 1
    return at + 1


def length_of(size: int) -> bytes:
    """A remaining length as MQTT writes it."""
    found = bytearray()
    while True:
        size, digit = divmod(size, 128)
        found.append(digit | (0x80 if size else 0))
        if not size:
            return bytes(found)


def _connect(first: int, body: bytes) -> bytes | None:
    if len(body) < 12:
        return None
    flags = body[7]
    properties = b"\0" if flags & _CLEAN else _KEPT
    client_end = 12 + int.from_bytes(body[10:12], "big")
    will = b"\0" if flags & _WILL else b""
    return body[:6] + b"\x05" + body[7:10] + properties + body[10:client_end] + will + body[client_end:]


def _publish(first: int, body: bytes) -> bytes | None:
    at = 2 + int.from_bytes(body[:2], "big") + (2 if first & 0x06 else 0)
    return None if len(body) < at else body[:at] + b"\0" + body[at:]


def _listed(first: int, body: bytes) -> bytes | None:
    return None if len(body) < 2 else body[:2] + b"\0" + body[2:]


_INBOUND: dict[int, Callable[[int, bytes], bytes | None]] = {1: _connect, 3: _publish, 8: _listed, 10: _listed}


def written(packet: mqtt5.Packet) -> bytes:
    """The bytes of a packet for a 3.1.1 client; none where it has no such packet."""
    match packet:
        case mqtt5.ConnAckPacket():
            told = packet.reason_code.value
            code = _REFUSED.get(told, _UNAVAILABLE) if told else 0
            return bytes((0x20, 2, packet.session_present and not code, code))
        case mqtt5.PublishPacket():
            return _published(packet)
        case mqtt5.PubAckPacket():
            return b"\x40\x02" + packet.packet_id.to_bytes(2, "big")
        case mqtt5.SubAckPacket():
            codes = bytes(min(code.value, 0x80) for code in packet.reason_codes)
            return b"\x90" + length_of(2 + len(codes)) + packet.packet_id.to_bytes(2, "big") + codes
        case mqtt5.UnsubAckPacket():
            return b"\xb0\x02" + packet.packet_id.to_bytes(2, "big")
        case mqtt5.DisconnectPacket():
            return b""
    return packet.write()


def _published(packet: mqtt5.PublishPacket) -> bytes:
    topic = packet.topic.encode()
    number = b"" if packet.packet_id is None else packet.packet_id.to_bytes(2, "big")
    first = 0x30 | packet.duplicate << 3 | packet.qos.value << 1
    size = 2 + len(topic) + len(number) + len(packet.payload)
    return b"".join((bytes((first,)), length_of(size), len(topic).to_bytes(2, "big"), topic, number, packet.payload))
