"""Several coordinators (2005 §3.2.5): who keeps what, and how they come together for a reorganisation.

Each coordinator is responsible for some attributes and keeps what concerns the profiles that name any of them; a
profile over several attributes is kept by several. For a reorganisation they put their parts together, and one of them
decides what a single coordinator would have decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from semcast.channels.selectivity import Selectivity
from semcast.matching.matches import Matches


class Share(NamedTuple):
    """What one coordinator knows: some profiles' columns of the selectivity matrix."""

    profiles: tuple[int, ...]
    selectivity: Selectivity
    """Over these profiles, in their order; all messages of the window."""


def responsible(attribute: str, coordinators: int) -> int:
    """Who keeps an attribute: the same for everybody, by its name alone."""
    return crc32(attribute.encode()) % coordinators


def keepers(attributes: Iterable[str], coordinators: int) -> frozenset[int]:
    """Who keeps a profile over these attributes; one that names none is kept by the first."""
    return frozenset(responsible(attribute, coordinators) for attribute in attributes) or frozenset([0])


def shares(selectivity: Selectivity, attributes: Sequence[Iterable[str]], coordinators: int) -> list[Share]:
    """What each coordinator keeps of a matrix over profiles with these attributes."""
    kept = [keepers(own, coordinators) for own in attributes]
    return [_share(selectivity, [p for p, who in enumerate(kept) if one in who]) for one in range(coordinators)]


def synchronised(parts: Sequence[Share], profiles: int) -> Selectivity:
    """The whole matrix, from what all coordinators know; ValueError where a profile is kept by nobody."""
    missing = set(range(profiles)).difference(*(part.profiles for part in parts))
    if missing:
        raise ValueError(f"no coordinator keeps profile {min(missing)}")
    rows: Mapping[int, set[int]] = {row: set() for row in range(parts[0].selectivity.messages)}
    for part in parts:
        for row, column in part.selectivity.matches.pairs().tolist():
            rows[row].add(part.profiles[column])
    matches = Matches.of_rows([sorted(held) for held in rows.values()])
    return Selectivity(matches, profiles, parts[0].selectivity.weights)


def _share(selectivity: Selectivity, profiles: list[int]) -> Share:
    number = np.full(selectivity.profiles, -1)
    number[profiles] = np.arange(len(profiles))
    kept = selectivity.matches.only(number >= 0)
    matches = Matches(kept.indptr, number[kept.indices].astype(np.int32))
    return Share(tuple(profiles), Selectivity(matches, len(profiles), selectivity.weights))
