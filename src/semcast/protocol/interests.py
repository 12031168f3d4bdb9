"""What a gateway asks the coordinator for on behalf of its clients: as little as covers them all.

A profile that a live one covers is live at once (2004 §3.1). When the covering profile is no longer asked for, it stays
until those that lived on it are live by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from semcast.model.message import ProfileText
from semcast.protocol.filters import covers


class InterestSet:
    """Profiles that the coordinator knows of, or is to know of; ``serial`` counts changes."""

    def __init__(self) -> None:
        self.serial = 0
        self.profiles: tuple[ProfileText, ...] = ()
        self.bounds: tuple[float | None, ...] = ()
        self.confirmed = -1
        """The newest serial that is live everywhere."""
        self._live: frozenset[ProfileText] = frozenset()
        self._sent: dict[int, frozenset[ProfileText]] = {0: frozenset()}

    @property
    def pending(self) -> bool:
        return self.confirmed < self.serial

    def confirm(self, serial: int) -> None:
        """Everything of a serial is live."""
        if serial in self._sent and serial > self.confirmed:
            self.confirmed = serial
            self._live = self._sent[serial]
            self._sent = {number: held for number, held in self._sent.items() if number >= serial}

    def serves(self, profile: ProfileText) -> bool:
        """Does every message that matches it come here already, and go on coming?"""
        known = self._lasting()
        return profile in known or any(covers(wide, profile) for wide in known)

    def settle(self, needed: Mapping[ProfileText, float | None]) -> bool:
        """Fit what is asked for to what clients need, each with its bound; has it changed?"""
        live = self._lasting()
        kept = [profile for profile in self.profiles if profile in needed]
        kept_live = [profile for profile in kept if profile in live]
        orphans = [p for p in needed if p not in kept_live and not _covered(p, kept_live)]
        added = [profile for profile in orphans if profile not in kept]
        # Who lives on a profile that is to leave must be live without it first.
        leaving = [profile for profile in self.profiles if profile not in needed and profile in live]
        stay = [wide for wide in leaving if any(covers(wide, profile) for profile in orphans)]
        wanted = (*kept, *added, *stay)
        bounds = tuple(needed.get(profile) for profile in wanted)
        if set(wanted) == set(self.profiles) and dict(zip(wanted, bounds, strict=True)) == self._bounds():
            return False
        self.serial += 1
        self.profiles, self.bounds = wanted, bounds
        self._sent[self.serial] = frozenset(wanted)
        return True

    def _lasting(self) -> frozenset[ProfileText]:
        """What is live, and was asked for ever since: the coordinator cannot have let it go in between."""
        return self._live.intersection(*self._sent.values())

    def _bounds(self) -> dict[ProfileText, float | None]:
        return dict(zip(self.profiles, self.bounds, strict=True))


def _covered(profile: ProfileText, others: Iterable[ProfileText]) -> bool:
    return any(wide != profile and covers(wide, profile) for wide in others)
