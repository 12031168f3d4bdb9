"""The contract between role machines and whatever drives them: events in, commands and results out.

A driver owns sockets or a virtual clock, calls ``handle(event, now)`` and does what it is told. ``now`` is the
driver's clock in seconds; it never goes back, and clocks of different brokers have nothing to do with each other.
Frames to one receiver arrive in order or not at all; some arrive twice. Nothing else is assumed of a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from semcast.model.message import Message, ProfileText
from semcast.protocol.results import Result
from semcast.protocol.wire.frames import AnyFrame, Append, Data, Publish

if TYPE_CHECKING:
    from semcast.protocol.coordinator.ledger import Ledger
    from semcast.protocol.coordinator.orders import Made, Order


class Received(msgspec.Struct, frozen=True, gc=False):
    """A frame has come."""

    sender: str
    frame: AnyFrame


class Local(msgspec.Struct, frozen=True, gc=False):
    """Data for the gateway here, cut down to it; the rest of what the sender sent went on as bytes."""

    sender: str
    frames: tuple[Data, ...]


class Tick(msgspec.Struct, frozen=True):
    """Time has gone by; comes every ``Settings.tick_s``, more or less."""


class Synced(msgspec.Struct, frozen=True, gc=False):
    """What was appended to the log through this position survives a crash."""

    through: int


class Congested(msgspec.Struct, frozen=True):
    """So much waits to be sent to this neighbour that no more data must come."""

    to: str


class Relieved(msgspec.Struct, frozen=True):
    """That is over."""

    to: str


class Continued(msgspec.Struct, frozen=True):
    """Others have had their turn: go on with what was too much for one."""


class Reorganise(msgspec.Struct, frozen=True):
    """Somebody, or the clock, asks the coordinator for a new plan."""


class LinksMeasured(msgspec.Struct, frozen=True):
    """How long messages are under way over links, as brokers measure it now."""

    delays_ms: Mapping[tuple[str, str], float]
    """By the ends of a link, in order of their names; links that nobody has measured are not in it."""


class PlanMade(msgspec.Struct, frozen=True):
    """A plan was made as it was ordered, some time ago."""

    number: int
    """The order's."""
    made: Made


class LeadAnswered(msgspec.Struct, frozen=True, gc=False):
    """The store has said whether the asker leads, and in which term; None: another leads."""

    number: int
    term: int | None


class StoreRead(msgspec.Struct, frozen=True):
    """All that the store holds, as of one moment after it was asked for."""

    number: int
    values: Mapping[str, bytes]
    ledger: Ledger | None = None
    """The same as a machine keeps it, where a driver has read it in a thread: it takes long where there is much."""


class StoreCommitted(msgspec.Struct, frozen=True, gc=False):
    """The changes are durable."""

    number: int


class StoreFailed(msgspec.Struct, frozen=True, gc=False):
    """A request was refused, since another leads (``fenced``), or not answered: then it may be done all the same."""

    number: int
    fenced: bool
    reason: str


class MeetGateways(msgspec.Struct, frozen=True):
    """A subscriber that knew no gateway is told some."""

    gateways: Sequence[str]


class GatewayHeard(msgspec.Struct, frozen=True, gc=False):
    """A gateway was there at this time: it said something to another subscription of the same client."""

    gateway: str
    at: float


class GatewayMet(msgspec.Struct, frozen=True, gc=False):
    """There is a new connection to a gateway: what was said over an earlier one may be lost, at either end."""

    gateway: str


class ReplaceProfile(msgspec.Struct, frozen=True):
    """The client asks for something else; it counts from where the gateway says, at once and everywhere.

    A subscriber asks for it when an earlier replacement is over: a gateway can be told of one end only. Of several
    that wait, the last is asked for.
    """

    profile: ProfileText


class ConfirmTaken(msgspec.Struct, frozen=True):
    """The client has done with all that was delivered, and can be given the next.

    Or with what came before ``reached``, which it read earlier: then there is more to be confirmed.
    """

    reached: Mapping[str, int] | None = None


class GiveBack(msgspec.Struct, frozen=True, gc=False):
    """The client does not take the message that was delivered last; it is owed again."""

    source: str
    number: int


