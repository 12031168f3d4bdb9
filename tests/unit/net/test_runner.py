"""One machine and its store: what is said when, and what happens when the store cannot be written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from semcast.net.runner import Runner
from semcast.protocol.contract import Command, Event, Note, Synced, Tick
from semcast.storage.database import StoreError, UnwritableError


class Saying:
    """A machine that puts a note with every event but Synced, and says its number."""

    def __init__(self, store: Fickle) -> None:
        self.store, self.count = store, 0
        self.synced: list[int] = []

    def handle(self, event: Event, now: float) -> list[Command]:
        if isinstance(event, Synced):
            self.synced.append(event.through)
            return []
        self.count += 1
        self.store.puts += 1
        return [Note(str(self.count))]


class Fickle:
    """A store whose commits fail with what it is given, one after the other."""

    unswept = False

    def __init__(self, *errors: Exception) -> None:
        self.puts = self.commits = 0
        self._errors = list(errors)

    def commit(self) -> int:
        self.commits += 1
        if self._errors:
            raise self._errors.pop(0)
        return self.puts


class Driven:
    def __init__(self, store: Fickle) -> None:
        self.store, self.machine = store, Saying(store)
        self.said: list[str] = []
        self.failures: list[BaseException] = []
        self.troubles: list[str] = []
        self.runner = Runner(
            self.machine, lambda commands: self.said.extend(c.what for c in commands if isinstance(c, Note)),
            tick_s=60.0, failed=self.failures.append, store=store, troubled=self.troubles.append,
        )  # fmt: skip

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            await asyncio.sleep(0.01)


FULL = UnwritableError("the disk is full")


def test_what_rests_on_a_commit_that_failed_is_said_when_it_has_succeeded_and_not_before() -> None:
    async def scene() -> None:
        driven = Driven(Fickle(FULL, FULL))
        driven.runner.feed(Tick())
        await driven.until(lambda: driven.store.commits == 2)
        assert driven.said == []
        await driven.until(lambda: bool(driven.said))
        assert (driven.said, driven.store.commits) == (["1"], 3)
        assert driven.troubles == ["the disk is full", "the disk is full", ""]
        assert driven.failures == []

    asyncio.run(scene())


def test_while_nothing_can_be_written_a_machine_hears_nothing() -> None:
    async def scene() -> None:
        driven = Driven(Fickle(FULL))
        driven.runner.feed(Tick())
        await driven.until(lambda: bool(driven.runner.trouble))
        driven.runner.feed(Tick())
        assert driven.runner.commits.also(Note("beside")) == []
        await driven.until(lambda: not driven.runner.trouble)
        driven.runner.feed(Tick())
        await driven.until(lambda: len(driven.said) == 2)
        assert driven.said == ["1", "2"]

    asyncio.run(scene())


def test_a_damaged_store_ends_it() -> None:
    async def scene() -> None:
        damage = StoreError("damaged")
        driven = Driven(Fickle(damage))
        driven.runner.feed(Tick())
        await driven.until(lambda: bool(driven.failures))
        assert driven.failures == [damage]
        assert driven.runner.over
        assert driven.said == []

    asyncio.run(scene())


def test_who_cannot_write_can_still_be_stopped() -> None:
    async def scene() -> None:
        driven = Driven(Fickle(*[FULL] * 100))
        driven.runner.feed(Tick())
        await driven.until(lambda: bool(driven.runner.trouble))
        await driven.runner.stop()
        assert driven.said == []

    asyncio.run(scene())
