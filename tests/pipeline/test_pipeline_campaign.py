"""Fifty kills of a pipeline that is under way, each at a moment of its work: everybody has his messages once.

Which process falls in which phase, and how far into it, is drawn from a seed (``SEMCAST_SEED``); what the phase was
when the blow fell is told in a table at the end. Spark outlives workers and executors, so most drivers see several
kills; a quarter of the drivers is hit while it starts.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from semcast.client import BlockingClient
from semcast.client.blocking import BlockingSubscription
from tests.pipeline.commands import Command
from tests.pipeline.moments import PHASES, Sight
from tests.pipeline.overlays import client, overlay

pytestmark = [pytest.mark.spark, pytest.mark.system, pytest.mark.slow]
ROWS = 3000
"""Of a file: three frames of a task."""
AHEAD = 8
"""Files that wait: four batches."""
VICTIMS = ("worker", "executor", "driver")
AIMS = ("before append", "appending", "committing", "between batches", "plan swap", "any moment")
PATIENCE_S = 900.0
ROUND = 12
"""Once in so many kills everybody is asked what he has."""


class Shot(NamedTuple):
    """Whom to kill, when, and how far into that."""

    victim: str
    aim: str
    share: float
    at_rest: bool
    """Only when a batch was committed since the kill before."""


class Hit(NamedTuple):
    """What a shot hit."""

    shot: Shot
    phase: str
    batch: int
    swap: str
    """``asked`` until the newest subscription is live, ``new`` until a batch was made by its plan, else empty."""
    after_s: float
    """Since the driver was started."""


def shots(kills: int, chance: random.Random) -> list[Shot]:
    """Victims in turn; every fourth driver, about, and what it started are hit while it starts."""
    drivers = -(-kills // len(VICTIMS))
    early = set(chance.sample(range(drivers), drivers // 4))
    found, aims = [], defaultdict[str, list[str]](list)
    for turn in range(kills):
        victim, aim = VICTIMS[turn % len(VICTIMS)], "start-up"
        if turn // len(VICTIMS) not in early:
            left = aims[victim] = aims[victim] or chance.sample(AIMS, len(AIMS))
            aim = left.pop()
        found.append(Shot(victim, aim, chance.random(), chance.random() < 0.6))
    return found


class Reader:
    """A subscription that is read on a thread of its own, and what has come by it."""

    def __init__(self, subscription: BlockingSubscription, wanted: range) -> None:
        self.wanted = wanted
        """The prices that match it, of whatever is published."""
        self._got: Counter[float] = Counter()
        self._subscription = subscription
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended.is_set():
            message = self._subscription.next(0.5)
            if message is not None:
                self._got[message.json()["price"]] += 1

    def judge(self, published: int) -> None:
        """Of the prices below ``published`` it has each of its own once, and no other."""
        wanted = Counter(map(float, range(self.wanted.start, min(self.wanted.stop, published), self.wanted.step)))
        last, since = -1, time.monotonic()
        while (count := self._got.total()) < wanted.total() and time.monotonic() < since + 120:
            if count != last:
                last, since = count, time.monotonic()
            time.sleep(0.1)
        got = Counter(dict(self._got))
        lost, more = sorted(wanted - got), sorted(got - wanted)
        assert (lost[:9], more[:9]) == ([], []), f"{self.wanted}: {len(lost)} lost, {len(more)} more"

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


class Campaign:
    """A pipeline, its files, its subscribers, and who kills it."""

    def __init__(self, folder: Path, url: str, here: BlockingClient, chance: random.Random) -> None:
        self._folder, self._url, self._here, self._chance = folder, url, here, chance
        self._dropped = 0
        self._pool = ThreadPoolExecutor(1)
        self._asked: Future[BlockingSubscription] | None = None
        self._asked_for = range(0)
        self._new_from: int | None = None
        self._readers = [Reader(here.subscribe("quotes", "price >= 0"), range(1 << 40))]
        self.hits: list[Hit] = []
        self.given_up = 0
        """Drivers that ended by themselves: Spark has given a task up."""
        self.sight = Sight(folder, ROWS)
        self._start()

    def _start(self) -> None:
        self._running = Command(self._url, self._folder, ready=False)
        self._begun = time.monotonic()
        self.sight.driver_begins(self._begun)

    # --- messages and subscriptions

    def _supply(self) -> None:
        """Keep files ahead; none while a subscription is not live that wants them."""
        self._settle()
        while self._asked is None and self._dropped < self.sight.files_through(self.sight.planned) + AHEAD:
            first = ROWS * self._dropped
            rows = [{"symbol": f"S{row % 3}", "price": float(row)} for row in range(first, first + ROWS)]
            hidden = self._folder / "in" / f".{self._dropped}"
            hidden.write_text("\n".join(map(json.dumps, rows)))
            hidden.rename(self._folder / "in" / f"{self._dropped:05}.json")
            self._dropped += 1

    def _ask(self) -> None:
        """Subscribe to something of files that are not there yet, while others are worked on."""
        first = ROWS * self._dropped
        self._asked_for = range(first + 1, first + 6 * ROWS, 3)
        profile = f"symbol = 'S1' AND price >= {first} AND price < {first + 6 * ROWS}"
        self._asked = self._pool.submit(self._here.subscribe, "quotes", profile)

    def _settle(self, *, wait: bool = False) -> None:
        if self._asked is not None and (wait or self._asked.done()):
            self._readers.append(Reader(self._asked.result(), self._asked_for))
            self._asked, self._new_from = None, self.sight.planned + 1
        if self._new_from is not None and self.sight.committed >= self._new_from:
            self._new_from = None

    # --- killing

    def shoot(self, shot: Shot) -> None:
        last = self.sight.committed
        if shot.aim == "plan swap":
            self._until(lambda: self.sight.committed > last and self.sight.phase(time.monotonic()) != "start-up")
            self._ask()
        while not self._hit(shot, last):
            time.sleep(0.1)
        if shot.victim == "driver":
            self._start()

    def _hit(self, shot: Shot, last: int) -> bool:
        """Wait for the moment, and strike; False where the victim is not there then."""
        self._until(lambda: self._in_sight(shot, last))
        time.sleep(self._wait_s(shot))
        self._settle()
        now = time.monotonic()
        swap = "asked" if self._asked is not None else "new" if self._new_from is not None else ""
        hit = Hit(shot, self.sight.phase(now), self.sight.planned, swap, now - self._begun)
        try:
            struck = self._running.kill(shot.victim, self._chance)
        except ProcessLookupError:  # it has just ended
            return False
        if struck:
            self.hits.append(hit)
        return struck

    def _until(self, true: Callable[[], bool], *, supply: bool = True) -> None:
        end = time.monotonic() + PATIENCE_S
        while True:
            if self._running.process.poll() is not None:
                self.given_up += 1
                self._start()
            if supply:
                self._supply()
            if true():
                return
            assert time.monotonic() < end, self._running.told()
            time.sleep(0.004)

    def _in_sight(self, shot: Shot, last: int) -> bool:
        phase = self.sight.phase(time.monotonic())
        if shot.aim == "start-up":
            return True
        if phase == "start-up" or (shot.at_rest and self.sight.committed <= last):
            return False
        return shot.aim in (phase, "any moment", "plan swap")

    def _wait_s(self, shot: Shot) -> float:
        """From when the phase is in sight until the blow."""
        match shot.aim:
            case "start-up":
                now = time.monotonic()
                left = max(0.0, self._begun + self.sight.typical_s("start-up", 30.0) - now)
                return shot.share * left if self.sight.phase(now) == "start-up" else 0.0
            case "plan swap" | "any moment":
                return shot.share * 2 * self.sight.typical_s("before append")
        return shot.share * self.sight.typical_s(shot.aim)

    # --- judging

    def judge(self) -> None:
        """Wait until all that is there is through, and see that everybody has his own, once."""
        self._settle(wait=True)
        self._until(lambda: self.sight.files_through(self.sight.committed) == self._dropped, supply=False)
        self._compare()

    def finish(self) -> None:
        """Kill the driver once more; another takes all that is there."""
        self._settle(wait=True)
        self._supply()
        self._running.kill("driver", self._chance)
        last = Command(self._url, self._folder, "--once")
        assert last.process.wait(1200) == 0, last.told()
        self._compare()
        for reader in self._readers:
            reader.end()
        self.sight.close()

    def _compare(self) -> None:
        for reader in self._readers:
            reader.judge(ROWS * self._dropped)
        # Gateways hand a message out once, also one that a log holds twice.
        assert self.sight.logged() == ROWS * self._dropped

    def end(self) -> None:
        if self._running.process.poll() is None:
            self._running.kill("driver", self._chance)


HEAD = "kill  victim    aimed at         hit              batch  plan   s after start"


def line(number: int, hit: Hit) -> str:
    about = f"{number:4}  {hit.shot.victim:8}  {hit.shot.aim:15}  {hit.phase:15}"
    return f"{about}  {hit.batch:5}  {hit.swap:5}  {hit.after_s:6.1f}"


def table(campaign: Campaign) -> str:
    """How many victims of each kind were hit in which phase."""
    counts = Counter((hit.shot.victim, hit.phase) for hit in campaign.hits)
    swaps = Counter(hit.shot.victim for hit in campaign.hits if hit.swap)
    lines = [f"{'':10}" + "".join(f"{phase:>17}" for phase in (*PHASES, "plan swap"))]
    for victim in VICTIMS:
        row = [*(counts[victim, phase] for phase in PHASES), swaps[victim]]
        lines.append(f"{victim:10}" + "".join(f"{count:17}" for count in row))
    return "\n".join([*lines, f"drivers that gave up by themselves: {campaign.given_up}"])


@pytest.mark.timeout(7200)
def test_every_subscriber_has_his_messages_once_through_fifty_kills(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed, kills = (int(os.environ.get(f"SEMCAST_{name}", "50")) for name in ("SEED", "KILLS"))
    chance = random.Random(seed)
    (tmp_path / "in").mkdir()
    with capsys.disabled(), overlay(tmp_path) as url, client(url) as here:
        print(f"\nseed {seed}\n{HEAD}", flush=True)
        campaign = Campaign(tmp_path, url, here, chance)
        try:
            _shoot(campaign, shots(kills, chance))
            campaign.finish()
        finally:
            campaign.end()
            print(f"\n{table(campaign)}", flush=True)
    assert len(campaign.hits) == kills


def _shoot(campaign: Campaign, planned: list[Shot]) -> None:
    """Kill one after the other; who interrupts it still learns whether everybody has his messages."""
    with suppress(KeyboardInterrupt):
        for number, shot in enumerate(planned):
            if number % ROUND == 2 and shot.aim != "start-up":
                campaign.judge()
            campaign.shoot(shot)
            print(line(number + 1, campaign.hits[-1]), flush=True)