class TookThrough(msgspec.Struct, frozen=True, gc=False):
    """A client within its gateway's process has everything of a source through here: it is not given again."""

    source: str
    through: int


class EndSubscription(msgspec.Struct, frozen=True):
    """The client leaves for good; the next tick tells all gateways that the session may have been at.

    With ``keep`` the session stays at its gateways, which are told what was taken.
    """

    keep: bool = False


class PublishMessages(msgspec.Struct, frozen=True):
    """The client hands messages over; ``MessagesPublished`` says when they are durable."""

    messages: Sequence[Message]


class AppendFrame(msgspec.Struct, frozen=True):
    """The client hands a frame over. Its numbers follow those of the one before."""

    frame: Publish | Append


class ResumeAppending(msgspec.Struct, frozen=True):
    """Go on with the same messages, routed by another plan."""

    frames: Sequence[Append]


class ReplaceInterest(msgspec.Struct, frozen=True):
    """A semantic user wants something else, or nothing (None), from the next tick on."""

    profile: str | None


class OfferPacket(msgspec.Struct, frozen=True, gc=False):
    """A semantic producer hands a packet over."""

    descriptor: bytes
    payload: bytes


ClientEvent = (
    MeetGateways
    | GatewayHeard
    | GatewayMet
    | ReplaceProfile
    | ConfirmTaken
    | GiveBack
    | TookThrough
    | EndSubscription
    | PublishMessages
    | AppendFrame
    | ResumeAppending
    | ReplaceInterest
    | OfferPacket
)
"""What clients ask of their own machines."""
StoreEvent = LeadAnswered | StoreRead | StoreCommitted | StoreFailed
"""What coordinators hear of their store; every request ends in one of these, in whatever order."""


class Send(msgspec.Struct, frozen=True, gc=False):
    """Send a frame: over the overlay's link if ``to`` is a neighbour, else directly."""

    to: str
    frame: AnyFrame


class Passed(msgspec.Struct, frozen=True, gc=False):
    """Write whole frames to a neighbour as they are; ``data`` may be shared between neighbours."""

    to: str
    data: bytes
    frames: int
    messages: int


class Handed(msgspec.Struct, frozen=True, gc=False):
    """Give somebody within this process what a subscription of his waits for: all behind the last, through here."""

    to: str
    session: str
    sequence: int
    source: str
    numbers: tuple[int, ...]
    bodies: tuple[bytes, ...]
    through: int


class Continue(msgspec.Struct, frozen=True):
    """There is more to do than one turn should take: say ``Continued`` soon, when others have had theirs."""


class Sync(msgspec.Struct, frozen=True, gc=False):
    """Make the log durable through this position, then say ``Synced``."""

    through: int


class MakePlan(msgspec.Struct, frozen=True):
    """Make a plan (``order.made()``), beside everything else since it may take long, and say ``PlanMade``."""

    order: Order


class AskLead(msgspec.Struct, frozen=True, gc=False):
    """Ask the store for the lead, in a term above ``above``, and say ``LeadAnswered``.

    Several such requests may be under way, and none of them waits for a commit.
    """

    number: int
    who: str
    lease_s: float
    above: int


class ReadStore(msgspec.Struct, frozen=True, gc=False):
    """Read all that the store holds, and say ``StoreRead``."""

    number: int


class CommitStore(msgspec.Struct, frozen=True):
    """Write all of the changes, or nothing unless ``term`` is the newest; then say ``StoreCommitted``.

    There is one at a time.
    """

    number: int
    term: int
    changes: Mapping[str, bytes | None]


StoreCommand = AskLead | ReadStore | CommitStore


class Note(msgspec.Struct, frozen=True, gc=False):
    """Something that people want to know of; drivers put it into the journal and decide nothing by it."""

    what: str
    details: dict[str, Any] = {}


Command = Send | Passed | Handed | Sync | Continue | MakePlan | StoreCommand | Note | Result
Event = (
    Received
    | Local
    | Handed
    | Tick
    | Synced
    | Congested
    | Relieved
    | Continued
    | Reorganise
    | LinksMeasured
    | PlanMade
    | StoreEvent
    | ClientEvent
)


class Machine(Protocol):
    def handle(self, event: Event, now: float) -> list[Command]:
        """Take an event in; the only way in which a machine changes."""
