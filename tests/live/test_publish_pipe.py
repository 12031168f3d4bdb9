"""``semcast publish`` at the end of a pipe that stays open."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import semcast
from semcast.protocol.contract import Command
from semcast.protocol.wire.frames import Publish
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from tests.live.overlays import CALM, overlay, until

pytestmark = pytest.mark.system

PATIENCE_S = 60.0


def quote(price: int) -> bytes:
    return b'{"symbol": "A", "price": %d}\n' % price


@asynccontextmanager
async def publishing(url: str, *words: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "semcast", "publish", "quotes", *words, stdin=PIPE, stdout=PIPE, stderr=PIPE,
        env={**os.environ, "SEMCAST_URL": url},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def url_of(whole: Embedded) -> str:
    return f"semcast://{whole.coordinators['c0'].address}"


async def said_on(process: Process, number: signal.Signals) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that gets a signal while its stdin is open."""
    assert process.stdout is not None
    assert process.stderr is not None
    process.send_signal(number)
    async with asyncio.timeout(PATIENCE_S):
        out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
        return await process.wait(), out.decode(), err.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_line_arrives_while_the_pipe_is_open_and_the_end_tells_how_many_did(
    tmp_path: Path, number: signal.Signals
) -> None:
    run(_line_by_line(tmp_path, number))


async def _line_by_line(folder: Path, number: signal.Signals) -> None:
    async with overlay(folder, brokers=4, gateways=1, settings=CALM) as whole, semcast.connect(url_of(whole)) as client:
        subscription = client.subscribe("quotes", "price > 0")
        await subscription.live()
        async with publishing(url_of(whole), "--json") as process:
            assert process.stdin is not None
            for price in (1, 2, 3):
                process.stdin.write(quote(price))
                async with asyncio.timeout(PATIENCE_S):
                    message = await anext(subscription)
                assert json.loads(message.payload)["price"] == price
            process.stdin.write(b'{"symbol": "half a li')
            await process.stdin.drain()
            code, out, err = await said_on(process, number)
        assert (code, json.loads(out)) == (130, {"published": 3, "refused": 0, "last": message.id})
        assert err == f"3 messages are durable, the last is {message.id}; 0 were refused\nerror: interrupted\n"


def test_what_is_not_confirmed_shortly_after_the_end_is_counted_apart(tmp_path: Path) -> None:
    run(_unconfirmed(tmp_path))


async def _unconfirmed(folder: Path) -> None:
    async with overlay(folder, brokers=4, gateways=1, settings=CALM) as whole:
        source = next(host.node.source for host in whole.brokers.values() if host.node.source is not None)
        async with publishing(url_of(whole)) as process:
            assert process.stdin is not None
            process.stdin.write(quote(1))
            while source.log.end < 1:
                await asyncio.sleep(0.02)
            said: set[int] = set()

            def deaf(publish: Publish, *_: object) -> list[Command]:
                """It is there, and takes nothing in."""
                said.update(range(publish.first, publish.first + len(publish.messages)))
                return []

            source.publish = deaf  # type: ignore[assignment, method-assign]
            process.stdin.write(quote(2) + quote(3))
            await process.stdin.drain()
            await until(lambda: len(said) == 2)
            code, _, err = await said_on(process, signal.SIGINT)
        assert code == 130
        assert "1 message is durable" in err
        assert "; 2 were not confirmed\n" in err
        assert "Traceback" not in err
