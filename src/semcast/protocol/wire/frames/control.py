"""What neighbours, brokers and coordinators tell each other: who is there, and which plan is followed."""

from __future__ import annotations

import msgspec

from semcast.model.message import ProfileText
from semcast.protocol.wire.frames.base import Frame, Key


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
    """Of a gateway: the newest of its changes."""
    version: int = 0
    """Of a source: the version of the roster that it matches by, …"""
    version_since: int = 0
    """… behind this position."""


class Lease(Frame, frozen=True, tag="lease"):
    """The answer to a source's heartbeat: it may take in messages for so long, counted from when it asked."""

    term: int
    echo: float
    lease_s: float
    epoch: int
    position: int = 0
    """The end of the log as the coordinator knows it. Behind it, a subscription may count on messages that the source
    takes in without knowing of it, while it is cut off."""


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
    """(id, text, gateways); none where sources follow the roster."""
    trees: tuple[PlannedTree, ...]
    absent: tuple[str, ...] = ()
    """Gateways that are away, whose clients may come back: the log is kept for them as long as retention lets it."""
    version: int = 0
    """Of the roster that the profiles were taken from."""


class Switched(Frame, frozen=True, tag="switched"):
    """A source follows a plan since a position, which is durable."""

    source: str
    incarnation: int
    term: int
    epoch: int
    position: int
    version: int = 0
    """Of the roster that the plan's profiles were taken from."""


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
