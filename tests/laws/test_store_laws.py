"""Stores on disk answer as those in memory do, also after crashes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from semcast.protocol.stores import CoordinatorStore, FencedError, Record
from semcast.sim.stores import MemoryCoordinatorStore, MemoryLog, MemoryNotes
from semcast.storage.broker_store import BrokerStore
from semcast.storage.chunks import CHUNK_BYTES, CHUNK_RECORDS
from semcast.storage.coordinator_store import SqliteCoordinatorStore
from semcast.storage.log import SqliteLog
from semcast.storage.postgres_store import PostgresCoordinatorStore
from tests.postgres import Postgres

ORIGINS = ("a", "b", "c", "d")
NAMES = ("session/1", "session/2", "term")
masks = st.sampled_from((1, 1 << 63, 1 << 64, 1 << 200))
sizes = st.sampled_from((0, 1, 100, CHUNK_BYTES // 2, CHUNK_BYTES))


class BrokersMemory(RuleBasedStateMachine):
    """A broker's store beside the reference; a crash takes from the reference what was not committed."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="semcast-law-"))
        self.memory, self.notes = MemoryLog(), MemoryNotes()
        self.kept: dict[str, bytes] = {}
        """The notes as of the last commit."""
        self.trimmed = 0
        """The same for the trimmed position."""
        self.incarnation = 0

    @initialize(
        recent_bytes=st.sampled_from((1, 2000, 1 << 20)),
        origins=st.integers(1, 5),
        segmented=st.sampled_from((1, 200, 1 << 20)),
        segment_bytes=st.sampled_from((1, 2000, 1 << 20)),
    )
    def begin(self, recent_bytes: int, origins: int, segmented: int, segment_bytes: int) -> None:
        self.recent_bytes, self.origins = recent_bytes, origins
        self.segments = {"segmented": segmented, "segment_bytes": segment_bytes}
        self.open()

    def open(self) -> None:
        self.store = BrokerStore(
            self.folder, source=True, recent_bytes=self.recent_bytes, origins=self.origins, **self.segments
        )
        self.incarnation += 1
        assert self.store.incarnation == self.incarnation
        assert self.store.warnings == ()

    @property
    def log(self) -> SqliteLog:
        assert self.store.log is not None
        return self.store.log

    @rule(
        origin=st.sampled_from(ORIGINS), count=st.sampled_from((0, 1, 2, 5, CHUNK_RECORDS + 1)), mask=masks, size=sizes
    )
    def append(self, origin: str, count: int, mask: int, size: int) -> None:
        end, sequence = self.memory.end, self.memory.high_water(origin)[0] + 1
        size = size if count <= 5 else min(size, 1)
        batch = [
            Record(
                end + 1 + place, origin, sequence + place, 1, ((("c", 1), mask),), (b"%d" % (end + place)).ljust(size)
            )
            for place in range(count)
        ]
        self.memory.append(batch)
        self.log.append(iter(batch))

    @rule(name=st.sampled_from(NAMES), value=st.none() | st.binary(max_size=5))
    def put(self, name: str, value: bytes | None) -> None:
        self.notes.put(name, value)
        self.store.notes.put(name, value)
        assert self.store.notes.dirty

    @rule()
    def commit(self) -> None:
        assert self.store.commit() == self.memory.end
        self.memory.sync(self.memory.end)
        self.kept, self.trimmed = dict(self.notes.items("")), self.memory.trimmed
        assert not self.store.dirty

    @precondition(lambda self: self.memory.synced > self.memory.trimmed)
    @rule(data=st.data())
    def trim(self, data: st.DataObject) -> None:
        through = data.draw(st.integers(self.memory.trimmed, self.memory.synced))
        self.memory.trim(through)
        self.log.trim(through)

    @rule()
    def crash(self) -> None:
        self.store.close()
        survivors, self.memory = self.memory.history[: self.memory.synced], MemoryLog()
        self.memory.append(survivors)
        self.memory.sync(len(survivors))
        self.memory.trim(self.trimmed)
        self.notes = MemoryNotes()
        for name, value in self.kept.items():
            self.notes.put(name, value)
        self.open()

    @rule(first=st.integers(-1, 900), length=st.integers(-1, 700), limit=st.integers(-1, 600))
    def read(self, first: int, length: int, limit: int) -> None:
        first %= self.memory.end + 2
        assert self.log.read(first, first + length, limit) == self.memory.read(first, first + length, limit)

    @rule()
    def verify(self) -> None:
        assert self.store.verify() == self.memory.synced - self.trimmed

    @invariant()
    def agree(self) -> None:
        if self.incarnation == 0:
            return
        assert (self.log.end, self.log.trimmed, self.log.durable) == (
            self.memory.end, self.memory.trimmed, self.memory.synced,
        )  # fmt: skip
        for origin in (*ORIGINS, "nobody"):
            assert self.log.high_water(origin) == self.memory.high_water(origin)
        for prefix in ("", "session/"):
            assert self.store.notes.items(prefix) == self.notes.items(prefix)
        assert [self.store.notes.get(name) for name in NAMES] == [self.notes.get(name) for name in NAMES]

    def teardown(self) -> None:
        if self.incarnation:
            self.store.close()
        shutil.rmtree(self.folder)


