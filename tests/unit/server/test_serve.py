"""Servers in the foreground end cleanly, whoever wants it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from semcast.server.serve import serve

WANTED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in WANTED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Server:
    stopped = False

    async def stop(self) -> None:
        self.stopped = True


async def served(number: signal.Signals) -> Server:
    """A server that is sent a signal when it is ready."""
    server = Server()

    async def start(_: object) -> Server:
        return server

    async with asyncio.timeout(60):
        await serve(start, lambda _: os.kill(os.getpid(), number))
    return server


@pytest.mark.parametrize("number", WANTED)
def test_a_signal_stops_a_server_before_it_ends(number: signal.Signals) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert asyncio.run(served(number)).stopped


def test_under_nohup_a_terminal_may_be_closed() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def main() -> Server:
        server = Server()

        async def start(_: object) -> Server:
            return server

        task = asyncio.create_task(serve(start, lambda _: os.kill(os.getpid(), signal.SIGHUP)))
        await asyncio.wait([task], timeout=0.2)
        assert not server.stopped
        os.kill(os.getpid(), signal.SIGTERM)
        await task
        return server

    assert asyncio.run(main()).stopped
