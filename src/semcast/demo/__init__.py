"""The live demo: a whole overlay in this process, with hundreds of subscribers in all four languages."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semcast.client import Client
from semcast.demo.audience import Audience, Published, Publishers
from semcast.demo.feeds import Content, Feed, feeds
from semcast.demo.spark_feed import SparkFeed
from semcast.demo.verdict import Ages, Deliveries, Expected, Links, ages_of
from semcast.model import SemcastError
from semcast.server.config import read_config
from semcast.server.embedded import Embedded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE_S = 60.0
_CALM_S = 0.5
_LOOK_S = 0.1
_CONFIG = """# The overlay of `semcast demo`: `semcast up` brings it up without the subscribers and publishers.
name = "demo"
scheme = "masked"
channels = 16
data = "overlay"
seed = {seed}

[topology]
kind = "waxman"
brokers = {brokers}
degree = 4
seed = {seed}
sources = 2
gateways = {gateways}

[settings]
# All brokers share one process and a busy machine: nobody is taken for dead early.
dead_s = 15
lease_s = 10
leader_s = 10

"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What the demo has shown."""

    brokers: int
    gateways: int
    subscribers: dict[str, int]
    """Per language."""
    messages: int
    deliveries: Deliveries
    before: Links
    """Under the plan that grew with the subscriptions."""
    after: Links
    """Under the one that a reorganisation made from what was measured."""
    ages: Ages

    @property
    def saved(self) -> float:
        """What the reorganisation took off the cost, beside what SPT costs for the messages of each part."""
        before, after = self.before.live / max(1, self.before.spt), self.after.live / max(1, self.after.spt)
        return 1 - after / before if before else 0.0

    def as_dict(self) -> dict[str, Any]:
        parts = {"before": self.before._asdict(), "after": self.after._asdict()}
        return {
            "brokers": self.brokers,
            "gateways": self.gateways,
            "subscribers": self.subscribers,
            "messages": self.messages,
            **self.deliveries.as_dict(),
            "links": parts,
            "below_spt": self.after.below_spt,
            "below_unicast": self.after.below_unicast,
            "reorganisation_saved": self.saved,
            "staleness": self.ages.as_dict(),
        }


