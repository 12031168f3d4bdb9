"""The subscribers' side: a subscription that survives gateways.

A subscriber remembers per source how far it has everything (its *cursor*) and what it has above that. With these it
can go to any gateway and go on where it was: nothing is missed and nothing comes twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from semcast.model.message import ProfileText
from semcast.protocol.contract import (
    Command,
    ConfirmTaken,
    EndSubscription,
    Event,
    GatewayHeard,
    GatewayMet,
    GiveBack,
    MeetGateways,
    Received,
    ReplaceProfile,
    Send,
    Tick,
)
from semcast.protocol.results import (
    Delivered,
    MessagesLost,
    SessionEnded,
    SessionUnknown,
    SubscriptionRefused,
    WentLive,
)
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import (
    Attach,
    Attached,
    Deliver,
    Detach,
    Detached,
    Gap,
    Progress,
    ProtocolError,
    Taken,
)


class _Link:
    """One gateway, as the subscriber knows it."""

    __slots__ = (
        "asked_at",
        "attached_version",
        "base",
        "confirmed",
        "heard_at",
        "news",
        "sequence",
        "taken",
        "taken_at",
    )

    def __init__(self) -> None:
        self.attached_version = -1
        self.base: int | None = None
        self.sequence = 0
        self.confirmed = 0
        """As far as the client has taken what it was given."""
        self.taken = 0
        """As far as the gateway was told."""
        self.heard_at: float | None = None
        self.asked_at = float("-inf")
        self.taken_at = float("-inf")
        self.news = False


class Waits(NamedTuple):
    """When a subscriber said the things last that it says again; infinity where there is no such thing."""

    asked_at: float
    """Asked a gateway for what is not live yet: again after ``resend_s``."""
    taken_at: float
    """Told a gateway what it has, and so that it is there: again after ``beat_s``. Minus infinity: there is news."""
    left_at: float
    """Told a gateway that the session ends there: again after ``resend_s``."""


class Subscriber:
    """One subscription of one client. With ``together`` it hangs on all its gateways at a time."""

    # A client may have a hundred thousand of them.
    __slots__ = (
        "_before", "_confirms", "_durable", "_earlier", "_ending", "_expiry_s", "_gateways", "_have", "_keeps",
        "_leaving", "_life", "_links", "_max_delay_ms", "_open", "_ordered", "_profile", "_refused", "_settings",
        "_start", "_together", "_version", "_wish", "_wishes", "cursor", "detached", "live_version", "name", "session",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        session: str,
        gateways: Sequence[str],
        profile: ProfileText,
        *,
        settings: Settings,
        durable: bool = False,
        ordered: bool = False,
        start: str = "latest",
        max_delay_ms: float | None = None,
        together: bool = False,
        cursor: Mapping[str, int] | None = None,
        have: Mapping[str, Iterable[int]] | None = None,
        confirmed: bool = False,
        expiry_s: float | None = None,
        life: int = 0,
    ) -> None:
        """With ``confirmed`` a message counts as taken when ``ConfirmTaken`` says so, else when it has come.

        Who comes back says where it was: its ``cursor``, and what it has above that.
        """
        self.name = name
        self.session = session
        self.live_version = -1
        self.detached = False
        self.cursor: dict[str, int] = dict(cursor or {})
        self._together = together
        self._settings = settings
        self._durable, self._ordered, self._start = durable, ordered, start
        self._max_delay_ms, self._expiry_s, self._life = max_delay_ms, expiry_s, life
        self._confirms, self._open = confirmed, False
        self._profile, self._version = profile, 0
        self._earlier = profile
        self._before: tuple[ProfileText, dict[str, int]] | None = None
        self._wishes = 0
        self._wish: tuple[ProfileText, int] | None = None
        self._refused = False
        self._have: dict[str, set[int]] = {source: set(numbers) for source, numbers in (have or {}).items()}
        self._links: dict[str, _Link] = {}
        self._ending = self._keeps = False
        self._leaving: dict[str, float] = {}
        """Gateways at which the session is to end, each with when it was last told so."""
        self._meet(gateways)

    @property
    def gateways(self) -> Sequence[str]:
        """Where it subscribes; none as long as none is known."""
        return self._gateways

    def _meet(self, gateways: Sequence[str]) -> None:
        """Subscribe at these gateways: one that had none before."""
        self._gateways = tuple(gateways)
        for gateway in self._gateways if self._together else self._gateways[:1]:
            self._links[gateway] = _Link()

    @property
    def durable(self) -> bool:
        return self._durable

    @property
    def have(self) -> Mapping[str, Set[int]]:
        """Per source what it has above its cursor."""
        return self._have

    @property
    def reached(self) -> dict[str, int]:
        """Per gateway the last that came in order: what ``ConfirmTaken`` can be told later."""
        return {gateway: link.sequence for gateway, link in self._links.items()}

    @property
    def served(self) -> bool:
        """Is there a gateway that has taken the session up, and not lost it since as far as the client knows?"""
        return any(link.base is not None for link in self._links.values())

    @property
    def at(self) -> tuple[str, ...]:
        """The gateways that it hangs on."""
        return tuple(self._links)

    @property
    def waits(self) -> Waits:
        """What its next ticks are for, if nothing happens until then.

        Whether a gateway is silent for too long is not in it: whoever drives many subscribers sees that for all.
        """
        never = float("inf")
        left_at = min(self._leaving.values()) if self._leaving else never
        if self._ending:
            return Waits(never, never, left_at)
        asked_at = taken_at = never
        for link in self._links.values():
            if link.attached_version < self._version:
                asked_at = min(asked_at, link.asked_at)
            if link.base is not None:
                taken_at = float("-inf") if link.news else min(taken_at, link.taken_at)
        return Waits(asked_at, taken_at, left_at)

    @property
    def wishes(self) -> int:
        """The version that the last replacement will have, if no other takes its place."""
        return self._wishes

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case Received(sender, Detached(session=self.session)):
                self._leaving.pop(sender, None)
                if self._ending and not self.detached and not (self._keeps and self._leaving):
                    self.detached = True
                    return [SessionEnded()]
            case Received(sender, frame) if sender in self._links and not self._ending:
                self._links[sender].heard_at = now
                return self._received(sender, frame)
            case Tick():
                return self._tick(now)
            case ConfirmTaken(reached):
                return self._confirm(reached)
            case _:
                self._told(event)
        return []

    def _told(self, event: Event) -> None:
        """Take in what the client says that nobody else has to hear at once."""
        match event:
            case ReplaceProfile(profile):
                self._replace(profile)
            case GiveBack(source, number):
                self._have.get(source, set()).discard(number)
                self._open = False
            case EndSubscription(keep):
                self._ending, self._keeps = True, keep
                self._leaving = dict.fromkeys(self._links if keep else self._gateways, float("-inf"))
            case MeetGateways(gateways):
                self._meet(gateways)
            case GatewayHeard(gateway, at) if gateway in self._links:
                link = self._links[gateway]
                link.heard_at = None if link.heard_at is None else max(at, link.heard_at)
            case GatewayMet(gateway) if gateway in self._links:
                link = self._links[gateway]
                link.asked_at = link.taken_at = float("-inf")

    def _replace(self, profile: ProfileText) -> None:
        self._wishes += 1
        self._wish = profile, self._wishes
        self._take_up()

    def _take_up(self) -> None:
        if self._wish is None or not self._over():
            return
        if self.live_version == self._version:
            self._before = (self._profile, {})
        self._earlier, self._refused = self._profile, False
        (self._profile, self._version), self._wish = self._wish, None

    def _over(self) -> bool:
        """Has the client all that counts by another profile than the one it asks for?"""
        if self._version == 0 or self._refused:
            return True
        self._pass()
        return self.live_version == self._version and self._before is None

    def _pass(self) -> None:
        """Forget the earlier profile when the cursor is beyond where it ended."""
        until = self._before[1] if self._before is not None else {}
        if until and all(self.cursor.get(source, 0) >= place for source, place in until.items()):
            self._before = None

    def _received(self, sender: str, frame: object) -> list[Command]:
        link = self._links[sender]
        match frame:
            case Attached(session=self.session):
                return self._attached(link, frame)
            case Deliver() | Progress() | Gap() if link.base is not None and frame.sequence > link.base:
                link.news = True
                if frame.sequence != link.sequence + 1:
                    return []  # something before it was lost, and will be said again
                link.sequence += 1
                commands = self._took(frame)
                self._open = self._open or bool(self._confirms and commands and isinstance(frame, Deliver))
                if not self._open:
                    link.confirmed = link.sequence
                return [*commands, *self._take(sender, link)]
            case ProtocolError(reason, session, unknown) if session in ("", self.session):
                link.attached_version, link.base = -1, None
                self._refused = self.live_version < self._version
                return [SessionUnknown(reason) if unknown else SubscriptionRefused(reason)]
        return []

    def _confirm(self, reached: Mapping[str, int] | None) -> list[Command]:
        self._open = reached is not None
        commands: list[Command] = []
        for gateway, link in self._links.items():
            if link.base is None:
                continue
            through = link.sequence if reached is None else reached.get(gateway, 0)
            link.confirmed = max(link.confirmed, min(through, link.sequence))
            commands += self._take(gateway, link)
        return commands

    def _take(self, gateway: str, link: _Link) -> list[Command]:
        """Make room at the gateway in time: before it has to stop and fetch from the log what did not fit."""
        if link.base is None or link.confirmed - link.taken < max(1, self._settings.held // 4):
            return []
        link.news, link.taken = False, link.confirmed
        return [Send(gateway, Taken(self.session, link.confirmed))]

    def _attached(self, link: _Link, frame: Attached) -> list[Command]:
        positions, behind = dict(frame.positions), dict(frame.behind)
        for source, position in positions.items():
            if self._start == "latest" or source in behind:
                self.cursor.setdefault(source, behind.get(source, position))
        if any(position > self.cursor.get(source, 0) for source, position in behind.items()):
            # Another gateway was first, and began earlier: this one's progress would hide what only that one brings.
            link.base, link.attached_version = None, -1
            return []
        if link.base != frame.base:
            link.base = link.sequence = link.confirmed = link.taken = frame.base
        link.attached_version = max(link.attached_version, frame.version)
        if frame.version <= self.live_version:
            return []
        self.live_version = frame.version
        if frame.version < self._version and self._before is None:
            self._before = (self._earlier, {})  # it went live while another was asked for already
        if self._before is not None and frame.version == self._version:
            self._before = (self._before[0], positions)
        return [WentLive(frame.version, positions, frame.expected_delay_ms)]

    def _took(self, frame: Deliver | Progress | Gap) -> list[Command]:
        cursor = self.cursor.get(frame.source, 0)
        have = self._have.setdefault(frame.source, set())
        if isinstance(frame, Deliver):
            if frame.number <= cursor or frame.number in have:
                return []
            have.add(frame.number)
            return [Delivered(frame.source, frame.number, frame.body)]
        self.cursor[frame.source] = max(cursor, frame.through)
        self._have[frame.source] = {number for number in have if number > frame.through}
        if isinstance(frame, Gap) and frame.through > cursor:
            return [MessagesLost(frame.source, max(cursor, frame.first), frame.through)]
        return []

    def _tick(self, now: float) -> list[Command]:
        commands = self._leave(now)
        if self._ending:
            return commands
        self._fail_over(now)
        self._take_up()
        for gateway, link in self._links.items():
            if link.attached_version < self._version and now - link.asked_at >= self._settings.resend_s:
                link.asked_at = now
                commands.append(Send(gateway, self._attach(link.base)))
            if link.base is not None and (link.news or now - link.taken_at >= self._settings.beat_s):
                link.news, link.taken_at, link.taken = False, now, link.confirmed
                commands.append(Send(gateway, Taken(self.session, link.confirmed)))
        return commands

    def _attach(self, base: int | None) -> Attach:
        self._pass()
        before, until = self._before or (None, {})
        return Attach(
            self.session, self._profile, self._durable, self._ordered, self._start, tuple(sorted(self.cursor.items())),
            self._had(), self._max_delay_ms, self._version, before, tuple(sorted(until.items())) if before else (),
            base, self._expiry_s, self._life,
        )  # fmt: skip

    def _fail_over(self, now: float) -> None:
        """A gateway that says nothing for too long is left for the next."""
        if self._together or len(self._gateways) < 2:
            return
        gateway, link = next(iter(self._links.items()))
        if link.heard_at is None:
            link.heard_at = now
        if now - link.heard_at > self._settings.dead_s:
            following = self._gateways[(self._gateways.index(gateway) + 1) % len(self._gateways)]
            self._links = {following: _Link()}
            self._leaving.pop(following, None)
            self._leaving[gateway] = float("-inf")  # a session that nobody takes from would hold the logs

    def _leave(self, now: float) -> list[Command]:
        """End the session where it is not needed any more; said until it is heard."""
        if not self._leaving:
            return []
        due = [gateway for gateway, told in self._leaving.items() if now - told >= self._settings.resend_s]
        self._leaving |= dict.fromkeys(due, now)
        return [Send(gateway, self._detach(gateway)) for gateway in due]

    def _detach(self, gateway: str) -> Detach:
        link = self._links.get(gateway)
        if not self._keeps or link is None or link.base is None:
            return Detach(self.session, self._keeps)
        if self._open:  # what was given out and not confirmed is not told from the rest
            return Detach(self.session, True, link.confirmed)
        return Detach(self.session, True, link.confirmed, tuple(sorted(self.cursor.items())), self._had())

    def _had(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple((source, tuple(sorted(numbers))) for source, numbers in sorted(self._have.items()) if numbers)
