"""Between clients and brokers: publishing, and sessions of subscribers."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from semcast.model.message import Message, ProfileText
from semcast.protocol.wire.frames.base import (
    MOST_MESSAGES,
    MOST_PUBLISHED,
    MOST_SESSIONS,
    Frame,
    Had,
    Key,
    Milliseconds,
    Name,
    Positions,
    Seconds,
    Whole,
)


class Publish(Frame, frozen=True, tag="publish"):
    """Messages of one origin, numbered on from ``first``."""

    origin: Name
    first: Whole
    messages: Annotated[tuple[Message, ...], Meta(max_length=MOST_PUBLISHED)]
    since: Whole = 0
    """Numbers before this one are not waited for: the origin leaves them out, or is through with them."""
    attempt: Whole = 0
    """One more whenever the origin gave a message up and those behind it took other numbers."""


class Append(Frame, frozen=True, tag="append"):
    """Messages of one origin that were matched and routed elsewhere, by the plan of an epoch; numbered like Publish."""

    origin: Name
    first: Whole
    since: Whole
    epoch: Whole
    bodies: Annotated[tuple[bytes, ...], Meta(max_length=MOST_MESSAGES)]
    trees: Annotated[tuple[Key, ...], Meta(max_length=MOST_MESSAGES)]
    ways: Annotated[tuple[tuple[tuple[Whole, bytes], ...], ...], Meta(max_length=MOST_MESSAGES)]
    """All different ways: places in ``trees``, each with the gateways reached there, bit by bit, least first."""
    taken: bytes
    """The place of each message's way, two bytes each."""
    samples: tuple[tuple[str, ...], ...] = ()
    """Which profiles matched some of the messages, at the rate at which sources sample."""
    version: Whole = 0
    """Of the roster that they were matched by: the source matches them with what was added since."""


class Ingested(Frame, frozen=True, tag="ingested"):
    """A pipeline is through with what waited for it in the log, through this position."""

    position: Whole


class Published(Frame, frozen=True, tag="published"):
    """All messages of an origin through this number are in the log for good."""

    origin: str
    through: int
    position: int = 0
    """The log's position of the last of them; 0 where that is not known any more."""
    together: int = 1
    """So many of them, the last ones, stand side by side in the log."""


class Refused(Frame, frozen=True, tag="refused"):
    """Not taken in. ``expected`` is the number that the source waits for, where numbers were left out."""

    origin: str
    first: int
    reason: str
    expected: int | None = None
    unfit: int | None = None
    """The number of a message that will never be taken, and keeps those of its frame out that come with it."""
    epoch: int | None = None
    """The plan that the source follows, where messages were routed by another: they have to be routed anew."""
    attempt: int = 0
    """As the publish had it: what was refused before a message was given up says nothing of the numbers after."""
    version: int = 0
    """With ``epoch``: they have to be matched by this version of the roster, or a later one."""


class Attach(Frame, frozen=True, tag="attach"):
    """A client's subscription at a gateway, new or coming back; said again until answered."""

    session: Name
    profile: ProfileText
    durable: bool = False
    ordered: bool = False
    start: str = "latest"
    """latest, or earliest; a client that comes back has a cursor."""
    cursor: Positions = ()
    """Per source: the client has everything through here."""
    have: Had = ()
    """Per source: what it has above that."""
    max_delay_ms: Milliseconds | None = None
    version: Whole = 0
    """Of the profile: one more at every replacement."""
    before: ProfileText | None = None
    """Where the profile was replaced: the one that counts for messages through ``until``, or, where that is not known
    yet, until the new one is live."""
    until: Positions = ()
    base: Whole | None = None
    """What ``Attached`` said, if the client is attached here."""
    expiry_s: Seconds | None = None
    """How long a durable session outlives its client; None: the gateway decides."""
    life: Whole = 0
    """Differs for each subscriber: one that starts under a known name is not taken for one that repeats its attach."""


class AttachMany(Frame, frozen=True, tag="attach-many"):
    """Many subscriptions of one client, each as if it came by itself; each is answered by itself."""

    attaches: Annotated[tuple[Attach, ...], Meta(max_length=MOST_SESSIONS)]


class Attached(Frame, frozen=True, tag="attached"):
    """The subscription is live: nothing that matches is missed behind ``positions``."""

    session: str
    version: int
    positions: tuple[tuple[str, int], ...]
    base: int
    """Sequence numbers go on from here."""
    expected_delay_ms: float | None = None
    """Where the client's bound cannot be met: what to expect instead."""
    behind: tuple[tuple[str, int], ...] = ()
    """Per source: what matches behind this position comes over this session; what came before, it cannot vouch for."""


class Deliver(Frame, frozen=True, tag="deliver"):
    """A message for a client; ``sequence`` numbers what the session sends, to be acknowledged."""

    session: str
    sequence: int
    source: str
    number: int
    body: bytes


class Progress(Frame, frozen=True, tag="progress"):
    """The client was sent all that is its own of a source, through this position."""

    session: str
    sequence: int
    source: str
    through: int


class Gap(Frame, frozen=True, tag="gap"):
    """What matched in (first, through] is lost for this client: it was away for longer than the log is kept."""

    session: str
    sequence: int
    source: str
    first: int
    through: int


class Taken(Frame, frozen=True, tag="taken"):
    """The client has everything of its session through this sequence number; ``credit`` more may come."""

    session: Name
    sequence: Whole
    credit: Whole = 64


class TakenMany(Frame, frozen=True, tag="taken-many"):
    """What a client has of many sessions, each as if it came by itself; one beat answers for all that are known."""

    taken: Annotated[tuple[Taken, ...], Meta(max_length=MOST_SESSIONS)]


class Detach(Frame, frozen=True, tag="detach"):
    """The subscription ends for good, or, with ``keep``, its client leaves and the session waits for it."""

    session: Name
    keep: bool = False
    sequence: Whole = 0
    """With ``keep``: the client has taken everything of the session through here."""
    cursor: Positions = ()
    """With ``keep``, where the client knows it exactly: per source, it has taken everything through here, …"""
    have: Had = ()
    """… and these above, also where another gateway brought them."""


class Detached(Frame, frozen=True, tag="detached"):
    session: str


class ProtocolError(Frame, frozen=True, tag="error"):
    """What the other end sent makes no sense."""

    reason: str
    session: str = ""
    """Whose; empty: the connection's."""
    unknown: bool = False
    """Nothing is wrong with the frame: the gateway does not know the session, which has to be attached again."""
