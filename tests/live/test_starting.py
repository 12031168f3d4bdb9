"""Clients of an overlay that is still starting wait for it; and subscribing can be awaited."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import semcast
from semcast.server.embedded import start_broker, start_coordinator
from semcast.server.serve import run
from tests.live.overlays import deployed, overlay

pytestmark = pytest.mark.system


def test_awaiting_a_subscription_gives_it_when_it_is_live(tmp_path: Path) -> None:
    async def whole() -> None:
        async with overlay(tmp_path, brokers=4, gateways=1) as up, semcast.connect(up.addresses()["c0"]) as client:
            subscription = await client.subscribe("topics", "a")
            assert subscription.is_live
            await client.publish("topics", "m", topic="a/b")
            assert (await anext(subscription)).payload == b"m"
            with pytest.raises(semcast.ProfileError):
                await client.subscribe("topics", "*")

    run(whole())


def test_publishing_and_subscribing_wait_for_the_first_source_and_gateway(tmp_path: Path) -> None:
    async def whole() -> None:
        plan = deployed(tmp_path, brokers=4, sources=1, gateways=1)
        coordinator = await start_coordinator(plan, "c0")
        hosts = []
        try:
            async with semcast.connect(coordinator.address) as client:
                live = asyncio.ensure_future(_live(client))
                published = asyncio.create_task(client.publish("topics", "m", topic="a/b"))
                for _ in range(3):  # each is asked behind what those two have asked, and answered behind it
                    await client.ask("status", of="c0")
                assert not live.done()
                assert not published.done()
                for broker in plan.topology.brokers:
                    folder = plan.folder / broker.id
                    hosts.append(await start_broker(broker.id, coordinator.view, folder, "127.0.0.1:0"))
                async with asyncio.timeout(60):
                    subscription = await live
                    await published
                    await client.publish("topics", "n", topic="a/b")
                    while (await anext(subscription)).payload != b"n":
                        pass
        finally:
            for host in hosts:
                await host.stop()
            await coordinator.stop()

    run(whole())


async def _live(client: semcast.client.Client) -> semcast.client.Subscription:
    return await client.subscribe("topics", "a")
