"""Everything that travels between brokers, coordinators and clients.

Brokers, sources, gateways and coordinators go by their ids. A *position* is the number of a message in its
source's log; "through n" includes n. ``term`` fences: a frame of an older term than its receiver has
seen is ignored. A tree is known by its *key*: the channel and the version of its tree.
"""

from __future__ import annotations

import msgspec

from semcast.model.message import Message, ProfileText

Key = tuple[str, int]
"""A tree: (channel, tree version)."""


class Frame(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What a link carries; every kind is one class."""


# --- on trees ------------------------------------------------------------------------------------------------


class Data(Frame, frozen=True, tag="data"):
    """Messages on their way along one tree; brokers read the key and the masks, never a body."""

    key: Key
    epoch: int
    source: str
    numbers: tuple[int, ...]
    masks: tuple[int, ...] | None
    """Per message the gateways it is for; None where all gateways of the channel get all of it."""
    bodies: tuple[bytes, ...]


class Leg(Frame, frozen=True, tag="leg"):
    """Messages on their way from a source to a rendezvous point: one copy, with the trees that it is for."""

    rendezvous: str
    epoch: int
    source: str
    numbers: tuple[int, ...]
    keys: tuple[tuple[Key, ...], ...]
    """Per message the trees that hang at the rendezvous point and carry it."""
    bodies: tuple[bytes, ...]


class Tally(Frame, frozen=True, tag="tally"):
    """How many messages a source has sent each gateway over one tree, in order with its data.

    ``counts`` holds gateways' bits; who is not in it was sent none. Counting began where the source first used the tree
    in this ``incarnation``.
    """

    key: Key
    epoch: int
    """The newest plan that the source follows."""
    previous: int
    """The plan that it followed before: a gateway that knows of neither cannot know all trees in between."""
    since: int
    """The position behind which it follows the newest plan."""
    source: str
    incarnation: int
    through: int
    counts: dict[int, int]
    final: bool = False
    """Nothing will come over this tree after ``through``."""
    rendezvous: str | None = None
    """Where it has to go first; None on the tree itself."""


class Ack(Frame, frozen=True, tag="ack"):
    """Upwards along a tree: all gateways below have everything of each source through its position."""

    key: Key
    positions: dict[str, int]
    at_source: bool = False
    """It has left the tree at its root, and is for the source itself."""


# --- between a gateway and a source, past the trees ----------------------------------------------------------


class Fetch(Frame, frozen=True, tag="fetch"):
    """A gateway asks a source for what is missing behind ``first``."""

    gateway: str
    request: int
    first: int | None
    """None: nothing yet, only where the source stands."""
    have: tuple[int, ...] = ()
    credit: int = 256
    """At most so many messages at a time."""
    through: int | None = None
    """Nothing beyond is asked for; None: all that there is."""


class Fill(Frame, frozen=True, tag="fill"):
    """A gateway asks a source for all that a profile matches behind ``first``, from before it was subscribed."""

    gateway: str
    request: int
    profile: ProfileText
    first: int
    credit: int = 256


class Repair(Frame, frozen=True, tag="repair"):
    """Messages from the log, as asked for."""

    source: str
    request: int
    numbers: tuple[int, ...]
    bodies: tuple[bytes, ...]


class Caught(Frame, frozen=True, tag="caught"):
    """The end of an answer: after ``sent`` messages, nothing is missing from ``first`` through ``through``."""

    source: str
    request: int
    incarnation: int
    first: int
    through: int
    sent: int
    lost: int = 0
    """Messages through here had been given up when the gateway asked; 0 where none that it asked for."""
    more: bool = False
    """The answer ends before the log does."""
    epoch: int = 0
    since: int = 0
    counts: tuple[tuple[Key, int], ...] = ()
    """What the source counts for this gateway, per open tree, as of ``through``; not where there is ``more``."""


# --- between brokers and the coordinator ---------------------------------------------------------------------


class Beat(Frame, frozen=True, tag="beat"):
    """Neighbours tell each other that they are there."""

    sent_at: float


class Heartbeat(Frame, frozen=True, tag="heartbeat"):
    """A broker tells the coordinator that it is there, and where it stands."""

    broker: str
    incarnation: int
    sent_at: float
    """On the broker's own clock; comes back with the lease."""
    revision: tuple[int, int] = (0, 0)
    """The newest (term, revision) of tables that it has."""
    down: tuple[str, ...] = ()
    """Neighbours that it does not hear."""
    position: int | None = None
    """Of a source: the end of its log."""
    epoch: int = 0
    """Of a source: the plan it follows."""
    since: int = 0
    """Of a source: the position behind which it follows that plan."""
    clean: tuple[tuple[str, int], ...] = ()
    """Of a gateway: per source the newest epoch of which it knows that nothing of older trees is under way."""
    serial: int = -1
    """Of a gateway: the newest of its interests."""


class Lease(Frame, frozen=True, tag="lease"):
    """The answer to a source's heartbeat: it may take in messages for so long, counted from when it asked."""

    term: int
    echo: float
    lease_s: float
    epoch: int


class Welcome(Frame, frozen=True, tag="welcome"):
    """The answer to a heartbeat that brings no lease."""

    term: int
    echo: float


class TreeLink(msgspec.Struct, frozen=True, array_like=True):
    """A link of a tree, as the broker at one end sees it."""

    broker: str
    """At the other end."""
    mask: bytes | None = None
    """The gateways behind it, bit by bit, least first; None where everything goes over it."""
    profiles: tuple[int, ...] | None = None
    """Where brokers filter by content: places of profiles in the entry's list, of which one must match."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """What one broker knows of one tree."""

    key: Key
    parent: str | None
    """Towards the rendezvous point; None there, and off the tree."""
    links: tuple[TreeLink, ...]
    """Where messages may go on: the children, or, where masks decide, all links of the tree."""
    ups: tuple[tuple[str, str], ...] = ()
    """(source, next broker) towards the rendezvous point, where this broker is on that source's leg."""
    bit: int | None = None
    """Of the gateway at this broker, if the channel has it."""
    acks: bool = False
    """Acks of the gateways go up this tree."""
    profiles: tuple[ProfileText, ...] = ()


class Install(Frame, frozen=True, tag="install"):
    """What a broker has to know; what is neither in ``entries`` nor in ``keep`` goes."""

    term: int
    revision: int
    entries: tuple[Entry, ...]
    keep: tuple[Key, ...]
    members: tuple[tuple[int, tuple[tuple[Key, str | None], ...]], ...] = ()
    """For a gateway, of every plan that a source may follow: (epoch, the trees it belongs to), each with the source
    that alone uses it, None where all do."""
    sources: tuple[str, ...] = ()
    """For a gateway: all sources."""
    bit: int | None = None


class Installed(Frame, frozen=True, tag="installed"):
    """A broker has the tables of this revision, or misses entries that it was told to keep."""

    broker: str
    incarnation: int
    term: int
    revision: int
    missing: tuple[Key, ...] = ()


class PlannedTree(msgspec.Struct, frozen=True, array_like=True):
    """What a source needs to know of a channel."""

    key: Key
    expression: str | None
    rendezvous: str
    links: tuple[tuple[str, str], ...]
    gateways: tuple[int, ...]
    """Their bits."""
    acks: bool = False


class Switch(Frame, frozen=True, tag="switch"):
    """A source is told the plan to follow from the end of its log on."""

    term: int
    epoch: int
    scheme: str
    gateways: tuple[str, ...]
    """In bit order."""
    profiles: tuple[tuple[str, ProfileText, tuple[str, ...]], ...]
    """(id, text, gateways)."""
    trees: tuple[PlannedTree, ...]
    absent: tuple[str, ...] = ()
    """Gateways that are away, whose clients may come back: the log is kept for them as long as retention lets it."""


class Switched(Frame, frozen=True, tag="switched"):
    """A source follows a plan since a position."""

    source: str
    incarnation: int
    term: int
    epoch: int
    position: int


class Interests(Frame, frozen=True, tag="interests"):
    """What a gateway wants for its clients; ``serial`` orders what it says."""

    gateway: str
    incarnation: int
    serial: int
    profiles: tuple[ProfileText, ...]
    max_delay_ms: tuple[float | None, ...] = ()
    """Per profile, the strictest bound that the gateway's policy makes of its clients'."""


class Live(Frame, frozen=True, tag="live"):
    """Everything in the interests of ``serial`` is matched by every source behind ``positions``."""

    term: int
    incarnation: int
    """Of the gateway that asked: one that has fallen counts its serials anew."""
    serial: int
    epoch: int
    """The first plan that has them."""
    positions: tuple[tuple[str, int], ...]
    unsure: tuple[str, ...] = ()
    """Sources that are cut off and take nothing in: behind their position they matched without the interests, until
    they follow ``epoch`` or a later plan."""
    late: tuple[tuple[int, float], ...] = ()
    """(place of a profile in the interests, expected delay in ms) where a bound cannot be met."""


class AskSamples(Frame, frozen=True, tag="ask-samples"):
    term: int
    request: int


class Samples(Frame, frozen=True, tag="samples"):
    """Which profiles matched the messages that a source sampled."""

    source: str
    request: int
    rate: float
    """The share of messages that it samples."""
    matched: tuple[tuple[str, ...], ...]


# --- between clients and brokers -----------------------------------------------------------------------------


class Publish(Frame, frozen=True, tag="publish"):
    """Messages of one origin, numbered on from ``first``."""

    origin: str
    first: int
    messages: tuple[Message, ...]


class Published(Frame, frozen=True, tag="published"):
    """All messages of an origin through this number are in the log for good."""

    origin: str
    through: int
    position: int = 0
    """The log's position of the last of them."""


class Refused(Frame, frozen=True, tag="refused"):
    """Not taken in. ``expected`` is the number that the source waits for, where numbers were left out."""

    origin: str
    first: int
    reason: str
    expected: int | None = None


class Attach(Frame, frozen=True, tag="attach"):
    """A client's subscription at a gateway, new or coming back; said again until answered."""

    session: str
    profile: ProfileText
    durable: bool = False
    ordered: bool = False
    start: str = "latest"
    """latest, or earliest; a client that comes back has a cursor."""
    cursor: tuple[tuple[str, int], ...] = ()
    """Per source: the client has everything through here."""
    have: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Per source: what it has above that."""
    max_delay_ms: float | None = None
    version: int = 0
    """Of the profile: one more at every replacement."""
    before: ProfileText | None = None
    """Where the profile was replaced: the one that counts for messages through ``until``, or, where that is not known
    yet, until the new one is live."""
    until: tuple[tuple[str, int], ...] = ()
    base: int | None = None
    """What ``Attached`` said, if the client is attached here."""
    expiry_s: float | None = None
    """How long a durable session outlives its client; None: the gateway decides."""


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

    session: str
    sequence: int
    credit: int = 64


class Detach(Frame, frozen=True, tag="detach"):
    """The subscription ends, for good."""

    session: str


class Detached(Frame, frozen=True, tag="detached"):
    session: str


class ProtocolError(Frame, frozen=True, tag="error"):
    """What the other end sent makes no sense."""

    reason: str


AnyFrame = (
    Data | Leg | Tally | Ack | Fetch | Fill | Repair | Caught | Beat | Heartbeat | Lease | Welcome | Install | Installed
    | Switch | Switched | Interests | Live | AskSamples | Samples | Publish | Published | Refused | Attach | Attached
    | Deliver | Progress | Gap | Taken | Detach | Detached | ProtocolError
)  # fmt: skip
