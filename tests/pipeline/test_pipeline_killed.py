"""A pipeline whose driver, executors and workers are killed at random moments: everybody has his messages once."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.pipeline.commands import Command, got
from tests.pipeline.overlays import client, overlay

pytestmark = [pytest.mark.spark, pytest.mark.system]
ROWS = 300


def batches(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def drop(folder: Path, number: int) -> None:
    """Another file of messages, all at once."""
    lines = [json.dumps({"symbol": f"S{row % 3}", "price": float(ROWS * number + row)}) for row in range(ROWS)]
    hidden = folder / "in" / f".{number}"
    hidden.write_text("\n".join(lines))
    hidden.rename(folder / "in" / f"{number:04}.json")


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
