"""What a gateway asks the coordinator for on behalf of its clients: as little as covers them all.

A profile that a live one covers is live at once (2004 §3.1). When the covering profile is no longer asked for, it stays
until those that lived on it are live by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

from semcast.model.message import ProfileText
from semcast.protocol.profile_texts import covers
from semcast.protocol.wire.frames import Live


class InterestSet:
    """Profiles that the coordinator knows of, or is to know of; ``serial`` counts changes."""

    at_once = False

    def __init__(self) -> None:
        self.serial = 0
        self.profiles: tuple[ProfileText, ...] = ()
        self.bounds: tuple[float | None, ...] = ()
        self.confirmed = -1
        """The newest serial that is live everywhere."""
        self._live: frozenset[ProfileText] = frozenset()
        self._since: dict[ProfileText, Live] = {}
        self._sent: dict[int, frozenset[ProfileText]] = {0: frozenset()}
        self._living_on: dict[ProfileText, ProfileText] = {}
        """Profiles that are not asked for, each with one that covers it: found once, and not sought at every change."""

    @property
    def pending(self) -> bool:
        return self.confirmed < self.serial

    def confirm(self, live: Live) -> None:
        """Everything of a serial is live, behind its positions or earlier ones."""
        serial = live.serial
        if serial in self._sent and serial > self.confirmed:
            self.confirmed = serial
            # What was given up in between and came back is live from here on only.
            lasted = self._live.intersection(*(held for number, held in self._sent.items() if number <= serial))
            self._live = self._sent[serial]
            self._since = {profile: self._since[profile] if profile in lasted else live for profile in self._live}
            self._sent = {number: held for number, held in self._sent.items() if number >= serial}

    def unsure(self, profile: ProfileText) -> dict[str, int]:
        """Sources that may not have known of it yet when it became live → the plan they have to follow first."""
        live = self._serving(profile)
        return dict.fromkeys(live.unsure, live.epoch) if live is not None else {}

    def serves(self, profile: ProfileText) -> dict[str, int] | None:
        """Behind which positions all messages that match it come here, and go on coming; None where not all do."""
        live = self._serving(profile)
        return dict(live.positions) if live is not None else None

    def _serving(self, profile: ProfileText) -> Live | None:
        known = self._lasting()
        for wide in (profile, *self.profiles):
            if wide in known and (wide == profile or covers(wide, profile)):
                return self._since[wide]
        return None

    def settle(self, needed: Mapping[ProfileText, float | None]) -> bool:
        """Fit what is asked for to what clients need, each with its bound; has it changed?"""
        live = self._lasting()
        kept = dict.fromkeys(profile for profile in self.profiles if profile in needed)
        kept_live = dict.fromkeys(profile for profile in kept if profile in live)
        added = [profile for profile in needed if profile not in kept and not self._covered(profile, kept_live)]
        # Who lives on a profile that is to leave must be live without it first.
        leaving = [profile for profile in self.profiles if profile not in needed and profile in live]
        waiting = [p for p in kept if p not in kept_live and not self._covered(p, kept_live)] if leaving else []
        stay = [wide for wide in leaving if any(covers(wide, profile) for profile in (*added, *waiting))]
        self._living_on = {profile: wide for profile, wide in self._living_on.items() if profile in needed}
        wanted = (*kept, *added, *stay)
        bounds = tuple(needed.get(profile) for profile in wanted)
        if set(wanted) == set(self.profiles) and dict(zip(wanted, bounds, strict=True)) == self._bounds():
            return False
        self.serial += 1
        self.profiles, self.bounds = wanted, bounds
        self._sent[self.serial] = frozenset(wanted)
        return True

    def _covered(self, profile: ProfileText, wides: Mapping[ProfileText, None]) -> bool:
        if self._living_on.get(profile) in wides:
            return True
        found = next((wide for wide in wides if wide != profile and covers(wide, profile)), None)
        if found is not None:
            self._living_on[profile] = found
        return found is not None

    def _lasting(self) -> frozenset[ProfileText]:
        """What is live, and was asked for ever since: the coordinator cannot have let it go in between."""
        return self._live.intersection(*self._sent.values())

    def _bounds(self) -> dict[ProfileText, float | None]:
        return dict(zip(self.profiles, self.bounds, strict=True))
