"""A broker that comes back with nothing: its folder was deleted, or a part of it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

import semcast
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from semcast.storage.broker_store import FILE, INCARNATION
from tests.live.overlays import CALM, overlay, settled, until

pytestmark = pytest.mark.system

PATIENCE_S = 60.0


async def _comes_back(whole: Embedded, name: str, lost: tuple[str, ...]) -> None:
    """Stop a broker, delete files of its folder (all where none is named) and start it again."""
    folder = whole.deployed.folder / name
    before = whole.brokers[name].store.incarnation
    await whole.brokers[name].stop()
    for path in [folder / part for part in lost] or [folder]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    await asyncio.sleep(1.1)  # the floor of incarnations is in seconds
    host = await whole.start_broker(name)
    assert host.store.incarnation > before
    await until(lambda: settled(whole))


@pytest.mark.parametrize("lost", [(), (FILE,), (FILE, INCARNATION)], ids=["all", "the store", "both numbers"])
def test_a_gateway_that_lost_its_folder_is_heard_and_gets_what_is_published(
    tmp_path: Path, lost: tuple[str, ...]
) -> None:
    run(_gateway(tmp_path, lost))


async def _gateway(folder: Path, lost: tuple[str, ...]) -> None:
    async with overlay(folder, brokers=4, gateways=1, settings=CALM) as whole:
        gateway = next(name for name, host in whole.brokers.items() if "gateway" in host.roles)
        for round_ in range(2):
            async with semcast.connect(whole.addresses()[gateway]) as client:
                subscription = client.subscribe("topics", "a")
                async with asyncio.timeout(PATIENCE_S):
                    await subscription.live()
                    for number in range(20):
                        body = b"%d %d" % (round_, number)
                        await client.publish("topics", body, topic="a")
                        assert (await anext(subscription)).payload == body
                await subscription.close()
            await _comes_back(whole, gateway, lost)
