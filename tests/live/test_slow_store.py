"""A coordinator whose store takes 2 s per call, on real sockets: leases, heartbeats and publishing go on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

import semcast
from semcast.server.embedded import Embedded
from semcast.server.serve import run
from semcast.storage.coordinator_store import SqliteCoordinatorStore
from tests.live.overlays import overlay

_CALL_S = 2.0
"""Longer than a heartbeat's beat, as long as a lease; a lead lasts 3 s."""
_WATCHED_S = 14.0


def test_a_store_of_two_seconds_a_call_pauses_no_source_and_a_subscription_goes_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_everything_goes_on(tmp_path, monkeypatch))


def _slow_down(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every call to the store take its time; the names of those that were made."""
    made: list[str] = []
    for name in ("lead", "commit", "read"):
        plain = getattr(SqliteCoordinatorStore, name)

        def slow(self: SqliteCoordinatorStore, *given: object, plain: object = plain, name: str = name) -> object:
            made.append(name)
            time.sleep(_CALL_S)
            return plain(self, *given)  # type: ignore[operator]

        monkeypatch.setattr(SqliteCoordinatorStore, name, slow)
    return made


async def _everything_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with overlay(folder, brokers=4, gateways=2) as whole:
        host = whole.coordinators["c0"]
        term = host.machine.term
        calls = _slow_down(monkeypatch)
        async with semcast.connect(host.address) as client:
            began = time.monotonic()
            watching = asyncio.ensure_future(_watched(whole))
            subscription = client.subscribe("topics", "a")
            live = asyncio.ensure_future(subscription.live())
            slowest_s, published = 0.0, 0
            while time.monotonic() - began < _WATCHED_S or not live.done():
                assert time.monotonic() - began < 40, "the subscription does not go live"
                asked = time.monotonic()
                await client.publish("topics", b"x", topic="b")
                slowest_s = max(slowest_s, time.monotonic() - asked)
                published += 1
                await asyncio.sleep(0.05)
            await live
            watching.cancel()
            paused, away = await watching
            await client.publish("topics", b"y", topic="a")
            assert (await subscription.__anext__()).payload == b"y"
            await subscription.close()
        assert paused == set(), "sources without a lease"
        assert away == set(), "brokers that were called dead"
        assert slowest_s < 1.0
        assert published > 100
        assert host.machine.term == term
        assert {"lead", "commit"} <= set(calls)
        assert host.turns.longest_s < 1.0


async def _watched(whole: Embedded) -> tuple[set[str], set[str]]:
    """Sources that had no lease at some moment, and brokers that the plan once did without; until it is cancelled."""
    paused: set[str] = set()
    away: set[str] = set()
    loop = asyncio.get_running_loop()
    machine = whole.coordinators["c0"].machine
    try:
        while True:
            for name, host in whole.brokers.items():
                source = host.node.source
                if source is not None and not source.leased(loop.time()):
                    paused.add(name)
            deployment = machine.deployment
            away |= set(whole.brokers) - set(deployment.brokers if deployment is not None else ())
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        return paused, away
