"""Servers in the foreground: until they are told to stop, or cannot go on."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Stoppable(Protocol):
    async def stop(self) -> None: ...


_YOUNG = 5000
"""Objects that are made before the youngest are looked at."""
_COLLECT_S, _SELDOM = 60.0, 2000
"""Between collections of everything: so long, and so many times the time that the last one took."""
_TRIM, _PAD, _MMAP = -1, -2, -3  # of mallopt


def keep_memory() -> None:
    """Let the C library keep freed memory for the next pieces that are passed on.

    By default it gives large blocks back at once and asks for them again, page by page: half of a busy broker's time.
    """
    with contextlib.suppress(OSError, AttributeError):  # other C libraries have no such thing
        tune = ctypes.CDLL(None).mallopt
        tune(_MMAP, 32 << 20)
        tune(_TRIM, 64 << 20)
        tune(_PAD, 4 << 20)


@cache
def collect_seldom() -> None:
    """Let the garbage collector leave old objects alone: a hundred thousand sessions take it a third of a second.

    Counting references frees nearly everything. What refers to itself is looked for in a thread, the less often the
    longer it takes.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(max(young, _YOUNG), middle, 1 << 30)
    threading.Thread(target=_collect, name="semcast-collector", daemon=True).start()


def _collect() -> None:
    took_s = 0.0
    while True:
        time.sleep(max(_COLLECT_S, _SELDOM * took_s))
        begun = time.thread_time()
        gc.collect()
        took_s = time.thread_time() - begun


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on the fastest event loop that there is."""
    keep_memory()
    collect_seldom()
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


def log_to_stderr(verbose: bool) -> None:
    """What servers tell goes to stderr, a line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    logger = logging.getLogger("semcast")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)


class Ending:
    """Becomes done by SIGINT, SIGTERM, a terminal that is closed (unless under nohup), or a part that fails."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self.end)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            self._loop.add_signal_handler(signal.SIGHUP, self.end)

    def end(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

    def failed(self, name: str, error: BaseException) -> None:
        if not self._done.done():
            self._done.set_exception(error)

    @property
    def over(self) -> bool:
        return self._done.done()

    async def wait(self) -> None:
        """Returns when somebody wants the end; raises what a part failed with."""
        await self._done


async def serve(start: Callable[[Ending], Awaitable[Stoppable]], ready: Callable[[Any], None]) -> None:
    """Start something, tell that it is ready, and stop it cleanly when the end comes."""
    ending = Ending()
    starting = asyncio.ensure_future(start(ending))
    stopped = asyncio.ensure_future(ending.wait())
    await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():  # it may wait for a disk, or for somebody who does not answer
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        await stopped
        return
    served = await starting
    try:
        ready(served)
        await stopped
    finally:
        await served.stop()