@dataclass(frozen=True)
class Scale:
    """How large the demo is."""

    seconds: float = 60.0
    brokers: int = 30
    subscribers: int = 300
    bound_ms: float = 500.0
    seed: int = 1

    @property
    def gateways(self) -> int:
        return max(2, self.brokers // 2)


class LiveDemo:
    """Brings an overlay up in a folder, lets messages flow, reorganises in the middle, and counts."""

    def __init__(self, folder: Path, scale: Scale, say: Say, spark: SparkSession | None = None) -> None:
        """With Spark one stream comes from there; without, all are matched where they enter."""
        self._scale, self._say = scale, say
        self._feeds: list[Feed] = feeds(scale.subscribers, scale.seed, spark=spark is not None)
        self._from_spark: SparkFeed | None = None
        if spark is not None:
            (feed,) = (feed for feed in self._feeds if feed.on_spark)
            self._from_spark = SparkFeed(spark, feed, folder / "spark", scale.seed)
        shutil.rmtree(folder / "overlay", ignore_errors=True)
        self.file = folder / "overlay.toml"
        head = _CONFIG.format(seed=scale.seed, brokers=scale.brokers, gateways=scale.gateways)
        self.file.write_text(head + "\n".join(map(_declared, self._feeds)))
        self.whole = Embedded(read_config(self.file))
        self._everybody = AsyncExitStack()
        self._all: list[Published] = []

    async def start(self) -> None:
        """Bring the overlay up, with all subscriptions live."""
        scale = self._scale
        self._say(f"starting a coordinator and {scale.brokers} brokers in this process")
        self._everybody.push_async_callback(self.whole.stop)
        await self.whole.start()
        await self._until(self._settled, "the first plan")
        gateways, sources = self.having("gateway"), self.having("source")
        self._audience = Audience(self._feeds, gateways, scale.bound_ms, np.random.default_rng([scale.seed, 4]))
        self._say(f"{len(self._audience.subscribers)} subscribers come to {len(gateways)} gateways")
        addresses = self.whole.addresses()
        self._everybody.push_async_callback(self._audience.leave)
        await self._audience.arrive(addresses)
        client = await self._everybody.enter_async_context(Client(addresses[sources[0]], name="publishers"))
        inline = [feed for feed in self._feeds if not feed.on_spark]
        self._publishers = Publishers(inline, sources, client, scale.seed)
        if self._from_spark is not None:
            self._say("a query on Spark joins, with a stream of its own")
            self._everybody.push_async_callback(self._from_spark.stop)
            await self._from_spark.start(addresses[sources[0]])

    @property
    def progress(self) -> Path | None:
        """What batches on Spark add a line to."""
        return self._from_spark.progress if self._from_spark is not None else None

    def having(self, role: str) -> list[str]:
        """The brokers of a role."""
        return [name for name, host in self.whole.brokers.items() if role in host.roles]

    async def run(self) -> Outcome:
        """Publish, reorganise, publish; what came of it."""
        first = await self._flow()
        self._say("reorganising, from what was measured")
        await self._reorganised()
        second = await self._flow()
        self._say("counting what everybody should have got, with the slow engines")
        return await asyncio.to_thread(self._counted, first, second)

    async def keep(self) -> None:
        """Go on publishing until cancelled."""
        while True:
            await self._published(self._scale.seconds / 2)

    async def stop(self) -> None:
        await self._everybody.aclose()

    async def _flow(self) -> tuple[list[Published], int]:
        """Messages for half of the time: they, and the link transmissions that they took."""
        seconds, before = self._scale.seconds / 2, self._transmissions()
        self._say(f"messages flow for {seconds:.0f} s")
        telling = asyncio.create_task(self._tell())
        published, through_spark = await self._published(seconds)
        await self._calm()
        telling.cancel()
        if self._from_spark is not None:
            published += self._audience.published(self._from_spark.feed, through_spark)
        self._all += published
        return published, self._transmissions() - before

    async def _published(self, seconds: float) -> tuple[list[Published], list[Content]]:
        """On all streams, for a while; what went through Spark is known by its content alone."""
        inline = self._publishers.publish(seconds)
        if self._from_spark is None:
            return await inline, []
        found = await asyncio.gather(inline, self._from_spark.publish(seconds))
        return found[0], found[1]

    def _counted(self, first: tuple[list[Published], int], second: tuple[list[Published], int]) -> Outcome:
        subscribers, topology = self._audience.subscribers, self.whole.deployed.topology
        expected = Expected(self._all, subscribers)
        return Outcome(
            self._scale.brokers,
            len(self.having("gateway")),
            dict(_by_language(self._feeds)),
            len(self._all),
            expected.judged(subscribers),
            expected.links(*first, topology),
            expected.links(*second, topology),
            ages_of(subscribers, self._scale.bound_ms),
        )

    # --- the overlay

    def _transmissions(self) -> int:
        """Over all links, so far."""
        return sum(meter.messages_out for host in self.whole.brokers.values() for meter in host.links.values())

    def _settled(self) -> bool:
        machine = self.whole.coordinators["c0"].machine
        deployment = machine.current
        there = deployment is not None and set(deployment.brokers) == set(self.whole.brokers)
        return there and machine.state()["phase"] == "settled"

    async def _reorganised(self) -> None:
        coordinator = self.whole.coordinators["c0"]
        epoch = coordinator.status()["epoch"]
        coordinator.reorganise()
        await asyncio.sleep(1.0)  # a plan that is as good as the one in force changes nothing
        if coordinator.status()["epoch"] != epoch or not self._settled():
            await self._until(lambda: self._settled() and not coordinator.status()["draining"], "the new plan")

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(round(_PATIENCE_S / _LOOK_S)):
            if self.whole.failure.done():
                await self.whole.failure
            if holds():
                return
            await asyncio.sleep(_LOOK_S)
        raise SemcastError(f"{what} did not come within {_PATIENCE_S:.0f} s")

    async def _calm(self) -> None:
        """Wait until nothing arrives any more."""
        before = -1
        while before != self._audience.delivered:
            before = self._audience.delivered
            await asyncio.sleep(_CALM_S)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(5.0)
            self._say(f"  {self._transmissions():,} link transmissions, {self._audience.delivered:,} deliveries")


def _by_language(feeds: list[Feed]) -> Counter[str]:
    return sum((Counter({feed.language: len(feed.profiles)}) for feed in feeds), Counter())


def _declared(feed: Feed) -> str:
    schema = ", ".join(f'{name} = "{kind}"' for name, kind in (feed.schema or {}).items())
    return f'[streams.{feed.stream}]\nlanguage = "{feed.language}"\n' + (f"schema = {{ {schema} }}\n" if schema else "")
