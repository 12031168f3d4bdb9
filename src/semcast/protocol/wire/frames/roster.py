"""Who wants what, as changes: from gateways to a coordinator, and from there to sources.

A gateway numbers its changes by (incarnation, serial), from 1 on in each incarnation. A coordinator numbers what it has
stored by *version*, one for each change of who wants a profile. Whatever is said twice changes nothing.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from semcast.model.message import ProfileText
from semcast.protocol.wire.frames.base import Frame

MOST_CHANGES = 1 << 13
"""Of one frame."""


class Wish(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A gateway wants a profile, or does not want it any more."""

    profile: ProfileText
    wanted: bool = True
    max_delay_ms: float | None = None
    """The bound that the gateway's policy makes of its clients'."""


class GatewayChanges(Frame, frozen=True, tag="gateway-changes"):
    """What a gateway wants differently; the changes are numbered on from ``first``.

    Without changes it asks how things stand.
    """

    gateway: str
    incarnation: int
    first: int
    changes: Annotated[tuple[Wish, ...], Meta(max_length=MOST_CHANGES)]
    complete: int | None = None
    """Through this serial it has said all that it wanted when it began: what an earlier incarnation wanted, and is not
    said again by then, will be forgotten. None: that is still to come."""


class Noted(Frame, frozen=True, tag="noted"):
    """A gateway's changes are stored through ``serial``."""

    term: int
    incarnation: int
    serial: int
    again: bool = False
    """Those behind it have to be said again: some were left out."""


class Live(Frame, frozen=True, tag="live"):
    """Everything that a gateway wanted through ``serial`` is matched by every source behind ``positions``."""

    term: int
    incarnation: int
    """Of the gateway that asked: one that has fallen counts its serials anew."""
    serial: int
    version: int
    """The roster's, which has it all."""
    positions: tuple[tuple[str, int], ...]
    unsure: tuple[str, ...] = ()
    """Sources that are cut off and take nothing in: behind their position they matched without it, until they follow
    ``version`` or a later one."""
    late: tuple[tuple[int, float], ...] = ()
    """(serial of a change, expected delay in ms) where a bound cannot be met."""


class RosterChange(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who wants a profile from now on; nobody: it is not matched any more."""

    name: str
    """Given by the coordinator; it never stood for another profile."""
    profile: ProfileText | None
    gateways: tuple[int, ...]
    """Places in the frame's list."""


class RosterChanges(Frame, frozen=True, tag="roster-changes"):
    """What has changed between two versions, in order."""

    term: int
    since: int
    version: int
    gateways: tuple[str, ...]
    changes: Annotated[tuple[RosterChange, ...], Meta(max_length=MOST_CHANGES)]
    digest: int | None = None
    """Of the whole roster at ``version``, where it is known."""


class RosterPiece(Frame, frozen=True, tag="roster-piece"):
    """A piece of the whole roster, for a source that is too far behind. Changes since ``version`` follow."""

    term: int
    snapshot: int
    place: int
    """Of the piece, from 0 on."""
    version: int
    gateways: tuple[str, ...]
    changes: Annotated[tuple[RosterChange, ...], Meta(max_length=MOST_CHANGES)]
    last: bool


class RosterFollowed(Frame, frozen=True, tag="roster-followed"):
    """A source matches by a version, behind a position of its log that is durable."""

    source: str
    incarnation: int
    version: int
    position: int
    astray: bool = False
    """Its roster is not the coordinator's: it needs all of it."""


class PieceTaken(Frame, frozen=True, tag="piece-taken"):
    source: str
    incarnation: int
    snapshot: int
    place: int
