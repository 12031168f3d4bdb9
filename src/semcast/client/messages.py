"""What a subscriber is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from semcast.model import SemcastError
from semcast.model.message import Message


@dataclass(frozen=True, slots=True)
class Received:
    """A message, with the id that its source's log gave it."""

    source: str
    number: int
    message: Message

    @property
    def id(self) -> str:
        """``source:number``; a subscription can start behind it."""
        return f"{self.source}:{self.number}"

    @property
    def stream(self) -> str:
        """The stream that it was published on."""
        return self.message.stream

    @property
    def topic(self) -> str | None:
        """Its topic; None on streams of other languages."""
        return self.message.topic

    @property
    def key(self) -> str | None:
        """What its publisher gave it as a key; nothing here reads it."""
        return self.message.key

    @property
    def headers(self) -> dict[str, str]:
        """What its publisher wrote beside the payload; a copy."""
        return dict(self.message.headers)

    @property
    def time_ms(self) -> int:
        """Event time, in ms since 1970."""
        return self.message.time_ms

    @property
    def payload(self) -> bytes:
        """The bytes that were published."""
        return self.message.payload

    def json(self) -> Any:
        """The payload as what its JSON says."""
        return msgspec.json.decode(self.message.payload)


@dataclass(frozen=True, slots=True)
class Gap:
    """What matched in (first, through] of a source is lost for a subscriber that was away longer than logs are kept."""

    source: str
    first: int
    through: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """A message is in its source's log for good."""

    source: str
    number: int | None
    """Not known where the connection was lost before the source could say it."""

    @property
    def id(self) -> str | None:
        """``source:number``, as subscribers see it; None where it could not be told."""
        return None if self.number is None else f"{self.source}:{self.number}"


def start_of(start: str) -> tuple[str, dict[str, int]]:
    """``latest``, ``earliest`` or ids (``b0:17``, several with commas) as what the protocol asks for."""
    if start in ("latest", "earliest"):
        return start, {}
    cursor: dict[str, int] = {}
    for part in start.split(","):
        source, _, number = part.strip().rpartition(":")
        if not source or not number.isdigit():
            raise SemcastError(f"start: {part!r} is neither latest, earliest nor the id of a message such as b0:17")
        cursor[source] = int(number)
    return "earliest", cursor
