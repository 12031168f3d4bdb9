"""Members are killed while subscriptions arrive: all become live, and everybody has exactly what is his."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from semcast.server.serve import run
from tests.history.checker import Checker
from tests.history.records import Recorder
from tests.live.deployments import Deployment, opened
from tests.live.keyed import KeyedAudience, KeyedMessages
from tests.live.overlays import until, written
from tests.pipeline.overlays import running

pytestmark = pytest.mark.system
ROLES_APART = 3
"""A seed for four brokers of which each has one role."""


@dataclass(frozen=True)
class Arrivals:
    """How many subscriptions come, in how many seconds."""

    count: int
    seconds: float
    rate_hz: float
    """Of messages meanwhile."""
    patience_s: float


SMALL = Arrivals(600, 3.0, 200.0, 60.0)
LARGE = Arrivals(10_000, 20.0, 500.0, 600.0)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    file = written(tmp_path_factory.mktemp("killed"), brokers=4, sources=1, gateways=2, seed=ROLES_APART)
    with running(file, "--processes") as addresses:
        yield Deployment(file, addresses)


@pytest.mark.parametrize(
    "arrivals",
    [
        pytest.param(SMALL, id="hundreds"),
        pytest.param(LARGE, id="ten-thousand", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
@pytest.mark.parametrize("role", ["coordinator", "gateway", "source"])
def test_all_become_live_and_miss_nothing_whoever_is_killed(up: Deployment, role: str, arrivals: Arrivals) -> None:
    run(_killed_while_they_arrive(up, role, arrivals))


async def _killed_while_they_arrive(up: Deployment, role: str, arrivals: Arrivals) -> None:
    assert all(len(roles) <= 1 for roles in up.roles.values()), up.roles
    gateways = up.having("gateway")
    victim = "c0" if role == "coordinator" else up.having(role)[0]
    clients = [await opened(up.addresses[name]) for name in gateways]
    checker = Checker()
    recorder = Recorder(sink=checker.read)
    messages = KeyedMessages(clients[1], up.having("source"), recorder)
    audience = KeyedAudience(messages, recorder)
    keys = [f"{role}-{n}" for n in range(arrivals.count)]
    rng = np.random.default_rng(7)
    messages.begin(lambda: keys[rng.integers(len(keys))], arrivals.rate_hz)
    arriving = asyncio.create_task(audience.arrive(clients, keys, arrivals.seconds))
    await until(lambda: len(audience.live) >= len(keys) // 4, arrivals.patience_s, every_s=0.01)
    assert len(audience.subscriptions) < len(keys), "nothing is shown where all have come before"
    await up.kill(victim)
    await arriving
    await audience.all_live(arrivals.patience_s)
    await messages.durable()
    for key in keys * 2:
        await messages.publish(key)
    await messages.durable()
    await audience.judged(checker, arrivals.patience_s)
    await _known(up, len(keys), arrivals.patience_s)
    await audience.leave(keys)
    await _known(up, 0, arrivals.patience_s)
    for client in clients:
        await client.close()


async def _known(up: Deployment, subscriptions: int, patience_s: float) -> None:
    """Wait until the coordinator knows of so many: no two of them share a profile, and none covers another."""

    async def asked() -> bool:
        status = await up.ask("status")
        return status is not None and status["subscriptions"] == subscriptions

    await until(asked, patience_s, every_s=0.3)
