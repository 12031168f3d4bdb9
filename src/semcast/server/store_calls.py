"""A coordinator's calls to its store, in threads: no event loop waits for a database.

Requests for the lead have threads of their own, so that none of them waits behind a commit, or behind another that
takes long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from semcast.protocol.contract import (
    AskLead,
    CommitStore,
    LeadAnswered,
    ReadStore,
    StoreCommand,
    StoreCommitted,
    StoreEvent,
    StoreFailed,
    StoreRead,
)
from semcast.protocol.coordinator.ledger import Ledger
from semcast.protocol.settings import Settings
from semcast.protocol.stores import CoordinatorStore, FencedError, UnreachableError

_LEADS = 12
"""Requests for the lead at a time; as many as a coordinator has under way."""
_PATIENCE_S = 3.0
"""How long the end waits for calls that are under way."""


class StoreThreads:
    """Makes calls and gives ``feed`` what comes of them; ``fail`` hears of a store that cannot be used at all."""

    def __init__(
        self,
        store: CoordinatorStore,
        feed: Callable[[StoreEvent], None],
        fail: Callable[[BaseException], None],
        settings: Settings,
    ) -> None:
        self._store, self._feed, self._fail, self._settings = store, feed, fail, settings
        self._loop = asyncio.get_running_loop()
        self._leads = ThreadPoolExecutor(_LEADS, "store-lead")
        self._others = ThreadPoolExecutor(1, "store")
        self._under_way: set[asyncio.Future[StoreEvent]] = set()
        self._over = False

    def make(self, command: StoreCommand) -> None:
        """Begin a call."""
        if self._over:
            return
        threads = self._leads if isinstance(command, AskLead) else self._others
        future = self._loop.run_in_executor(threads, partial(_read_through, self._store, command, self._settings))
        self._under_way.add(future)
        future.add_done_callback(self._done)

    async def stop(self) -> None:
        """No more calls; those under way are over when this returns, unless they take very long."""
        self._over = True
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=_PATIENCE_S)
        for threads in (self._leads, self._others):
            threads.shutdown(wait=False, cancel_futures=True)

    def _done(self, future: asyncio.Future[StoreEvent]) -> None:
        self._under_way.discard(future)
        if future.cancelled():
            return
        error = future.exception()
        if self._over:
            return
        if error is not None:
            self._fail(error)
        else:
            self._feed(future.result())


def _read_through(store: CoordinatorStore, command: StoreCommand, settings: Settings) -> StoreEvent:
    """The answer to a call; what was read is made a ledger right here, since a hundred thousand rows take a second."""
    answer = answer_of(store, command)
    if isinstance(answer, StoreRead):
        return StoreRead(answer.number, answer.values, Ledger.of(answer.values, settings))
    return answer


def answer_of(store: CoordinatorStore, command: StoreCommand) -> StoreEvent:
    """Make a call and say what came of it; raises what no other try would change."""
    try:
        match command:
            case AskLead(number, who, lease_s, above):
                return LeadAnswered(number, store.lead(who, lease_s, above))
            case ReadStore(number):
                return StoreRead(number, store.read())
            case CommitStore(number, term, changes):
                store.commit(term, changes)
                return StoreCommitted(number)
    except FencedError as error:
        return StoreFailed(command.number, True, str(error))
    except UnreachableError as error:
        return StoreFailed(command.number, False, str(error))
