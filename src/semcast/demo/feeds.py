"""Four streams, one in each language, and what people ask of them: what the live demo shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from semcast.demo.charts import Charts
from semcast.demo.quotes import profiles as quote_profiles
from semcast.demo.quotes import quotes
from semcast.demo.xml.documents import DocumentGenerator
from semcast.demo.xml.news import NEWS
from semcast.demo.xml.profiles import Shape
from semcast.demo.xml.workload import XmlWorkload
from semcast.matching import language
from semcast.matching.matches import Matches

_SITES = ("harbour", "foundry", "mill", "depot", "airport", "dam")
_UNITS = ("boiler", "pump", "crane", "turbine", "gate")
_KINDS = ("temperature", "pressure", "vibration", "power")
_ORACLES = {"relational": "brute", "topic": "naive", "xpath": "lxml", "semantic": "naive"}


class Content(NamedTuple):
    """What is published."""

    payload: bytes
    topic: str | None = None


Draw = Callable[[int, np.random.Generator], list[Content]]


@dataclass(frozen=True)
class Feed:
    """A stream: how often something is published on it, what, and who asks for which part."""

    stream: str
    language: str
    per_second: int
    profiles: list[str]
    draw: Draw
    schema: dict[str, str] | None = None
    on_spark: bool = False
    """Matched and routed there, not where it enters the overlay."""

    def matches(self, contents: list[Content]) -> Matches:
        """What each profile should get of these, by the language's slow engine: brokers use the fast one."""
        chosen: Any = language(self.language)
        parsed = [chosen.parse(text) for text in self.profiles]
        matches: Matches = chosen.matcher(parsed, _ORACLES[self.language]).match(self._batch(contents))
        return matches

    def _batch(self, contents: list[Content]) -> pa.Table:
        if self.language == "relational":
            return pa.Table.from_pylist([msgspec.json.decode(content.payload) for content in contents])
        if self.language == "topic":
            return pa.table({"topic": pa.array([content.topic for content in contents], pa.string())})
        return pa.table({"payload": pa.array([content.payload for content in contents], pa.binary())})


def feeds(subscribers: int, seed: int, *, spark: bool = False) -> list[Feed]:
    """The four streams with so many subscribers between them; with Spark, one more that comes from there."""
    makers, weights = [_sensors, _news, _charts], [0.25, 0.15, 0.15]
    if spark:
        makers, weights = [*makers, _trades], [*weights, 0.2]
    shares = [max(1, int(subscribers * weight)) for weight in weights]
    most = max(1, subscribers - sum(shares))
    return [make(count, seed) for make, count in zip((_quotes, *makers), (most, *shares), strict=True)]


def _trades(count: int, seed: int) -> Feed:
    """Numbered, so that what came through Spark can be told apart by its content."""
    quotes = _quotes(count, seed + 1)
    return replace(
        quotes, stream="trades", schema={"number": "long", **(quotes.schema or {})}, on_spark=True, per_second=50
    )


def _quotes(count: int, seed: int) -> Feed:
    schema = {"symbol": "string", "exchange": "string", "sector": "string", "price": "double", "change_pct": "double",
              "volume": "long", "halted": "boolean"}  # fmt: skip

    def draw(number: int, rng: np.random.Generator) -> list[Content]:
        batch = quotes(0, number, int(rng.integers(1 << 30))).select(list(schema))
        return [Content(msgspec.json.encode(row)) for row in batch.to_pylist()]

    return Feed("quotes", "relational", 120, quote_profiles(count, seed), draw, schema)


def _sensors(count: int, seed: int) -> Feed:
    rng = np.random.default_rng([seed, 1])
    levels = _SITES, _UNITS, ("1", "2", "3", "4"), _KINDS

    def wanted() -> str:
        """Some know the sensor, some want all of a site, or one kind of sensors wherever they are."""
        parts = ["*" if rng.random() < 0.35 else str(rng.choice(level)) for level in levels]
        parts = parts[: int(rng.integers(1, 5))]
        while parts and parts[-1] == "*":
            parts.pop()
        return "/".join(["Sensors", *parts] if parts else ["Sensors", str(rng.choice(_SITES))])

    def draw(number: int, rng: np.random.Generator) -> list[Content]:
        topics = ["/".join(["Sensors", *(str(rng.choice(level)) for level in levels)]) for _ in range(number)]
        return [Content(b"%.2f" % value, topic) for topic, value in zip(topics, rng.normal(20, 5, number), strict=True)]

    return Feed("sensors", "topic", 80, [wanted() for _ in range(count)], draw)


def _news(count: int, seed: int) -> Feed:
    work = XmlWorkload(NEWS, Shape(), share=0.05, elements=40)
    texts = [str(profile) for profile in work.profiles(count, work.documents(300, seed), seed)]

    def draw(number: int, rng: np.random.Generator) -> list[Content]:
        documents = DocumentGenerator(NEWS, work.elements).batch(number, rng)
        return [Content(payload.encode()) for payload in documents.column("payload").to_pylist()]

    return Feed("news", "xpath", 20, texts, draw)


def _charts(count: int, seed: int) -> Feed:
    work = Charts(regions=4, subregions=5, charts=10, packet_skew=0.5, wants=4, payload_bytes=(400.0, 0.5))
    interests = work.interests(count, np.random.default_rng([seed, 2]))

    def draw(number: int, rng: np.random.Generator) -> list[Content]:
        return [Content(packet) for packet in work.packets(number, rng)]

    return Feed("charts", "semantic", 30, [str(interest) for interest in interests], draw)
