"""SemCast's own engine as a contender, and what only it is asked: single messages, building an index."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import semcast
from semcast.matching.matchers import Matcher
from semcast.matching.matches import Matches
from semcast_experiments.bench.race import Keys


class Ours:
    """Batches of Arrow columns, strings among them, through the public matcher; CSR out, one thread."""

    peer = "semcast"
    plan = "index"

    def __init__(self, matcher: Matcher[Any], messages: pa.RecordBatch) -> None:
        self.matcher = matcher
        self.messages = messages
        self.profiles = len(matcher)

    def run(self, count: int) -> int:
        return len(self.matcher.match(self.messages.slice(0, count)))

    def keys(self, count: int) -> Keys:
        return keys_of(self.matcher.match(self.messages.slice(0, count)), self.profiles)


def keys_of(matches: Matches, profiles: int) -> Keys:
    rows = np.repeat(np.arange(matches.rows, dtype=np.int64), matches.counts())
    return rows * profiles + matches.indices


def index_seconds(profiles: Sequence[Any], rounds: int) -> dict[str, float]:
    """Best CPU and wall time to build the index of parsed profiles."""
    times = [_timed(lambda: semcast.language("relational").matcher(profiles)) for _ in range(rounds)]
    return {"cpu": min(cpu for cpu, _ in times), "wall": min(wall for _, wall in times)}


def singles_per_second(ours: Ours, count: int, rounds: int) -> float:
    """Messages per CPU-second when each comes as a batch of its own and its matches are read at once."""
    rows = [
        pa.RecordBatch.from_pylist([row], ours.messages.schema) for row in ours.messages.slice(0, count).to_pylist()
    ]
    match = ours.matcher.match
    expected = ours.matcher.match(ours.messages.slice(0, count)).counts().tolist()
    assert [len(match(row).of(0)) for row in rows] == expected

    def all_rows() -> None:
        for row in rows:
            match(row).of(0)

    return len(rows) / min(_timed(all_rows)[0] for _ in range(rounds))


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds of ``work``; what it made is dropped after the clocks have stopped."""
    cpu, wall = time.process_time(), time.perf_counter()
    made = work()
    taken = time.process_time() - cpu, time.perf_counter() - wall
    del made
    return taken
