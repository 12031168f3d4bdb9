"""What machines report to their drivers: one type per result, so that no driver compares words.

A result names its journal entry by its tag and its details by its fields; a journal reads the same whether a machine
wrote a ``Note`` or reported a result.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Something that a machine has done or learned, for whoever drives it."""

    @property
    def name(self) -> str:
        """What journals call it."""
        return str(self.__struct_config__.tag)

    @property
    def details(self) -> dict[str, Any]:
        """What journals tell of it."""
        places = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return {name: getattr(self, field) for name, field in places}


# --- a subscriber's


class Delivered(Result, frozen=True, gc=False, tag="delivered"):
    """A message came for the first time."""

    source: str
    number: int
    body: bytes


class WentLive(Result, frozen=True, tag="live"):
    """Nothing that matches this version of the profile is missed behind these positions."""

    version: int
    positions: dict[str, int]
    expected_delay_ms: float | None


class MessagesLost(Result, frozen=True, gc=False, tag="gap"):
    """What matched in (first, through] is gone: the subscriber was away for longer than the log is kept."""

    source: str
    first: int
    through: int


class SessionEnded(Result, frozen=True, gc=False, tag="detached"):
    """A gateway has confirmed that the subscription ends, or that its session waits there."""


class SessionUnknown(Result, frozen=True, gc=False, tag="error"):
    """The gateway does not know the session any more; the subscriber attaches again by itself."""

    reason: str


class SubscriptionRefused(Result, frozen=True, gc=False, tag="error"):
    """The gateway will never serve what the subscriber asks for."""

    reason: str


# --- a publisher's and an appender's


class MessagesPublished(Result, frozen=True, gc=False, tag="published"):
    """The messages with these numbers are durable; the last ``together`` of them end at ``position`` in the log."""

    first: int
    through: int
    position: int
    together: int


class MessageRefused(Result, frozen=True, gc=False, tag="refused"):
    """A message will never be taken; ``place`` counts those that wait, from 0."""

    place: int
    reason: str


class PublisherBehind(Result, frozen=True, gc=False, tag="behind"):
    """The source expects a number that this publisher does not have any more."""

    expected: int


class Appended(Result, frozen=True, gc=False, tag="appended"):
    """Everything through this number is durable."""

    through: int


class AppendTrouble(Result, frozen=True, gc=False, tag="trouble"):
    """The source did not take a frame in, for now."""

    reason: str


class PlanStale(Result, frozen=True, gc=False, tag="stale"):
    """The source follows the plan of another epoch, or a much later version: messages must be routed again."""

    epoch: int
    version: int = 0


class AppendRefused(Result, frozen=True, gc=False, tag="refused"):
    """The message with this number will never be taken; nothing behind it goes on."""

    number: int
    reason: str


# --- a broker's


class SessionExpired(Result, frozen=True, gc=False, tag="expired"):
    """A gateway has ended a session whose client stayed away for too long."""

    session: str


class MessagesShed(Result, frozen=True, gc=False, tag="shed"):
    """A broker did not send messages to a congested neighbour; gateways fetch them later."""

    to: str
    messages: int


class TermRefused(Result, frozen=True, gc=False, tag="refused"):
    """A frame names a term that no store can have given."""

    frame: str
    sender: str = msgspec.field(name="from")
    term: int
    known: int


# --- a semantic user's


class PacketDelivered(Result, frozen=True, gc=False, tag="delivered"):
    """A packet came for the first time."""

    source: str
    incarnation: int
    number: int
    hops: int
    body: bytes


class InterestAccepted(Result, frozen=True, gc=False, tag="subscribed"):
    """The router has taken the interest up."""


class InterestRefused(Result, frozen=True, gc=False, tag="refused"):
    """The router cannot read the interest."""

    reason: str