TestBrokersMemory = BrokersMemory.TestCase
TestBrokersMemory.settings = settings(max_examples=25, stateful_step_count=30)


class CoordinatorsMemory(RuleBasedStateMachine):
    """Two ways into one store beside the reference; each call takes a moment by the reference's clock.

    Leases either last or are over at once, so that the machine holds for stores with a clock of their own.
    """

    LEASES = (0.0, 3600.0)

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.memory = MemoryCoordinatorStore(lambda: self.now)
        self.begin()
        self.ways = [self.open(), self.open()]

    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="semcast-law-"))

    def open(self) -> CoordinatorStore:
        return SqliteCoordinatorStore(self.folder / "c", now=lambda: self.now)

    def close(self, way: int) -> None:
        store = self.ways[way]
        assert isinstance(store, SqliteCoordinatorStore | PostgresCoordinatorStore)
        store.close()

    @rule(way=st.integers(0, 1), who=st.sampled_from(("a", "b", "c")), data=st.data())
    def lead(self, way: int, who: str, data: st.DataObject) -> None:
        lease_s, back = data.draw(st.sampled_from(self.LEASES)), data.draw(st.sampled_from((-1, 0, 1)))
        self.now += 0.001
        above = max(0, self.memory.term - back)
        assert self.ways[way].lead(who, lease_s, above) == self.memory.lead(who, lease_s, above)

    @rule(
        way=st.integers(0, 1),
        back=st.integers(-1, 2),
        changes=st.dictionaries(st.sampled_from("xyz"), st.none() | st.binary(max_size=3)),
    )
    def commit(self, way: int, back: int, changes: dict[str, bytes | None]) -> None:
        outcomes = []
        for store in (self.memory, self.ways[way]):
            try:
                store.commit(self.memory.term - back, changes)
                outcomes.append("")
            except FencedError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]

    @rule(way=st.integers(0, 1))
    def crash(self, way: int) -> None:
        self.close(way)
        self.ways[way] = self.open()

    @invariant()
    def agree(self) -> None:
        for store in self.ways:
            assert list(store.read().items()) == list(self.memory.read().items())

    def teardown(self) -> None:
        for way in range(2):
            self.close(way)
        shutil.rmtree(self.folder)


class CoordinatorsClock(CoordinatorsMemory):
    """The same where the clock is ours: leases run out in time."""

    LEASES = (0.0, 1.0, 3.0)

    @rule(seconds=st.sampled_from((0.5, 1.0, 2.999, 3.0)))
    def wait(self, seconds: float) -> None:
        self.now += seconds


TestCoordinatorsClock = CoordinatorsClock.TestCase
TestCoordinatorsClock.settings = settings(max_examples=25, stateful_step_count=30)


def test_coordinators_on_postgresql_agree_with_the_reference(postgres: Postgres) -> None:
    class OnPostgres(CoordinatorsMemory):
        def begin(self) -> None:
            self.url = postgres.url()

        def open(self) -> CoordinatorStore:
            return PostgresCoordinatorStore(self.url, timeout_s=60)

        def teardown(self) -> None:
            for way in range(2):
                self.close(way)

    run_state_machine_as_test(OnPostgres, settings=settings(max_examples=15, stateful_step_count=30))  # type: ignore[no-untyped-call]
