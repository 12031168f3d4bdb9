"""What a gateway asks the coordinator for on behalf of its clients: as little as covers them all.

A profile that a live one covers is live at once (2004 §3.1). When the covering profile is no longer needed, it stays
until those that lived on it are live by themselves. What is asked for travels as changes, numbered by ``serial``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from semcast.model.message import ProfileText
from semcast.protocol.gateway.coverers import Coverers
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import GatewayChanges, Live, Noted, Wish

if TYPE_CHECKING:
    from semcast.matching.matchers import Aside

_CHANGES = 250
"""Of one frame."""
_BYTES = 1 << 20
"""Of the texts in one frame, but for the last of them."""
_AHEAD = 4000
"""Changes that are said before any of them is known to be stored."""
_ORPHANS = 50
"""Profiles that look for another one to live on in one turn."""


class _Asked:
    """A profile that the coordinator is asked for since a serial, and since when it is live."""

    __slots__ = ("late", "live", "serial")

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.live: Live | None = None
        self.late: float | None = None


class InterestSet:
    """Profiles that the coordinator knows of, or is to know of."""

    at_once = False

    def __init__(self, gateway: str, settings: Settings, incarnation: int, aside: Aside | None = None) -> None:
        self.serial = 0
        """Of the last change."""
        self._gateway, self._settings, self._incarnation = gateway, settings, incarnation
        self._asked: dict[ProfileText, _Asked] = {}
        self._pending: deque[tuple[int, ProfileText]] = deque()
        """What is not known to be live, in order."""
        self._coverers = Coverers(aside)
        """What is live, and will stay."""
        self._living_on: dict[ProfileText, ProfileText] = {}
        """Profiles that are not asked for, or not live yet, each with a live one that covers it."""
        self._carried: dict[ProfileText, dict[ProfileText, None]] = {}
        """The other way round."""
        self._leaving: dict[ProfileText, None] = {}
        """What is needed no more, and stays for those that live on it."""
        self._orphans: deque[ProfileText] = deque()
        self._bounds: dict[ProfileText, float] = {}
        self._changes: deque[Wish] = deque()
        """Those behind ``noted``."""
        self._noted = self._sent = 0
        self._live_through = -1
        self._complete: int | None = None
        self._said_at = float("-inf")
        self._leader: str | None = None

    @property
    def profiles(self) -> Collection[ProfileText]:
        """What is asked for."""
        return self._asked.keys()

    @property
    def unsettled(self) -> bool:
        """Do profiles look for another one to live on?"""
        return bool(self._orphans)

    # --- what clients need

    def need(self, profiles: Sequence[ProfileText]) -> None:
        """Clients need these, and did not before."""
        fresh: list[ProfileText] = []
        for profile in profiles:
            if profile in self._leaving:
                del self._leaving[profile]
                if self._asked[profile].live is not None:
                    self._coverers.extend([profile])
            elif profile not in self._asked:
                fresh.append(profile)
        self._house(fresh)

    def complete(self) -> None:
        """All that is needed from before a crash has been said."""
        self._complete = self.serial

    def bound(self, profile: ProfileText, max_delay_ms: float | None) -> None:
        """The delay that clients allow has changed."""
        if self._bounds.get(profile) == max_delay_ms:
            return
        if max_delay_ms is None:
            del self._bounds[profile]
        else:
            self._bounds[profile] = max_delay_ms
        if profile in self._asked:
            self._change(profile, True)

    def drop(self, profile: ProfileText) -> None:
        """No client needs it any more."""
        self._bounds.pop(profile, None)
        self._unlink(profile)
        if profile not in self._asked:
            return
        if self._carried.get(profile):
            self._leaving[profile] = None
            self._coverers.remove(profile)
            self._orphans.extend(self._carried[profile])
        else:
            self._unask(profile)

    def settle(self) -> None:
        """Find other places for some of those that live on what is to leave."""
        lost: dict[ProfileText, None] = {}
        while self._orphans and len(lost) < _ORPHANS:
            profile = self._orphans.popleft()
            if self._living_on.get(profile) in self._leaving and profile not in self._asked:
                lost[profile] = None
        self._house(list(lost))

    def _house(self, profiles: list[ProfileText]) -> None:
        """Let profiles live on live ones that cover them, and ask for the others."""
        for profile, wide in zip(profiles, self._coverers.find(profiles), strict=True):
            if wide is None:
                self._asked[profile] = _Asked(self._change(profile, True))
            else:
                self._unlink(profile)
                self._living_on[profile] = wide
                self._carried.setdefault(wide, {})[profile] = None

    def _unlink(self, profile: ProfileText) -> None:
        wide = self._living_on.pop(profile, None)
        if wide is None:
            return
        carried = self._carried[wide]
        del carried[profile]
        if not carried:
            del self._carried[wide]
            if wide in self._leaving:
                del self._leaving[wide]
                self._unask(wide)

    def _unask(self, profile: ProfileText) -> None:
        del self._asked[profile]
        self._coverers.remove(profile)
        self._change(profile, False)

    def _change(self, profile: ProfileText, wanted: bool) -> int:
        self.serial += 1
        self._changes.append(Wish(profile, wanted, self._bounds.get(profile) if wanted else None))
        if wanted:
            self._pending.append((self.serial, profile))
        return self.serial

    # --- what is live

    def confirm(self, live: Live, sender: str) -> list[ProfileText]:
        """Everything through a serial is live, behind its positions or earlier ones; what became live by that."""
        if live.incarnation != self._incarnation or live.serial > self.serial:
            return []
        self._heard(live.serial, sender)
        self._live_through = max(self._live_through, live.serial)
        late, new = dict(live.late), []
        while self._pending and self._pending[0][0] <= live.serial:
            serial, profile = self._pending.popleft()
            asked = self._asked.get(profile)
            if asked is None or serial < asked.serial:
                continue  # it was given up in between; if it came back, it is live by its later serial
            asked.late = late.get(serial)
            if asked.live is None:
                asked.live = live
                new.append(profile)
        self._coverers.extend([profile for profile in new if profile not in self._leaving])
        for profile in new:
            self._unlink(profile)
        return new

    def note(self, noted: Noted, sender: str) -> None:
        """Changes are stored, or have to be said again."""
        if noted.incarnation != self._incarnation or noted.serial > self.serial:
            return
        self._heard(noted.serial, sender)
        if noted.again:
            self._sent = min(self._sent, self._noted)

    def _heard(self, serial: int, leader: str) -> None:
        if leader != self._leader:
            if self._leader is not None:
                self._sent = self._noted  # another leader may not have heard what is not stored
            self._leader = leader
        while self._noted < serial:
            self._changes.popleft()
            self._noted += 1
        self._sent = max(self._sent, self._noted)

    def serves(self, profile: ProfileText) -> Live | None:
        """Since when all messages that match it come here, and go on coming; None where not all do."""
        asked = self._asked.get(profile)
        if asked is not None and asked.live is not None:
            return asked.live
        wide = self._living_on.get(profile)
        return self._asked[wide].live if wide is not None else None

    def late(self, profile: ProfileText) -> float | None:
        """The delay to expect in ms, where the bound is not met."""
        asked = self._asked.get(profile)
        return asked.late if asked is not None else None

    # --- what coordinators are told

    def says(self, coordinators: Sequence[str], now: float) -> list[tuple[str, GatewayChanges]]:
        """What is to be said now, and to whom: news at once, and again what nobody has answered."""
        silent = now - self._said_at >= self._settings.resend_s
        if silent and self._noted < self._sent:
            self._sent = self._noted
        waiting = self._sent < self.serial and self._sent - self._noted < _AHEAD
        if not waiting and not (silent and self._live_through < self.serial):
            return []
        everybody = silent or self._leader not in coordinators
        frames = []
        while self._sent < self.serial and self._sent - self._noted < _AHEAD:
            frames.append(self._frame())
            self._sent += len(frames[-1].changes)
        if not frames:
            frames = [GatewayChanges(self._gateway, self._incarnation, self._sent + 1, (), self._complete)]
        self._said_at = now
        to = coordinators if everybody else [self._leader]
        return [(coordinator, frame) for coordinator in to if coordinator is not None for frame in frames]

    def _frame(self) -> GatewayChanges:
        begin = self._sent - self._noted
        changes: list[Wish] = []
        size = 0
        for wish in islice(self._changes, begin, begin + _CHANGES):
            size += len(wish.profile.text)
            if changes and size > _BYTES:
                break
            changes.append(wish)
        return GatewayChanges(self._gateway, self._incarnation, self._sent + 1, tuple(changes), self._complete)
