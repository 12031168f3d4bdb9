"""A disk that takes nothing more: a broker waits for it, acknowledges nothing meanwhile, and loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import semcast
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from tests.live.disks import filled
from tests.live.overlays import CALM, deployed, overlay, until

OPTIONS: dict[str, Any] = {"brokers": 4, "gateways": 2, "settings": CALM}
Stuck = Callable[[], AbstractContextManager[None]]


@contextmanager
def limited() -> Iterator[None]:
    """No file may grow beyond a few bytes: every write to a store fails, as on a device that is broken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_broker_whose_device_fails_waits_for_it_and_loses_nothing(tmp_path: Path) -> None:
    run(_nothing_is_lost(tmp_path, limited, "the disk fails"))


def test_a_broker_whose_disk_is_full_waits_for_room_and_loses_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "data" / _source(tmp_path)
    disk.mkdir(parents=True)
    if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)]).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        run(_nothing_is_lost(tmp_path, lambda: filled(disk), "the disk is full"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _source(folder: Path) -> str:
    return next(broker.id for broker in deployed(folder, **OPTIONS).topology.brokers if "source" in broker.roles)


async def _nothing_is_lost(folder: Path, stuck: Stuck, reason: str) -> None:
    async with overlay(folder, **OPTIONS) as whole, semcast.connect(whole.addresses()["c0"]) as client:
        host = whole.brokers[_source(folder)]
        subscription = client.subscribe("topics", "a", ordered=True)
        await subscription.live()
        publisher = client.publisher(host.name)
        await publisher.publish(client.message("topics", b"before", topic="a"))
        with stuck():
            receipt = await publisher.put(client.message("topics", b"meanwhile " + bytes(100_000), topic="a"))
            await until(lambda: reason in host.trouble)
            await until(lambda: reason in publisher.trouble)
            assert "nothing can be stored at" in publisher.trouble
            assert any(reason in why for why in await _unhealthy(whole, host.name))
            assert not receipt.done()
        await receipt
        assert host.trouble == ""
        await publisher.publish(client.message("topics", b"after", topic="a"))
        got = [(await subscription.__anext__()).payload.split()[0] for _ in range(3)]
        assert got == [b"before", b"meanwhile", b"after"]
        assert host.store.verify() >= 1
        assert await _unhealthy(whole, host.name) == []
        await subscription.close()


async def _unhealthy(whole: Embedded, name: str) -> list[str]:
    """What /healthz complains of."""

    def asked() -> list[str]:
        try:
            with urllib.request.urlopen(f"http://{whole.addresses()[name]}/healthz") as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            found = json.load(error)
        return list(found["reasons"])

    return await asyncio.to_thread(asked)
