"""How much of a stream each profile asks for, counted on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from semcast.matching import parsed
from semcast.pipeline.match import shared

_MOST = 1 << 16  # messages that more profiles match are counted with those of this many


class Demand(NamedTuple):
    """Messages per profile, and how many messages are matched by 0, 1, 2, … profiles."""

    messages_per_profile: NDArray[np.int64]
    messages_by_interest: NDArray[np.int64]


def demand(df: DataFrame, profiles: Sequence[Any], *, language: str | None = None) -> Demand:
    """Match ``df`` and count; only the counts leave the workers."""
    chosen, given = parsed(profiles, language)
    total = len(given)
    load = shared(df.sparkSession, chosen.matcher(given))

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = load()
        per_profile, by_interest = np.zeros(total, np.int64), np.zeros(_MOST + 1, np.int64)
        for batch in batches:
            matches = matcher.match(batch)
            per_profile += np.bincount(matches.indices, minlength=total)
            by_interest += np.bincount(np.minimum(matches.counts(), _MOST), minlength=_MOST + 1)
        yield pa.RecordBatch.from_pydict(
            {"profiles": pa.array([per_profile.tobytes()]), "interest": pa.array([by_interest.tobytes()])}
        )

    per_profile, by_interest = np.zeros(total, np.int64), np.zeros(_MOST + 1, np.int64)
    for row in df.mapInArrow(count, "profiles binary, interest binary").collect():
        per_profile += np.frombuffer(row["profiles"], np.int64)
        by_interest += np.frombuffer(row["interest"], np.int64)
    return Demand(per_profile, by_interest[: np.flatnonzero(by_interest).max(initial=0) + 1])
