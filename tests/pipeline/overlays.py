"""A running overlay beside a Spark, as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from semcast.client import BlockingClient, connect_blocking
from semcast.client.blocking import BlockingSubscription
from tests.live.overlays import CALM, written

STREAMS = """
[streams.shapes]
schema = { name = "string", "n.v" = "int", at = "timestamp", big = "long", flag = "boolean" }

[streams.loose]
language = "relational"

[streams.later]
mode = "spark"
schema = { n = "long" }

[streams.news]
language = "xpath"
"""


@contextmanager
def overlay(
    folder: Path, *, sources: int = 2, brokers: int = 5, gateways: int = 2, scheme: str = "masked", settings: str = ""
) -> Iterator[str]:
    """Its url; nobody in it is taken for dead, however busy the machine is."""
    tuned = f"{CALM}\nretain = 10000\n{settings}"
    file = written(folder, scheme=scheme, brokers=brokers, sources=sources, gateways=gateways, settings=tuned)
    file.write_text(file.read_text().replace("[settings]", STREAMS + "[settings]"))
    with running(file) as addresses:
        yield "semcast://" + addresses["c0"]


@contextmanager
def running(file: Path, *words: str) -> Iterator[dict[str, str]]:
    """``semcast up`` until the block ends; where everybody listens."""
    log = (file.parent / "up.log").open("ab")
    command = [sys.executable, "-m", "semcast", "up", str(file), *(words or ("--embedded",))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (file.parent / "up.log").read_text()[-3000:]
        yield json.loads(line)["addresses"]
    finally:
        process.terminate()
        process.wait(300)


def received(subscription: BlockingSubscription, count: int, patience_s: float = 60.0) -> list[object]:
    """The next messages as JSON, and none behind them."""
    found = []
    while len(found) < count:
        message = subscription.next(patience_s)
        assert message is not None, f"{len(found)} of {count}"
        found.append(message.json())
    assert subscription.next(1.0) is None
    return found


def client(url: str) -> BlockingClient:
    return connect_blocking(url)


def until(true: Callable[[], object], patience_s: float = 120.0) -> None:
    end = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
