"""A matcher of interest profiles: the segments of ``segments`` over descriptors that are read once."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import pyarrow as pa

from semcast.matching.matchers import Read
from semcast.matching.matches import Matches
from semcast.matching.payloads import payloads_of
from semcast.matching.segments import SegmentedMatcher
from semcast.matching.semantic.descriptors import Descriptors
from semcast.matching.semantic.engine import SemanticEngine
from semcast.matching.semantic.naive import NaiveEngine
from semcast.matching.semantic.shared import SharedEngine
from semcast.profiles.semantic import InterestProfile

ENGINES: dict[str, type[SemanticEngine]] = {"shared": SharedEngine, "naive": NaiveEngine}


class SemanticMatcher:
    """Match packets against profiles that come and go; indices are never reused.

    ``unreadable`` counts the messages so far whose payload was there and had no content descriptor that could be
    read; ``missing`` counts those without a payload. Both match nothing.
    """

    def __init__(self, engine: str, profiles: Sequence[InterestProfile] = ()) -> None:
        self._segments = SegmentedMatcher[InterestProfile](ENGINES[engine], profiles)
        self._lock = Lock()
        self.unreadable = self.missing = 0

    def __len__(self) -> int:
        return len(self._segments)

    def __getstate__(self) -> dict[str, object]:
        return {"_segments": self._segments, "unreadable": self.unreadable, "missing": self.missing}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def add(self, profile: InterestProfile) -> int:
        """Add a profile and return its index; it is matched from the next batch on."""
        return self._segments.add(profile)

    def extend(self, profiles: Sequence[InterestProfile]) -> range:
        """Add many profiles and return their indices."""
        return self._segments.extend(profiles)

    def remove(self, index: int) -> None:
        """Remove a profile; SemcastError if there is none."""
        self._segments.remove(index)

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        """Match the ``payload`` of every row; what cannot be read matches nothing and is counted."""
        return self.read(batch).matches

    def read(self, batch: pa.RecordBatch | pa.Table) -> Read:
        """Match, and say which rows could not be read, and why."""
        match = self._segments.frozen()
        parts: list[Matches] = []
        unreadable: dict[int, str] = {}
        row = missing = 0
        for descriptors in map(Descriptors, payloads_of(batch)):
            parts.append(match(descriptors))
            unreadable |= {row + at: why for at, why in descriptors.refused.items()}
            missing += descriptors.missing
            row += descriptors.num_rows
        with self._lock:
            self.unreadable += len(unreadable)
            self.missing += missing
        return Read(Matches.stacked(parts) if parts else Matches.none(batch.num_rows), unreadable, missing)
