"""A pipeline whose driver, executors and workers are killed at random moments: everybody has his messages once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcast.client.blocking import BlockingSubscription
from tests.pipeline.overlays import client, overlay

pytestmark = [pytest.mark.spark, pytest.mark.system]
ROWS = 300
VICTIMS = {"driver": b"semcast", "executor": b"CoarseGrainedExecutorBackend", "worker": b"semcast.pipeline.daemon"}


class Command:
    """``semcast pipeline`` with all that it starts."""

    def __init__(self, url: str, folder: Path, *words: str, ready: bool = True) -> None:
        command = [
            sys.executable, "-m", "semcast", "pipeline", "--source", str(folder / "in"), "--format", "json",
            "--stream", "quotes", "--coordinator", url, "--checkpoint", str(folder / "checkpoint"), "--at-once", "2",
            "--master", "local-cluster[2,1,1024]", *words,
        ]  # fmt: skip
        self.log = folder / "pipeline.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        assert self.process.stdout is not None
        assert not ready or self.process.stdout.readline(), self.told()

    def told(self) -> str:
        return self.log.read_text()[-4000:]

    def kill(self, what: str, chance: random.Random) -> bool:
        """kill -9; of a driver with everything it started. False where there is none at the moment."""
        if what == "driver":
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            return True
        there = [pid for pid, words in self.processes() if VICTIMS[what] in words]
        if what == "worker":
            there = [pid for pid in there if parent(pid) in there]  # the others are those that fork them
        if not there:
            return False
        os.kill(chance.choice(there), signal.SIGKILL)
        return True

    def processes(self) -> Iterator[tuple[int, bytes]]:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                session = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[3])
                words = (folder / "cmdline").read_bytes()
            except (OSError, IndexError):
                continue
            if session == self.process.pid:
                yield int(folder.name), words


def parent(pid: int) -> int:
    try:
        return int((Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def batches(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def drop(folder: Path, number: int) -> None:
    """Another file of messages, all at once."""
    lines = [json.dumps({"symbol": f"S{row % 3}", "price": float(ROWS * number + row)}) for row in range(ROWS)]
    hidden = folder / "in" / f".{number}"
    hidden.write_text("\n".join(lines))
    hidden.rename(folder / "in" / f"{number:04}.json")


def got(subscription: BlockingSubscription, count: int) -> Counter[float]:
    found: Counter[float] = Counter()
    while found.total() < count:
        message = subscription.next(120)
        assert message is not None, f"{found.total()} of {count}"
        found[message.json()["price"]] += 1
    again = subscription.next(2)
    assert again is None, again
    return found


@pytest.mark.timeout(3600)
def test_every_subscriber_has_his_messages_once_whoever_is_killed(tmp_path: Path) -> None:
    chance = random.Random(3)
    (tmp_path / "in").mkdir()
    dropped = 0
    with overlay(tmp_path) as url, client(url) as here:
        all_of_it = here.subscribe("quotes", "price >= 0")
        some = here.subscribe("quotes", "symbol = 'S1' AND price < 1000")
        running = Command(url, tmp_path)
        for turn in range(3):
            for _ in range(3):
                drop(tmp_path, dropped)
                dropped += 1
            what = ["worker", "executor", "driver"][turn % 3]
            before, end = batches(tmp_path), time.monotonic() + 1200
            while batches(tmp_path) < before + chance.randint(0, 1) or not running.kill(what, chance):
                assert time.monotonic() < end, running.told()
                time.sleep(0.05)
            if what == "driver":
                running = Command(url, tmp_path)
            time.sleep(chance.random())
        running.kill("driver", chance)
        last = Command(url, tmp_path, "--once")
        assert last.process.wait(1200) == 0, last.told()
        prices = Counter(float(price) for price in range(ROWS * dropped))
        assert got(all_of_it, prices.total()) == prices
        few = Counter(float(price) for price in range(min(1000, ROWS * dropped)) if price % ROWS % 3 == 1)
        assert got(some, few.total()) == few
