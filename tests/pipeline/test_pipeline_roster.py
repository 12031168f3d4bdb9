"""A pipeline runs while subscriptions come and go: it is not held up by that, and everybody has his messages once."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import semcast
from semcast.client import Client
from semcast.dashboard.pipeline import Progress
from semcast.protocol.source.planned_outlet import PlannedOutlet
from semcast.protocol.source.routing import Routes
from semcast.protocol.wire.frames import Append, Refused
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from tests.history.checker import Checker
from tests.history.records import Recorder
from tests.live.overlays import CALM, overlay, until

pytestmark = [pytest.mark.spark, pytest.mark.system]
ROWS, FILES = 240, 6
SYMBOLS = FILES
"""Nobody who comes late wants a part of what another one does."""
CHANGES_HZ = 20


@pytest.mark.timeout(600)
def test_subscriptions_come_and_go_and_no_batch_is_stale_for_that(tmp_path: Path) -> None:
    run(_while_subscriptions_change(tmp_path))


async def _while_subscriptions_change(folder: Path) -> None:
    (folder / "in").mkdir()
    async with (
        overlay(folder, brokers=4, gateways=2, settings=CALM) as up,
        semcast.connect(up.addresses()["c0"]) as client,
    ):
        appends = _Appends(up)
        checker = Checker()
        recorder = Recorder(sink=checker.read)
        readers = _Readers(client, recorder)
        # Whoever wants all is elsewhere: what another one at the same gateway covers is no change of the roster.
        one, other = [name for name, host in up.brokers.items() if host.node.gateway is not None]
        await readers.come("all", "price >= 0", one)
        async with _pipeline(folder, up):
            changes = asyncio.create_task(_changes(client, other))
            for number in range(FILES):
                _drop(folder, number, recorder)
                # Somebody comes while batches run, for what is dropped from now on.
                profile = f"symbol = 'S{number}' AND price >= {ROWS * number}"
                await readers.come(f"late {number}", profile, other)
                await until(lambda due=ROWS * (number + 1): readers.got["all"].total() >= due, 120)  # type: ignore[misc]
            changes.cancel()
            made = (await asyncio.gather(changes, return_exceptions=True))[0]
            assert isinstance(made, asyncio.CancelledError), made
            await until(lambda: sum(batch["rows"] for batch in _batches(folder)) >= ROWS * FILES, 120)
        await asyncio.sleep(1.0)
        readers.tell_matches()
        recorder.end()
        assert [str(fault) for fault in checker.verdict()][:10] == []
        batches = _batches(folder)
        assert [batch["batch"] for batch in batches] == list(range(FILES))  # none was run again
        assert appends.refused == []
        assert appends.behind, "nothing is shown where every message was matched by the newest version"
        print(f"{len(batches)} batches, {appends.count} appends, {appends.behind} by an earlier version of the roster")
        await readers.leave()


class _Appends:
    """What a pipeline appends at the source here, and what becomes of it."""

    def __init__(self, up: Embedded) -> None:
        (source,) = [host.node.source for host in up.brokers.values() if host.node.source is not None]
        assert isinstance(source.outlet, PlannedOutlet)
        outlet, routes = source.outlet, source.outlet.routes
        self.count = self.behind = 0
        self.refused: list[str] = []

        def noted(append: Append) -> list[Routes] | Refused:
            found = routes(append)
            self.count += 1
            self.behind += append.version < outlet.version
            if isinstance(found, Refused):
                self.refused.append(found.reason)
            return found

        outlet.routes = noted  # type: ignore[method-assign]


class _Readers:
    """Subscriptions whose history is judged."""

    def __init__(self, client: Client, recorder: Recorder) -> None:
        self.got: dict[str, Counter[int]] = {}
        self._client, self._recorder = client, recorder
        self._profiles: dict[str, str] = {}
        self._there: list[tuple[semcast.client.Subscription, asyncio.Task[None]]] = []

    async def come(self, name: str, profile: str, gateway: str) -> None:
        self._recorder.subscribe(name, profile, gapless=True)
        subscription = await self._client.subscribe("quotes", profile, gateways=[gateway])
        self._recorder.live(name)
        self._profiles[name], self.got[name] = profile, Counter()

        async def read() -> None:
            async for message in subscription:
                price = int(message.json()["price"])
                self._recorder.deliver(name, str(price), message.source, message.number)
                self.got[name][price] += 1

        self._there.append((subscription, asyncio.create_task(read())))

    def tell_matches(self) -> None:
        """By the arithmetic of ``_drop``, not by a matcher."""
        for name, profile in self._profiles.items():
            symbol, least = (int(name[5:]), ROWS * int(name[5:])) if name != "all" else (None, 0)
            prices = [n for n in range(least, ROWS * FILES) if symbol is None or n % SYMBOLS == symbol]
            self._recorder.matches(profile, map(str, prices))

    async def leave(self) -> None:
        for subscription, reading in self._there:
            await subscription.close()
            await reading


def _drop(folder: Path, number: int, recorder: Recorder) -> None:
    """Another file of messages, all at once."""
    prices = range(ROWS * number, ROWS * (number + 1))
    for price in prices:
        recorder.publish("pipeline", str(price))
    hidden = folder / "in" / f".{number}"
    hidden.write_text("\n".join(json.dumps({"symbol": f"S{price % SYMBOLS}", "price": price}) for price in prices))
    hidden.rename(folder / "in" / f"{number:04}.json")
    for price in prices:
        recorder.ack("pipeline", str(price))  # what is in the folder comes into a log for certain


async def _changes(client: Client, gateway: str) -> None:
    """Subscriptions that come and leave, half of each."""
    number = 0
    while True:
        subscription = await client.subscribe("quotes", f"symbol = 'X' AND price = {number}", gateways=[gateway])
        await asyncio.sleep(1 / CHANGES_HZ)
        await subscription.close()
        await asyncio.sleep(1 / CHANGES_HZ)
        number += 1


def _batches(folder: Path) -> list[dict[str, int]]:
    """Those that had messages."""
    return [batch for batch in Progress(folder / "progress.jsonl").read()["batches"] if batch["rows"]]


@asynccontextmanager
async def _pipeline(folder: Path, up: Embedded) -> AsyncIterator[None]:
    with (folder / "pipeline.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "semcast", "pipeline", "--source", str(folder / "in"), "--format", "json",
            "--stream", "quotes", "--coordinator", f"semcast://{up.addresses()['c0']}",
            "--checkpoint", str(folder / "checkpoint"), "--progress", str(folder / "progress.jsonl"), "--no-plan",
            stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        assert await process.stdout.readline(), (folder / "pipeline.log").read_text()[-3000:]
        yield
        assert process.returncode is None, (folder / "pipeline.log").read_text()[-3000:]
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(120):
            assert await process.wait() == 0, (folder / "pipeline.log").read_text()[-3000:]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
