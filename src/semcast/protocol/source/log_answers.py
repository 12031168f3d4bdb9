"""What answers from a source's log have in common."""

from __future__ import annotations

from semcast.protocol.contract import Command, Send
from semcast.protocol.stores import Log, Record
from semcast.protocol.wire.frames import Repair
from semcast.protocol.wire.framing import fitting

MOST_BYTES = 8 * 1024 * 1024
"""Of an answer, but for the last message."""
SCANNED = 16
"""Records looked at per record that may be sent: an answer takes bounded time."""


def present(log: Log, place: int, through: int) -> int:
    """Where there is a record next behind a position, or nothing any more."""
    if place >= through:
        return place
    following = log.read(place, through, 1)
    return following[0].number - 1 if following else through


def together(place: int, records: list[Record]) -> list[Record]:
    """Those that follow a position without a hole between them."""
    if not records or records[-1].number == place + len(records):
        return records
    return [record for at, record in enumerate(records, place + 1) if record.number == at]


def repairs(source: str, gateway: str, request: int, records: list[Record], batch: int) -> list[Command]:
    """Records as they travel to a gateway that asked for them."""
    commands: list[Command] = []
    while records:
        part = records[:batch]
        part = part[: fitting(len(record.body) for record in part)]
        numbers, bodies = tuple(record.number for record in part), tuple(record.body for record in part)
        commands.append(Send(gateway, Repair(source, request, numbers, bodies)))
        records = records[len(part) :]
    return commands
