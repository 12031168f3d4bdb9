"""The port at which messages leave a source: all that a scheme decides about them.

A ``Source`` takes messages in once, logs them and sends what is durable. Its *outlet* decides the rest. There are two:
``planned_outlet.PlannedOutlet`` follows a plan under a coordinator's lease, and ``semnet.outlet.PacketOutlet`` leaves
all decisions to routers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from semcast.model.message import Message
from semcast.protocol.contract import Command
from semcast.protocol.source.followed_plan import Following
from semcast.protocol.source.routing import Routes
from semcast.protocol.source.samples import Sampling
from semcast.protocol.stores import Record
from semcast.protocol.wire.frames import Append, Data, Key, Leg, Refused, Tally
from semcast.protocol.wire.frames.semantic import Packet

Outgoing = Data | Leg | Tally | Packet
"""What begins at a source: along a plan's trees, or, in a semantic network, along that of the source."""


class Carried(NamedTuple):
    """Messages that were sent on one tree since the source was started: all of them, and those for each gateway."""

    messages: int
    to: dict[str, int]


class Outlet(Protocol):
    """How messages leave one source. ``sent`` is always the position through which they have left."""

    @property
    def sampling(self) -> Sampling:
        """Some of the latest messages, with what is known of their way."""

    @property
    def following(self) -> Following | None:
        """The plan that messages follow; None where there is none, or none yet."""

    @property
    def astray(self) -> int:
        """How often its roster was not the coordinator's."""

    def stand(self, sent: int) -> tuple[int, int, int, int]:
        """The plan and the roster's version that are followed behind durable positions, each with its position."""

    def confirmed(self, sent: int) -> list[Command]:
        """What can be said to coordinators now that the log is durable so far."""

    def carried(self) -> Mapping[Key, Carried]:
        """What was sent on each tree of that plan."""

    def leased(self, now: float) -> bool:
        """May messages be taken in now? ``append`` and ``routes`` are called only while they may."""

    def append(self, origin: str, first: int, messages: tuple[Message, ...]) -> None:
        """Log new messages of an origin, numbered from ``first`` on, each with what ``frames`` has to know of it."""

    def routes(self, append: Append) -> list[Routes] | Refused:
        """The way of each message that was routed elsewhere, or why the source does not take them."""

    def frames(self, records: list[Record]) -> Iterable[Data | Leg | Packet]:
        """What durable records leave as. It is asked for once per record, in the order of the log."""

    def tick(self, sent: int, now: float) -> list[Outgoing]:
        """What else is due to be sent: word to gateways on how much has left for them."""

    def spare(self, sent: int) -> int:
        """The position through which nobody needs the log any more."""
