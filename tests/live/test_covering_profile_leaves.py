"""A profile that covers many others is given up: they go on without a break, and nobody else waits meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semcast.server.serve import run
from tests.history.checker import Checker
from tests.history.records import Recorder
from tests.live.deployments import Deployment, opened, running
from tests.live.keyed import ALL, KeyedAudience, KeyedMessages
from tests.live.members import settled, turns_above
from tests.live.overlays import until, written

pytestmark = pytest.mark.system
ROLES_APART = 3


@dataclass(frozen=True)
class Covered:
    """How many profiles one covers, and how long the event loop of a member may work at a time."""

    count: int
    rate_hz: float
    longest_turn_s: float
    patience_s: float


@pytest.mark.parametrize(
    "covered",
    [
        pytest.param(Covered(400, 1000.0, 0.1, 60.0), id="hundreds"),
        pytest.param(
            Covered(20_000, 500.0, 0.02, 600.0), id="thousands", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]
        ),
    ],
)
def test_those_that_lived_on_it_miss_nothing_and_are_live_by_themselves(tmp_path: Path, covered: Covered) -> None:
    run(_the_covering_one_leaves(tmp_path, covered))


async def _the_covering_one_leaves(folder: Path, covered: Covered) -> None:
    async with running(written(folder, brokers=4, sources=1, gateways=2, seed=ROLES_APART)) as up:
        plans = (await settled(up.ask, up.having("gateway")))["notes"]["plan"]
        gateway = up.having("gateway")[0]
        client = await opened(up.addresses[gateway])
        checker = Checker()
        recorder = Recorder(sink=checker.read)
        messages = KeyedMessages(client, up.having("source"), recorder)
        audience = KeyedAudience(messages, recorder)
        audience.join(client, ALL)
        await audience.all_live()
        keys = [f"k-{n}" for n in range(covered.count)]
        await audience.arrive([client], keys, covered.count / 2000)
        await audience.all_live(covered.patience_s)
        before = await _status(up)
        assert before["subscriptions"] == 1  # all live on the one that covers them
        rng = np.random.default_rng(3)
        messages.begin(lambda: keys[rng.integers(len(keys))], covered.rate_hz)
        await asyncio.sleep(0.5)
        long = await _long_turns(up, covered)
        await audience.leave([ALL])
        await until(lambda: _alone(up, covered.count), covered.patience_s, every_s=0.2)
        await asyncio.sleep(0.5)
        await messages.durable()
        after = await _status(up)
        assert await _long_turns(up, covered) == long
        assert after["version"] == before["version"] + covered.count + 1  # each is asked for once, and one has gone
        assert after["notes"]["plan"] == plans
        for key in keys:
            await messages.publish(key)
        await messages.durable()
        await audience.judged(checker, covered.patience_s)
        await client.close()


async def _alone(up: Deployment, count: int) -> bool:
    """Does the coordinator know of each of them, and of nothing else?"""
    return bool((await _status(up))["subscriptions"] == count)


async def _status(up: Deployment) -> dict[str, Any]:
    status: dict[str, Any] = await up.ask("status")
    return status


async def _long_turns(up: Deployment, covered: Covered) -> dict[str, int]:
    return {name: await turns_above(address, covered.longest_turn_s) for name, address in up.addresses.items()}
