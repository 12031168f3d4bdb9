"""An overlay of processes that are killed while messages flow: everybody has exactly what is his."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

import semcast
from semcast.client import Client
from semcast.net.config import read_config
from semcast.net.serve import run
from tests.live.overlays import until, written
from tests.live.test_schemes import expected
from tests.live.watchers import EventWatcher, MqttWatcher, PythonWatcher, SocketWatcher

pytestmark = pytest.mark.system


class Deployment:
    """``semcast up`` as a process, with all its children."""

    def __init__(self, file: Path, addresses: dict[str, str]) -> None:
        self.deployed = read_config(file)
        self.addresses = addresses

    def pid(self, name: str) -> int:
        return int((self.deployed.folder / name / "pid").read_text())

    async def kill(self, name: str) -> None:
        """kill -9, and wait until another one is there in its place."""
        before = self.pid(name)
        os.kill(before, signal.SIGKILL)
        await until(lambda: self.pid(name) != before)

    def having(self, role: str) -> list[str]:
        return [broker.id for broker in self.deployed.topology.brokers if role in broker.roles]


@asynccontextmanager
async def running(file: Path) -> AsyncIterator[Deployment]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "semcast", "up", str(file), "--processes",
        stdout=asyncio.subprocess.PIPE, stderr=(file.parent / "up.log").open("wb"), start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(120):
            line = await process.stdout.readline()
        assert line, (file.parent / "up.log").read_text()[-3000:]
        yield Deployment(file, json.loads(line)["addresses"])
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(30):
                assert await process.wait() == 0
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            raise


class Rates:
    """How much the overlay of a test has to carry."""

    def __init__(self, messages: int, watchers: int) -> None:
        self.messages, self.watchers = messages, watchers


def test_everybody_has_his_messages_once_whoever_is_killed(tmp_path: Path) -> None:
    run(_everybody_has_his_messages(tmp_path, Rates(20_000, 80)))


def some_topic(rng: np.random.Generator) -> str:
    return f"t/{rng.integers(0, 40)}/{rng.integers(0, 5)}"


def some_profile(rng: np.random.Generator) -> str:
    return f"t/{rng.integers(0, 40)}" if rng.random() < 0.5 else f"t/{rng.integers(0, 40)}/{rng.integers(0, 5)}"


async def _everybody_has_his_messages(folder: Path, rates: Rates) -> None:
    rng = np.random.default_rng(7)
    file = written(folder, brokers=10, sources=2, gateways=4)
    async with running(file) as up:
        gateways, sources = up.having("gateway"), up.having("source")
        clients = [await opened(up.addresses[name]) for name in gateways]
        turns = {at: cycle(gateways[at:] + gateways[:at]) for at in range(len(gateways))}
        watching: list[PythonWatcher | EventWatcher | SocketWatcher | MqttWatcher] = []
        for number in range(rates.watchers):
            at, kind = number % len(gateways), number // len(gateways) % 4
            if kind == 0:
                watching.append(PythonWatcher(clients[at], some_profile(rng)))
            elif kind == 3:
                watching.append(MqttWatcher(up.addresses[gateways[at]], f"watcher-{number}", some_profile(rng)))
            else:
                made_of = EventWatcher if kind == 1 else SocketWatcher
                watching.append(made_of(lambda at=at: up.addresses[next(turns[at])], some_profile(rng)))  # type: ignore[misc]
        async with asyncio.timeout(120):
            await asyncio.gather(*(watcher.live() for watcher in watching))
        made = [clients[0].message("topics", f"m{n}", topic=some_topic(rng)) for n in range(rates.messages)]
        publishing = asyncio.create_task(published(clients[0], sources, made))
        interior = [broker.id for broker in up.deployed.topology.brokers if not broker.roles]
        for victim in (interior[0], gateways[1], sources[0], "c0", gateways[2]):
            await asyncio.sleep(0.5)
            await up.kill(victim)
            await reorganised(up)
        await publishing
        for watcher in watching:
            due = expected(watcher.profile, made)
            await until(lambda watcher=watcher, due=due: due <= watcher.got, 120)  # type: ignore[misc]
        await asyncio.sleep(1.0)
        for watcher in watching:
            due = expected(watcher.profile, made)
            if isinstance(watcher, MqttWatcher):  # QoS 1: all, and some of them maybe twice
                assert due <= watcher.got, watcher.profile
                assert set(due) == set(watcher.got), watcher.profile
            else:
                assert watcher.got == due, (watcher.kind, watcher.profile)
        for kind in (EventWatcher, SocketWatcher):
            assert any(isinstance(watcher, kind) and watcher.breaks for watcher in watching)
        for watcher in watching:
            await watcher.stop()
        for client in clients:
            await client.close()


async def opened(address: str) -> Client:
    client = semcast.connect(address)
    await client.open()
    return client


async def published(client: Client, sources: list[str], messages: list[object]) -> None:
    """Half of them at each source, little by little."""
    receipts = []
    for number, message in enumerate(messages):
        receipts.append(await client.publisher(sources[number % len(sources)]).put(message))  # type: ignore[arg-type]
        if number % 100 == 0:
            await asyncio.sleep(0.1)
    await asyncio.gather(*receipts)


async def reorganised(up: Deployment) -> None:
    """Ask whoever leads for a new plan, as soon as one does."""

    async def asked() -> bool:
        try:
            async with semcast.connect(up.addresses["c0"]) as client:
                return bool(await client.ask("reorganise"))
        except semcast.SemcastError:
            return False

    await until(asked, every_s=0.3)
