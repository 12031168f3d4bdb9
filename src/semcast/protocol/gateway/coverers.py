"""Which live profile covers a new one, found without looking at all of them."""

from __future__ import annotations

from collections.abc import Sequence

from semcast.model.message import ProfileText
from semcast.protocol.profile_texts import LONG, covers


class Coverers:
    """Profiles of any streams and languages that may cover others. Long ones are not compared."""

    def __init__(self) -> None:
        self._held: dict[ProfileText, None] = {}

    def __contains__(self, profile: ProfileText) -> bool:
        return profile in self._held

    def extend(self, profiles: Sequence[ProfileText]) -> None:
        for profile in profiles:
            if len(profile.text) < LONG:
                self._held[profile] = None

    def remove(self, profile: ProfileText) -> None:
        self._held.pop(profile, None)

    def find(self, profiles: Sequence[ProfileText]) -> list[ProfileText | None]:
        """Per profile one that covers it, itself apart; None where none was found."""
        return [
            next((wide for wide in self._held if wide != profile and covers(wide, profile)), None)
            for profile in profiles
        ]
