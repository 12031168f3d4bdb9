"""Calls to a coordinators' store in threads: what comes of them, and who waits for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from threading import Event

import pytest

from semcast.protocol.contract import (
    AskLead,
    CommitStore,
    LeadAnswered,
    ReadStore,
    StoreCommitted,
    StoreEvent,
    StoreFailed,
    StoreRead,
)
from semcast.protocol.settings import Settings
from semcast.protocol.stores import FencedError, UnreachableError
from semcast.server.store_calls import StoreThreads, answer_of
from semcast.sim.stores import MemoryCoordinatorStore
from semcast.storage.database import StoreError

PATIENCE_S = 10.0


class Stuck(MemoryCoordinatorStore):
    """A store whose commits wait until they are let go."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.go = Event()
        self.waiting = 0

    def commit(self, term: int, changes: Mapping[str, bytes | None]) -> None:
        self.waiting += 1
        assert self.go.wait(PATIENCE_S)
        super().commit(term, changes)


class Failing(MemoryCoordinatorStore):
    """A store whose reads end in an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(lambda: 0.0)
        self._error = error

    def read(self) -> dict[str, bytes]:
        raise self._error


def test_each_call_ends_in_its_event() -> None:
    store = MemoryCoordinatorStore(lambda: 0.0)
    assert answer_of(store, AskLead(1, "c#1", 3.0, 0)) == LeadAnswered(1, 1)
    assert answer_of(store, AskLead(2, "d#1", 3.0, 0)) == LeadAnswered(2, None)
    assert answer_of(store, CommitStore(3, 1, {"a": b"x"})) == StoreCommitted(3)
    assert answer_of(store, ReadStore(4)) == StoreRead(4, {"a": b"x"})
    assert answer_of(store, AskLead(5, "c#1", 3.0, 1)) == LeadAnswered(5, 2)
    fenced = answer_of(store, CommitStore(6, 1, {"a": b"y"}))
    assert isinstance(fenced, StoreFailed)
    assert (fenced.number, fenced.fenced) == (6, True)


@pytest.mark.parametrize(("error", "fenced"), [(UnreachableError("gone"), False), (FencedError("over"), True)])
def test_what_may_pass_is_told_to_the_machine(error: Exception, fenced: bool) -> None:
    assert answer_of(Failing(error), ReadStore(1)) == StoreFailed(1, fenced, str(error))


def test_requests_for_the_lead_do_not_wait_for_a_commit() -> None:
    async def run() -> None:
        store, heard, failed = Stuck(), list[StoreEvent](), list[BaseException]()
        calls = StoreThreads(store, heard.append, failed.append, Settings())
        calls.make(AskLead(1, "c#1", 3.0, 0))
        await _until(lambda: len(heard) == 1)
        calls.make(CommitStore(2, 1, {"a": b"x"}))
        await _until(lambda: store.waiting == 1)
        for number in range(3, 8):
            calls.make(AskLead(number, "c#1", 3.0, 0))
        await _until(lambda: len(heard) == 6)
        assert {event.number for event in heard} == {1, 3, 4, 5, 6, 7}
        store.go.set()
        await _until(lambda: len(heard) == 7)
        assert (heard[-1], failed) == (StoreCommitted(2), [])
        await calls.stop()

    asyncio.run(run())


def test_a_store_that_is_damaged_ends_the_coordinator() -> None:
    async def run() -> None:
        heard, failed = list[StoreEvent](), list[BaseException]()
        error = StoreError("damaged")
        calls = StoreThreads(Failing(error), heard.append, failed.append, Settings())
        calls.make(ReadStore(1))
        await _until(lambda: failed == [error])
        assert heard == []
        await calls.stop()

    asyncio.run(run())


def test_the_end_waits_for_a_commit_under_way_and_begins_nothing_more() -> None:
    async def run() -> None:
        store, heard = Stuck(), list[StoreEvent]()
        store.lead("c#1", 3.0)
        calls = StoreThreads(store, heard.append, lambda error: None, Settings())
        calls.make(CommitStore(1, 1, {"a": b"x"}))
        await _until(lambda: store.waiting == 1)
        asyncio.get_running_loop().call_later(0.05, store.go.set)
        await calls.stop()
        assert store.read() == {"a": b"x"}
        calls.make(CommitStore(2, 1, {"a": b"y"}))
        assert heard == []

    asyncio.run(run())


async def _until(true: object) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # type: ignore[operator]
            await asyncio.sleep(0.005)
