"""Processes of a semantic network that are killed: interests come back to them, and packets flow again."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from pathlib import Path

import pytest

import semcast
from semcast.server.serve import run
from tests.live.deployments import Deployment, running
from tests.live.overlays import until
from tests.live.routers import CONFIG, figure_4_1, written
from tests.live.watchers import PythonWatcher, SocketWatcher
from tests.protocol.semantic_network import packet

pytestmark = pytest.mark.system


def test_a_router_that_is_killed_learns_everything_again_and_packets_flow(tmp_path: Path) -> None:
    run(_killed(tmp_path))


async def _killed(folder: Path) -> None:
    file = written(folder, figure_4_1(), CONFIG.replace("dead_s = 30", ""))
    async with running(file) as up, semcast.connect(up.addresses["c0"]) as client:
        alice = PythonWatcher(client, "A", "s", ["6"])
        bob = SocketWatcher(lambda: up.addresses["8"], "or {A; B}", "s")
        await alice.live()
        await bob.live()
        numbers, sent = count(), Counter[str]()

        async def flows() -> bool:
            """A packet that both want, and one that nobody does: have all that was sent just now come?"""
            number = next(numbers)
            both, nobody = (packet(name).replace("/></rdf", f">{number}</{name}></rdf") for name in ("A", "C"))
            sent[both] += 1
            await client.publish("s", both, source="1")
            await client.publish("s", nobody, source="1")
            for _ in range(10):
                if alice.got[both] and bob.got[both]:
                    return True
                await asyncio.sleep(0.1)
            return False

        await until(flows)
        for victim in ("4", "8", "6", "1"):
            await up.kill(victim)
            await until(flows)
            await until(lambda victim=victim: filtering(up, victim))  # type: ignore[misc]
        for watcher in (alice, bob):
            assert watcher.got <= sent, "nobody gets what it does not want, or twice"
            await watcher.stop()


async def filtering(up: Deployment, name: str) -> bool:
    """Has a router the filters of all ports again behind which something is wanted?"""
    async with semcast.connect(up.addresses[name]) as client:
        found = (await client.ask("status"))["router"]["filters"]
    return bool(found == (2 if name == "4" else 1))
