"""What runs within a network namespace that loses packets: ``python -m tests.live.lossy FOLDER``."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np

from semcast.server.serve import run
from tests.history.checker import Checker
from tests.history.records import Recorder
from tests.live.deployments import Flow, opened, running
from tests.live.overlays import until, written
from tests.live.topics import expected, some_profile, some_topic
from tests.live.watchers import PythonWatcher

MESSAGES, WATCHERS = 3_000, 24
LOSS = "numgen random mod 100 < 5 counter drop"


def nft(rule: str) -> None:
    subprocess.run(["nft", rule], check=True)


def lose_packets() -> None:
    nft("add table inet test")
    nft("add chain inet test loss { type filter hook input priority 0; }")
    nft("add chain inet test parted { type filter hook input priority 1; }")
    nft(f"add rule inet test loss {LOSS}")


def part(address: str) -> None:
    """Nobody can be reached at this port, and nothing comes from there."""
    port = address.rpartition(":")[2]
    nft(f"add rule inet test parted tcp dport {port} drop")
    nft(f"add rule inet test parted tcp sport {port} drop")


def mend() -> None:
    nft("flush chain inet test parted")


async def main(folder: Path) -> None:
    """Everybody gets his messages over links that lose one packet in twenty, and while brokers are cut off."""
    rng = np.random.default_rng(11)
    async with running(written(folder, brokers=8, sources=2, gateways=3)) as up:
        gateways, sources = up.having("gateway"), up.having("source")
        clients = [await opened(up.addresses[name]) for name in gateways]
        watching = [PythonWatcher(clients[n % len(clients)], some_profile(rng)) for n in range(WATCHERS)]
        await asyncio.gather(*(watcher.live() for watcher in watching))
        checker = Checker()
        recorder = Recorder(sink=checker.read)
        for number, watcher in enumerate(watching):
            watcher.record(recorder, f"w{number}")
        lose_packets()
        made = [clients[0].message("topics", f"m{n}", topic=some_topic(rng)) for n in range(MESSAGES)]
        flow = Flow(clients[0], sources, made, recorder)
        interior = [broker.id for broker in up.deployed.topology.brokers if not broker.roles]
        for victim in (interior[0], gateways[1]):
            part(up.addresses[victim])
            await asyncio.sleep(6.0)
            mend()
            await up.reorganised()
        await flow.done
        for watcher in watching:
            due = expected(watcher.profile, made)
            await until(lambda watcher=watcher, due=due: watcher.got.total() >= due.total(), 180)  # type: ignore[misc]
        await asyncio.sleep(1.0)
        for watcher in watching:
            assert watcher.got == expected(watcher.profile, made), watcher.profile
        topics = {message.payload.decode(): str(message.topic) for message in made}
        recorder.topics([watcher.profile for watcher in watching], topics)
        recorder.end()
        assert [str(fault) for fault in checker.verdict()] == []
        lost = subprocess.run(["nft", "list", "table", "inet", "test"], capture_output=True, text=True).stdout
        assert "packets 0 " not in lost
        print("all have theirs;", " ".join(lost.split()))
        for client in clients:
            await client.close()


if __name__ == "__main__":
    run(main(Path(sys.argv[1])))
