"""Messages on their way to gateways: along trees, and from the log, past them."""

from __future__ import annotations

from semcast.model.message import ProfileText
from semcast.protocol.wire.frames.base import Frame, Key

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
    version: int = 0
    """Of the roster that the source matches by, …"""
    version_since: int = 0
    """… behind this position."""


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
    version: int = 0
    """Of the roster that the source matches by, …"""
    version_since: int = 0
    """… behind this position."""
