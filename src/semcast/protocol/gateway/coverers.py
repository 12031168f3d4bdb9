"""Which live profile covers a new one, found without looking at all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from semcast.matching import language
from semcast.model.message import ProfileText
from semcast.protocol.profile_texts import LONG, parsed

if TYPE_CHECKING:
    from semcast.matching.covering import CoverIndex
    from semcast.matching.matchers import Aside


class Coverers:
    """Profiles of any streams and languages that may cover others. Long ones are not compared."""

    def __init__(self, aside: Aside | None = None) -> None:
        self._aside = aside
        self._indexes: dict[tuple[str, str], CoverIndex[Any, ProfileText]] = {}

    def extend(self, profiles: Sequence[ProfileText]) -> None:
        for where, held in _apart(profiles).items():
            index = self._indexes.get(where)
            if index is None:
                from semcast.matching.covering import (
                    CoverIndex,  # brings numpy, which an interior broker has no use for
                )

                index = self._indexes[where] = CoverIndex(language(where[1]), self._aside)
            index.extend([(profile, parsed(profile.language, profile.text)) for profile in held])

    def remove(self, profile: ProfileText) -> None:
        where = profile.stream, profile.language
        index = self._indexes.get(where)
        if index is not None and profile in index:
            index.remove(profile)
            if not index:
                del self._indexes[where]

    def find(self, profiles: Sequence[ProfileText]) -> list[ProfileText | None]:
        """Per profile one that covers it, itself apart; None where none was found."""
        found: dict[ProfileText, ProfileText | None] = {}
        for where, asked in _apart(profiles).items():
            index = self._indexes.get(where)
            if index is not None:
                wide = index.find([parsed(profile.language, profile.text) for profile in asked], without=asked)
                found |= zip(asked, wide, strict=True)
        return [found.get(profile) for profile in profiles]


def _apart(profiles: Sequence[ProfileText]) -> dict[tuple[str, str], list[ProfileText]]:
    found: dict[tuple[str, str], list[ProfileText]] = {}
    for profile in profiles:
        if len(profile.text) < LONG:
            found.setdefault((profile.stream, profile.language), []).append(profile)
    return found
