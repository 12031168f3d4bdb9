"""What a gateway remembers of MQTT sessions across a restart; what they have not taken, the overlay's sessions know."""

from __future__ import annotations

import msgspec

from semcast.model.message import ProfileText
from semcast.protocol.stores import Notes

_PREFIX = "mqtt/"


class SavedFilter(msgspec.Struct, frozen=True, array_like=True):
    filter: str
    profile: ProfileText
    qos: int
    no_local: bool
    identifier: int | None
    include: tuple[str, ...]


class SavedSession(msgspec.Struct, frozen=True, array_like=True):
    client_id: str
    nonce: str
    expiry_s: float
    away_ms: int | None
    filters: tuple[SavedFilter, ...]


def save(notes: Notes, saved: SavedSession) -> None:
    """Durable with the next commit: of a new subscription, before it is live."""
    notes.put(_PREFIX + saved.client_id, msgspec.msgpack.encode(saved))


def forget(notes: Notes, client_id: str) -> None:
    if notes.get(_PREFIX + client_id) is not None:
        notes.put(_PREFIX + client_id, None)


def saved_sessions(notes: Notes) -> list[SavedSession]:
    return [msgspec.msgpack.decode(value, type=SavedSession) for _, value in notes.items(_PREFIX)]
