"""What clients and publishers saw, written down while a run goes on, to be judged when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from semcast.model.message import ProfileText


@dataclass(frozen=True)
class Violation:
    """A law that did not hold, for whom, and how."""

    law: str
    who: str
    what: str


@dataclass
class Version:
    """A profile of a session, from when it was asked for; live is what the client was told, and when."""

    profile: ProfileText
    asked_at: float
    live_at: float | None = None
    positions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivery:
    at: float
    source: str
    number: int
    body: bytes


@dataclass(frozen=True)
class GapNotice:
    """What matched in (first, through] is lost, and the client knows."""

    at: float
    source: str
    first: int
    through: int


@dataclass
class Session:
    """A subscription's life, as its client saw it."""

    name: str
    ordered: bool
    versions: list[Version]
    deliveries: list[Delivery] = field(default_factory=list)
    gaps: list[GapNotice] = field(default_factory=list)
    left_at: float | None = None
    """When the client asked to leave."""
    detached_at: float | None = None
    """When it was told that it has left."""

    def excused(self, source: str, number: int) -> bool:
        return any(gap.source == source and gap.first < number <= gap.through for gap in self.gaps)


class Witness:
    """All times are true ones."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.invoked: dict[tuple[str, int], float] = {}
        """(origin, sequence) → when the message was handed to its publisher."""
        self.acked: dict[tuple[str, int], float] = {}
        """(origin, sequence) → when the publisher knew it to be safe."""
        self._through: dict[str, int] = {}

    def subscribed(self, session: str, profile: ProfileText, at: float, *, ordered: bool = False) -> None:
        self.sessions[session] = Session(session, ordered, [Version(profile, at)])

    def replaced(self, session: str, profile: ProfileText, at: float) -> None:
        self.sessions[session].versions.append(Version(profile, at))

    def live(self, session: str, version: int, positions: Mapping[str, int], at: float) -> None:
        """The client was told; told again, the first time counts."""
        found = self.sessions[session].versions[version]
        if found.live_at is None:
            found.live_at, found.positions = at, dict(positions)

    def delivered(self, session: str, source: str, number: int, body: bytes, at: float) -> None:
        self.sessions[session].deliveries.append(Delivery(at, source, number, body))

    def gap(self, session: str, source: str, first: int, through: int, at: float) -> None:
        self.sessions[session].gaps.append(GapNotice(at, source, first, through))

    def left(self, session: str, at: float) -> None:
        self.sessions[session].left_at = at

    def detached(self, session: str, at: float) -> None:
        self.sessions[session].detached_at = at

    def published(self, origin: str, sequence: int, at: float) -> None:
        self.invoked[origin, sequence] = at

    def acknowledged(self, origin: str, through: int, at: float) -> None:
        """Everything of the origin through this sequence number is safe."""
        for sequence in range(self._through.get(origin, -1) + 1, through + 1):
            self.acked[origin, sequence] = at
        self._through[origin] = max(through, self._through.get(origin, -1))
