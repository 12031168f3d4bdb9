"""Drives one machine on an event loop: events in, commands out, commits in another thread.

Which commands wait for which commit is decided by ``protocol.commits``, which the simulator drives too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol

from semcast.protocol.commits import Commits
from semcast.protocol.contract import Command, Continue, Continued, Event, Machine, Synced, Tick
from semcast.storage.database import UnwritableError


class Store(Protocol):
    """What a broker keeps on disk."""

    @property
    def puts(self) -> int:
        """How often notes were put so far."""

    @property
    def unswept(self) -> bool:
        """Would a commit now and then be good, although nothing has to be durable?"""

    def commit(self) -> int:
        """Make everything durable that was put and appended before; the log's position that is. Takes its time."""


class Runner:
    """One machine, its clock and its store. ``do`` is given commands in the order in which the machine gave them."""

    def __init__(
        self,
        machine: Machine,
        do: Callable[[list[Command]], None],
        *,
        tick_s: float,
        failed: Callable[[BaseException], None],
        store: Store | None = None,
        executor: Executor | None = None,
        troubled: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """``troubled`` hears why nothing can be written, each time it is tried in vain, and "" when that is over."""
        self.machine = machine
        self.commits = Commits()
        self._troubled = troubled
        self._do = do
        self._failed = failed
        self._tick_s = tick_s
        self._store, self._executor = store, executor
        self._loop = asyncio.get_running_loop()
        self._over = self._continuing = False
        self._timer: asyncio.TimerHandle | None = None
        self._retrying: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        return self._over

    @property
    def trouble(self) -> str:
        """Why nothing can be written at the moment."""
        return self.commits.trouble

    def start(self) -> None:
        """Let time go by for the machine."""
        self._tick()

    async def stop(self) -> None:
        """No more events; what the store was given is durable when this returns, if it can be written at all."""
        self._over = True
        for timer in (self._timer, self._retrying):
            if timer is not None:
                timer.cancel()
        while self.commits.under_way and not self.trouble:
            await asyncio.sleep(0.005)
        if self._store is not None:
            try:
                await self._loop.run_in_executor(self._executor, self._store.commit)
            except UnwritableError as error:
                self._troubled(str(error))  # nothing of it was acknowledged

    def feed(self, event: Event) -> None:
        """Give the machine an event and do what it says, when that is safe."""
        if self._over or self.trouble:
            return
        puts = self._store.puts if self._store is not None else 0
        try:
            commands = self.machine.handle(event, self._loop.time())
        except Exception as error:
            self.fail(error)
            return
        if any(type(command) is Continue for command in commands):
            commands = [command for command in commands if type(command) is not Continue]
            self._go_on()
        if self._store is None:
            self._do(commands)
        else:
            self._take(commands, self._store.puts > puts)

    def _go_on(self) -> None:
        """Give the machine another turn when all that waits on the loop has had one."""
        if not self._continuing:
            self._continuing = True
            self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        self._continuing = False
        self.feed(Continued())

    def fail(self, error: BaseException) -> None:
        """Something that belongs to the machine has failed: it takes no more events."""
        if not self._over:
            self._over = True
            self._failed(error)

    def _take(self, commands: list[Command], dirty: bool) -> None:
        """Do what the machine says, or hold it until the notes that it rests on are durable."""
        due = self.commits.say(commands, dirty=dirty)
        if due.commands:
            self._do(due.commands)
        if due.write:
            self._write()

    def _tick(self) -> None:
        if self._over:
            return
        self._timer = self._loop.call_later(self._tick_s, self._tick)
        self.feed(Tick())
        if self.trouble:
            return
        if self._store is not None and not self.commits.under_way and self._store.unswept:
            self.commits.begin()
            self._write()

    def _write(self) -> None:
        assert self._store is not None
        future = self._loop.run_in_executor(self._executor, self._store.commit)
        future.add_done_callback(self._committed)

    def _committed(self, future: asyncio.Future[int]) -> None:
        error = future.exception()
        if isinstance(error, UnwritableError) and not self._over:
            self._try_again(str(error))
            return
        if error is not None:
            self.commits.give_up()
            self.fail(error)
            return
        if self.trouble:
            self._troubled("")
        due = self.commits.finish()
        if due.write:
            self._write()
        if due.commands:
            self._do(due.commands)
        if not self._over:
            self.feed(Synced(future.result()))

    def _try_again(self, reason: str) -> None:
        """What could not be written waits, and all that rests on it."""
        pause_s = self.commits.fail(reason)
        self._troubled(reason)
        self._retrying = self._loop.call_later(pause_s, self._write)
