"""Every scheme on real sockets: who gets what, and what goes over the links, as predicted."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import semcast
from semcast.client import Client, Received, Subscription
from semcast.model.message import Message
from semcast.protocol.filters import Filter
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from semcast.sim.scenario import CHANNEL_SCHEMES
from tests.live.overlays import CALM, overlay, settled, taken, until
from tests.live.topics import expected
from tests.simulator.predicted import predicted


def topic(rng: np.random.Generator) -> str:
    return "/".join(rng.choice(["a", "b", "c"], 3))


def wanted(rng: np.random.Generator) -> str:
    parts = [str(part) for part in rng.choice(["a", "b", "c", "*"], int(rng.integers(1, 4)))]
    return "/".join(["a" if parts[0] == "*" else parts[0], *parts[1:]])


class Watcher:
    """A subscription that is read all the time."""

    def __init__(self, client: Client, profile: str, **options: object) -> None:
        self.profile = profile
        self.got: list[Received] = []
        self.subscription: Subscription = client.subscribe("topics", profile, **options)  # type: ignore[arg-type]
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self.subscription:
            self.got.append(message)

    async def stop(self) -> None:
        await self.subscription.close()
        await self._task


async def publish(client: Client, messages: list[Message]) -> None:
    await client.publisher().publish_all(messages)


def counted(whole: Embedded) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for name, host in whole.brokers.items():
        for other, meter in host.links.items():
            found[min(name, other), max(name, other)] += meter.messages_out
    return found


@pytest.mark.parametrize("scheme", CHANNEL_SCHEMES)
def test_each_gets_its_messages_once_and_links_carry_what_was_predicted(scheme: str, tmp_path: Path) -> None:
    run(_each_gets_its_messages(scheme, tmp_path))


async def _each_gets_its_messages(scheme: str, folder: Path) -> None:
    rng = np.random.default_rng(3)
    async with overlay(folder, scheme=scheme, brokers=10, gateways=5, settings=CALM) as whole:
        addresses = whole.addresses()
        gateways = [name for name, host in whole.brokers.items() if "gateway" in host.roles]
        clients = [semcast.connect(addresses[name]) for name in gateways]
        for client in clients:
            await client.open()
        watchers = [Watcher(clients[n % len(clients)], wanted(rng)) for n in range(12)]
        await asyncio.gather(*(watcher.subscription.live() for watcher in watchers))
        early = [clients[0].message("topics", f"early {n}", topic=topic(rng)) for n in range(150)]
        await publish(clients[0], early)
        assert whole.coordinators["c0"].reorganise()
        await until(lambda: whole.coordinators["c0"].notes["epoch"] > 0 and settled(whole))
        await asyncio.sleep(0.5)
        await until(lambda: settled(whole))
        deployment = whole.coordinators["c0"].machine.deployment
        assert deployment is not None
        before = counted(whole)
        late = [clients[0].message("topics", f"late {n}", topic=topic(rng)) for n in range(250)]
        await publish(clients[0], late)
        for watcher in watchers:
            due = expected(watcher.profile, early + late)
            await until(lambda watcher=watcher, due=due: len(watcher.got) >= due.total())  # type: ignore[misc]
        await until(lambda: taken(whole))
        for watcher in watchers:
            assert Counter(m.payload.decode() for m in watcher.got) == expected(watcher.profile, early + late)
        assert whole.coordinators["c0"].machine.deployment == deployment, "the plan changed while it was judged"
        (source,) = [name for name, host in whole.brokers.items() if host.node.source is not None]
        matched = Filter(deployment.profiles).match(late)
        assert counted(whole) - before == predicted(deployment, whole.deployed.topology, source, matched)
        for watcher in watchers:
            await watcher.stop()
        for client in clients:
            await client.close()
