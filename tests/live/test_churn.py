"""Subscriptions come and go all the time while messages are published: those that stay have exactly what is theirs."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from semcast.client import Client
from semcast.server.serve import run
from tests.history.checker import Checker
from tests.history.records import Recorder
from tests.live.deployments import Deployment, opened, running
from tests.live.keyed import KeyedAudience, KeyedMessages
from tests.live.members import rss_bytes, settled
from tests.live.overlays import until, written

pytestmark = pytest.mark.system
ROLES_APART = 3
SETTLED = 1 / 4
"""Of the time of a test: what a member needs as memory is known by then."""


@dataclass(frozen=True)
class Churn:
    """Half of the changes are subscriptions that come, half are some that leave."""

    changes_hz: float
    seconds: float
    watched: int
    messages_hz: float
    growth: float | None
    """How much the memory of a member may grow once it has settled; None where that takes longer than the test."""
    there: int = 200
    """So many are there beside those that are watched."""


@pytest.mark.parametrize(
    "churn",
    [
        pytest.param(Churn(100, 5, 50, 200, None), id="seconds"),
        pytest.param(
            Churn(500, 300, 200, 500, 1.15, there=1000),
            id="minutes",
            marks=[pytest.mark.slow, pytest.mark.timeout(1800)],
        ),
    ],
)
def test_who_stays_has_exactly_his_messages_while_others_come_and_go(tmp_path: Path, churn: Churn) -> None:
    run(_while_others_come_and_go(tmp_path, churn))


async def _while_others_come_and_go(folder: Path, churn: Churn) -> None:
    async with running(written(folder, brokers=4, sources=1, gateways=2, seed=ROLES_APART)) as up:
        plans = (await settled(up.ask, up.having("gateway")))["notes"]["plan"]
        clients = [await opened(up.addresses[name]) for name in up.having("gateway")]
        checker = Checker()
        recorder = Recorder(sink=checker.read)
        messages = KeyedMessages(clients[0], up.having("source"), recorder)
        watched, others = KeyedAudience(messages, recorder), KeyedAudience(messages, Recorder(sink=lambda record: None))
        keys = [f"w-{n}" for n in range(churn.watched)]
        await watched.arrive(clients, keys, 0.5)
        coming = _Coming(others, clients)
        coming.some(churn.there)
        await watched.all_live()
        await others.all_live()
        rng = np.random.default_rng(5)
        # Every other message is for somebody who comes and goes.
        messages.begin(
            lambda: keys[rng.integers(len(keys))] if rng.random() < 0.5 else coming.one(rng), churn.messages_hz
        )
        grown = asyncio.create_task(_grown(up, churn))
        changed = await coming.and_going(churn)
        assert changed >= churn.changes_hz * churn.seconds * 0.9, "the machine was too busy to show anything"
        await messages.durable()
        await others.all_live()
        for key in [*keys, *others.subscriptions]:
            await messages.publish(key)
        await messages.durable()
        await watched.judged(checker)
        await until(lambda: not others.missing())
        assert all(came <= 1 for got in others.got.values() for came in got.values())
        status = await up.ask("status")
        assert status["subscriptions"] == churn.watched + len(others.subscriptions)
        assert status["notes"]["plan"] == plans
        growth = await grown
        print("memory once settled and at the end, in MB:", growth)
        if churn.growth is not None:
            assert all(after <= churn.growth * before for before, after in growth.values()), growth
        for client in clients:
            await client.close()


class _Coming:
    """Subscriptions with ever new keys; the oldest leave."""

    def __init__(self, audience: KeyedAudience, clients: list[Client]) -> None:
        self._audience, self._clients = audience, clients
        self._numbers = count()
        self._there: deque[str] = deque()

    def some(self, number: int) -> None:
        for _ in range(number):
            place = next(self._numbers)
            self._there.append(f"c-{place}")
            self._audience.join(self._clients[place % len(self._clients)], self._there[-1])

    def one(self, rng: np.random.Generator) -> str:
        """The key of somebody who is there."""
        return self._there[int(rng.integers(len(self._there)))]

    async def and_going(self, churn: Churn) -> int:
        """Come and leave at a steady pace; how often in all."""
        loop = asyncio.get_running_loop()
        began, changed = loop.time(), 0
        leaving: set[asyncio.Task[None]] = set()
        while (now := loop.time()) < began + churn.seconds:
            due = int(churn.changes_hz * (now - began) - changed) // 2
            self.some(due)
            oldest = [self._there.popleft() for _ in range(due)]
            leaving.add(asyncio.create_task(self._audience.leave(oldest)))
            await asyncio.gather(*[task for task in leaving if task.done()])  # where leaving failed, that is raised
            leaving = {task for task in leaving if not task.done()}
            changed += 2 * due
            await asyncio.sleep(0.02)
        await asyncio.gather(*leaving)
        return changed


async def _grown(up: Deployment, churn: Churn) -> dict[str, tuple[int, int]]:
    """Member → its memory when it has settled, and at the end."""
    await asyncio.sleep(SETTLED * churn.seconds)
    before = {name: rss_bytes(up.pid(name)) for name in up.addresses}
    await asyncio.sleep((1 - SETTLED) * churn.seconds)
    return {name: (before[name] >> 20, rss_bytes(up.pid(name)) >> 20) for name in before}
