"""Where messages enter the overlay.

A plan serves one source or several. What a message costs, and under ``masked`` which channel it takes, depends on the
source it comes from, so samples are looked at source by source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.matching.matches import Matches
from semcast.model import SemcastError

Places = NDArray[np.int64]


class Sent(NamedTuple):
    """The messages of a sample that came from one source."""

    source: str
    rows: Places
    matches: Matches


@dataclass(frozen=True, eq=False)
class Origins:
    """The sources, by their brokers, and which of them each message of a sample comes from."""

    sources: tuple[str, ...]
    place: Places
    """Per message the place of its source."""

    @staticmethod
    def of(sources: Sequence[str], place: Places) -> Origins:
        if not sources:
            raise SemcastError("a plan needs a source")
        twice = [source for number, source in enumerate(sources) if source in sources[:number]]
        if twice:
            raise SemcastError(f"the source {twice[0]!r} is named twice")
        return Origins(tuple(sources), place)

    @staticmethod
    def spread(sources: Sequence[str], messages: int) -> Origins:
        """Messages that do not say where they come from: row r comes from source r modulo their number."""
        return Origins.of(sources, np.arange(messages) % max(1, len(sources)))

    def sent(self, matches: Matches) -> Iterator[Sent]:
        """Source by source what it sent, in order; all sources, also those that sent nothing."""
        for number, source in enumerate(self.sources):
            rows = np.flatnonzero(self.place == number)
            yield Sent(source, rows, matches if len(rows) == matches.rows else matches.taken(rows))
