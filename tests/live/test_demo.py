"""The live demo, small: everybody has what he asked for, and the counts say so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from semcast.dashboard.pipeline import Progress
from semcast.demo import LiveDemo, Outcome, Scale
from semcast.demo.audience import Audience, Published, Subscriber
from semcast.demo.feeds import Content, Feed
from semcast.demo.verdict import Expected, ages_of
from semcast.server.serve import run
from semcast.trees.topology import Topology

FEED = Feed("sensors", "topic", 1, ["a", "a/b", "c"], lambda count, rng: [])
LINE = """{"brokers": [{"id": "s"}, {"id": "m"}, {"id": "g", "roles": ["gateway"]}, {"id": "h", "roles": ["gateway"]}],
           "links": [{"a": "s", "b": "m"}, {"a": "m", "b": "g"}, {"a": "m", "b": "h"}]}"""


def test_a_small_demo_misses_and_doubles_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    outcome = run(_played(tmp_path, said))
    assert set(outcome.subscribers) == {"relational", "topic", "xpath", "semantic"}
    assert outcome.messages == 1000
    assert outcome.deliveries.delivered == outcome.deliveries.expected > 100
    assert (outcome.deliveries.missed, outcome.deliveries.duplicates, outcome.deliveries.unwanted) == (0, 0, 0)
    assert outcome.before.live > 0
    assert outcome.after.live > 0
    assert any("reorganising" in line for line in said)
    assert (tmp_path / "overlay.toml").exists()


def test_what_comes_through_spark_reaches_everybody_too(tmp_path: Path, spark: SparkSession) -> None:
    outcome = run(_played(tmp_path, [], spark))
    assert outcome.messages == 1000 + 4 * 50
    assert outcome.deliveries.delivered == outcome.deliveries.expected > 100
    assert (outcome.deliveries.missed, outcome.deliveries.duplicates, outcome.deliveries.unwanted) == (0, 0, 0)
    batches = Progress(tmp_path / "spark" / "progress.jsonl").read()["batches"]
    assert sum(batch["rows"] for batch in batches) == 200
    assert sum(batch["matched"] for batch in batches) > 0


async def _played(folder: Path, said: list[str], spark: SparkSession | None = None) -> Outcome:
    demo = LiveDemo(folder, Scale(seconds=4, brokers=8, subscribers=24, seed=2), said.append, spark)
    try:
        await demo.start()
        return await demo.run()
    finally:
        await demo.stop()


@pytest.fixture
def published() -> list[Published]:
    return [
        Published(FEED, Content(b"", topic), "s", f"s:{at}") for at, topic in enumerate(["a/b", "a/x", "c", "d"], 1)
    ]


@pytest.fixture
def subscribers() -> list[Subscriber]:
    places = [("g", 100.0), ("h", None), ("h", None)]
    return [Subscriber(FEED, number, gateway, bound) for number, (gateway, bound) in enumerate(places)]


def test_what_is_missed_doubled_or_unwanted_is_counted(
    published: list[Published], subscribers: list[Subscriber]
) -> None:
    subscribers[0].got = Counter({"s:1": 1, "s:2": 2})
    subscribers[1].got = Counter({"s:1": 1, "s:4": 1})
    judged = Expected(published, subscribers).judged(subscribers)
    assert judged.as_dict() == {"expected": 4, "delivered": 5, "missed": 1, "duplicates": 1, "unwanted": 1}


def test_the_other_ways_are_counted_over_the_same_messages(
    published: list[Published], subscribers: list[Subscriber]
) -> None:
    links = Expected(published, subscribers).links(published, 6, Topology.from_json(LINE))
    # a/b goes to both gateways, a/x to one, c to the other, d to nobody
    assert links == (4, 6, 3 + 2 + 2, 4 + 2 + 2)
    assert links.below_spt == pytest.approx(1 / 7)
    assert links.below_unicast == pytest.approx(2 / 8)


def test_what_nobody_got_of_spark_has_an_id_of_its_own(subscribers: list[Subscriber]) -> None:
    audience = Audience([], ["g"], 1.0, np.random.default_rng(1))
    audience.seen[b"1"] = "s:7"
    found = audience.published(FEED, [Content(b"0", "a"), Content(b"1", "a"), Content(b"2", "c")])
    assert [message.source for message in found] == ["?", "s", "?"]
    assert len({message.id for message in found}) == 3
    assert Expected(found, subscribers).judged(subscribers).missed == 3
    assert Expected(found, subscribers).links(found, 0, Topology.from_json(LINE)).spt == 2


def test_ages_are_judged_for_who_has_a_bound(subscribers: list[Subscriber]) -> None:
    subscribers[0].ages_ms = [50.0, 150.0]
    subscribers[1].ages_ms = [900.0]
    ages = ages_of(subscribers, 100.0)
    assert (ages.bounded, ages.late, ages.p50_ms) == (2, 1, 150.0)
    assert np.isclose(ages.p99_ms, 885.0)
