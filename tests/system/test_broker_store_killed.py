"""Brokers' stores in real processes that are killed at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcast.protocol.stores import Record
from semcast.storage.broker_store import BrokerStore

ROOT = Path(__file__).parents[2]
ROUNDS = 30
SMALL = {"segmented": 4000, "segment_bytes": 100_000}
"""So that commits go either way, and segments come and go."""


def record(number: int, sequence: int) -> Record:
    """Whose content follows from its number, so that whoever reads it can tell."""
    body = (b"%d " % number) * (1 + number % 50)
    return Record(number, f"o{number % 5}", sequence, number % 3, ((("c", 1), number << number % 80),), body)


def work(folder: str, seed: int) -> None:
    """Append, commit and tell, until somebody puts an end to it."""
    chance = random.Random(seed)
    store = BrokerStore(folder, source=True, **SMALL)
    assert store.log is not None
    say(f"open {store.incarnation}")
    while True:
        for _ in range(chance.randrange(1, 4)):
            for _ in range(chance.choice((1, 1, 7, 300))):
                number = store.log.end + 1
                store.log.append([record(number, store.log.high_water(f"o{number % 5}")[0] + 1)])
        store.notes.put("end", b"%d" % store.log.end)
        if chance.random() < 0.3:
            store.log.trim(chance.randint(store.log.trimmed, store.log.durable))
        say(f"durable {store.commit()} {store.log.trimmed}")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # whole or not at all


def nurse() -> None:
    """Start a worker per line of stdin, and tell when it is gone; what workers need is imported only once."""
    for line in sys.stdin:
        folder, seed = line.rstrip("\n").rsplit(" ", 1)
        pid = os.fork()
        if not pid:
            work(folder, int(seed))
        say(f"worker {pid}")
        os.waitpid(pid, 0)
        say("gone")


@pytest.fixture
def nursery() -> Iterator[subprocess.Popen[str]]:
    program = "from tests.system.test_broker_store_killed import nurse; nurse()"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, text=True, env=environment)
    yield process
    process.communicate()


@pytest.mark.system
def test_what_was_acknowledged_survives_kill_9_at_any_moment(nursery: subprocess.Popen[str], tmp_path: Path) -> None:
    chance = random.Random(8)
    opened = durable = 0
    for seed in range(ROUNDS):
        lines = killed_after(nursery, tmp_path, seed, chance.randrange(0, 12), chance.random() * 0.02)
        said = [line.split() for line in lines]
        assert [opened + 1] == [int(words[1]) for words in said if words[0] == "open"] or not said
        durable = max([durable, *(int(words[1]) for words in said if words[0] == "durable")])
        opened = check(tmp_path, durable, opened + 1)
    assert durable > 1000


def killed_after(nursery: subprocess.Popen[str], folder: Path, seed: int, commits: int, moment_s: float) -> list[str]:
    """What a worker said before it was killed, a moment after so many commits."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    print(folder, seed, file=nursery.stdin, flush=True)
    said = []
    for line in nursery.stdout:
        if line.startswith("worker"):
            pid = int(line.split()[1])
        elif line.startswith("gone"):
            break
        else:
            said.append(line)
        if len(said) == commits:
            time.sleep(moment_s)
            os.kill(pid, signal.SIGKILL)
    return said


def check(folder: Path, durable: int, incarnation: int) -> int:
    """Everything that was acknowledged is there, in order, sound, and numbers go on; the store's incarnation."""
    store = BrokerStore(folder, source=True)
    log = store.log
    assert log is not None
    assert store.warnings == ()
    assert store.incarnation in (incarnation, incarnation + 1)  # a worker may have been killed before it opened
    assert log.end >= durable
    assert store.verify() == log.end - log.trimmed
    marks: dict[str, tuple[int, int]] = {}
    for number in range(1, log.end + 1):
        origin = f"o{number % 5}"
        marks[origin] = marks.get(origin, (-1, 0))[0] + 1, number
        if number > log.trimmed:
            assert log.read(number - 1, number, 1) == [record(number, marks[origin][0])]
    assert {origin: log.high_water(origin) for origin in marks} == marks
    assert int(store.notes.get("end") or 0) == log.end
    log.append([record(log.end + 1, log.high_water(f"o{(log.end + 1) % 5}")[0] + 1)])
    store.notes.put("end", b"%d" % log.end)
    assert store.commit() == log.end
    store.close()
    return store.incarnation
