"""What semantic routers say to each other, and to the users and producers at their doors (thesis chapter 3).

A *tree* is an acyclic part of the overlay along which interests and packets travel: the whole overlay where that is
acyclic, else one tree per source. Between routers nothing names a user.
"""

from __future__ import annotations

from typing import Literal

from semcast.protocol.wire.frames.base import Frame

Role = Literal["border", "network", "backbone"]
"""What a router is for (thesis §4.1)."""


class Hello(Frame, frozen=True, tag="semantic-hello"):
    """A router has started and knows nothing: tell it what you want. Said again until answered."""

    incarnation: int


class HelloTaken(Frame, frozen=True, tag="semantic-hello-taken"):
    """The sender knows that the other end has started, and says what it wants until that is taken."""

    incarnation: int


class Interest(Frame, frozen=True, tag="interest"):
    """All that the sender, and whoever lies behind it, wants of a tree: it takes the place of what was said before."""

    tree: str
    incarnation: int
    version: int
    profile: str
    """The aggregated profile's canonical text."""


class InterestTaken(Frame, frozen=True, tag="interest-taken"):
    """The receiver filters by this version."""

    tree: str
    incarnation: int
    version: int


class Packet(Frame, frozen=True, tag="packet"):
    """A packet on its way along a tree; routers read the descriptor and never the payload."""

    tree: str
    source: str
    incarnation: int
    number: int
    descriptor: bytes
    payload: bytes
    hops: int = 0


class Subscribe(Frame, frozen=True, tag="semantic-subscribe"):
    """A user says what it wants, in place of what it wanted before."""

    profile: str
    stream: str = ""


class Subscribed(Frame, frozen=True, tag="semantic-subscribed"):
    """The user's own router filters by it, or says why it does not."""

    refused: str | None = None


class Unsubscribe(Frame, frozen=True, tag="semantic-unsubscribe"):
    """The user wants nothing more."""


class Offer(Frame, frozen=True, tag="semantic-offer"):
    """A producer hands a packet over; it numbers its own, so that a copy is known as one."""

    number: int
    descriptor: bytes
    payload: bytes


class Shed(Frame, frozen=True, tag="shed"):
    """An operator's word: look at filters to this depth only, and let more through; None: look at all of them."""

    depth: int | None


BetweenRouters = Hello | HelloTaken | Interest | InterestTaken | Packet
SemanticFrame = BetweenRouters | Subscribe | Subscribed | Unsubscribe | Offer | Shed
