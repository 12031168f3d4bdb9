"""`semcast pipeline` as a process that can be killed, and what its subscribers get."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from semcast.client.blocking import BlockingSubscription

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


def got(subscription: BlockingSubscription, count: int) -> Counter[float]:
    found: Counter[float] = Counter()
    while found.total() < count:
        message = subscription.next(120)
        assert message is not None, f"{found.total()} of {count}"
        found[message.json()["price"]] += 1
    again = subscription.next(2)
    assert again is None, again
    return found
