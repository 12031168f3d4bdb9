"""``spark.readStream.format("semcast")``: a subscription as a source of rows, which Spark can read again.

An offset says how far each source's log was read. A batch is what the profile matches between two offsets, so it is the
same whenever it is read. The logs keep what is behind the last committed offset, because a durable session
at a gateway stands there: the *anchor*. What is read comes over sessions that end with their reader.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pyspark.sql.datasource import DataSourceReader, InputPartition, SimpleDataSourceStreamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from semcast.client import BlockingClient, connect_blocking
from semcast.client.messages import Received, start_of
from semcast.client.subscription import Subscription
from semcast.model import SemcastError
from semcast.pipeline.options import Where, overlay_of
from semcast.pipeline.rows import Incoming
from semcast.protocol.streams import Stream

_MOST = 100_000
"""Messages of a batch, unless the reader's options say otherwise."""
_WAIT_S = 0.1
"""A trigger waits for the first message so long; then there is none."""
_PAUSE_S = 0.02
_IDLE_S = 10.0
"""After so long without a match, an offset moves on by itself: or a rare profile would hold the logs."""
_ANCHOR_S = 5.0
_PATIENCE_S = 60.0

Positions = Mapping[str, int]


class Wish(NamedTuple):
    """What is asked for; picklable."""

    where: Where
    profile: str
    declared: Stream
    starting: str = "latest"
    most: int = _MOST
    expiry_s: float | None = None
    strict: bool = True
    """Is it an error if messages are gone before they were read?"""

    @staticmethod
    def of(options: Mapping[str, str], starting: str) -> Wish:
        profile = options.get("profile")
        if profile is None:
            raise SemcastError('no profile is given: .option("profile", "price > 10")')
        chosen = options.get("startingPosition", starting)
        start_of(chosen)
        where = Where.of(options)
        most, expiry = options.get("maxMessagesPerTrigger"), options.get("expirySeconds")
        return Wish(
            where,
            profile,
            overlay_of(where).declared,
            chosen,
            int(most) if most else _MOST,
            float(expiry) if expiry else None,
            options.get("failOnDataLoss", "true").lower() != "false",
        )


class Flow:
    """A subscription that is read from a position on, in the order of each source."""

    def __init__(self, wish: Wish, client: BlockingClient, start: Positions) -> None:
        self._client = client
        self._strict = wish.strict
        self._reading = client.subscribe(wish.where.stream, wish.profile, start=as_start(start), ordered=True).inner
        self.at: dict[str, int] = dict(start)
        """Per source: everything through here was given out."""

    def take(self, most: int, wait_s: float) -> list[Received]:
        """What has come, at most so much; waits only for the first."""
        return self._client.run(self._take(most, wait_s))

    async def _take(self, most: int, wait_s: float) -> list[Received]:
        found: list[Received] = []
        while len(found) < most:
            message = self._reading.ready()
            if message is not None:
                found.append(message)
                continue
            self._reading.confirm()
            if not await _news(self._reading, _PAUSE_S if found else wait_s):
                break
        self._reading.confirm()
        if self._strict and self._reading.gaps:
            gap = self._reading.gaps[0]
            raise SemcastError(
                f"messages {gap.first + 1} to {gap.through} of {gap.source} are gone from its log; "
                'with .option("failOnDataLoss", "false") what is left is read'
            )
        for message in found:
            self.at[message.source] = message.number
        if len(found) < most:
            for source, through in self._reading.cursor.items():
                self.at[source] = max(self.at.get(source, 0), through)
        return found

    def between(self, end: Positions, most: int) -> Iterator[Received]:
        """All through ``end``, at most so many; ends when every source has come so far."""
        given, until = 0, time.monotonic() + _PATIENCE_S
        while not self.reached(end) and given < most:
            before = dict(self.at)
            for message in self.take(min(most - given, 1024), 1.0):
                if message.number <= end.get(message.source, 0):
                    given += 1
                    yield message
            if self.at != before:
                until = time.monotonic() + _PATIENCE_S
            elif time.monotonic() > until:
                missing = next(source for source in end if self.at.get(source, 0) < end[source])
                raise SemcastError(f"nothing of {missing} has come for {_PATIENCE_S:g} s")

    def reached(self, end: Positions) -> bool:
        return all(self.at.get(source, 0) >= place for source, place in end.items())

    def close(self) -> None:
        self._client.run(self._reading.close())


async def _news(subscription: Subscription, wait_s: float) -> bool:
    """Is there anything new within so long?"""
    try:
        async with asyncio.timeout(wait_s):
            await subscription.news()
    except TimeoutError:
        return False
    return True


def as_start(positions: Positions) -> str:
    return ",".join(f"{source}:{number}" for source, number in sorted(positions.items())) or "earliest"


class Logs(NamedTuple):
    """Per source: everything through ``first`` is gone from its log, and ``last`` is the last that is there."""

    first: dict[str, int]
    last: dict[str, int]

    @staticmethod
    def of(client: BlockingClient) -> Logs:
        view = client.connection.view
        names = view.sources if view is not None else []
        told = {source: client.ask("status", of=source)["source"] for source in names}
        return Logs(
            {source: log["trimmed"] for source, log in told.items()},
            {source: log["sent"] for source, log in told.items()},
        )

    def start(self, starting: str) -> dict[str, int]:
        """Where to begin: at the positions that are named, else with the first message that is there."""
        return dict(sorted((self.first | start_of(starting)[1]).items()))


class StreamSubscriber(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads in the driver's planner; what has to be read again is read by tasks."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.wish = Wish.of(options, "latest")
        self.incoming = Incoming(schema, self.wish.declared)
        self._client: BlockingClient | None = None
        self._flow: Flow | None = None
        self._told: Positions = {}
        self._target: dict[str, int] | None = None
        self._moved_at = self._anchored_at = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None, "_flow": None}

    def initialOffset(self) -> dict[str, Any]:
        """Where the anchor was put down: from then on nothing that matches is lost."""
        session, starting = f"spark-{uuid.uuid4().hex[:12]}", self.wish.starting
        positions = self._anchor(session, starting)
        if starting != "latest":
            positions = Logs.of(self._connected()).start(starting)
        return {"session": session, "positions": dict(sorted(positions.items()))}

    def _anchor(self, session: str, start: str) -> dict[str, int]:
        """A durable session whose client goes away at once: it holds the logs from where it begins."""
        with connect_blocking(self.wish.where.url) as client:
            held = client.subscribe(
                self.wish.where.stream,
                self.wish.profile,
                start=start,
                session=session,
                ordered=True,
                expiry_s=self.wish.expiry_s,
            )
            positions = held.inner.cursor
            held.close(keep=True)
        return positions

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = Logs.of(self._connected()).last

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        flow = self._from(start["positions"])
        self._told = start["positions"]
        found = self._now(flow) if self._target is None else list(flow.between(self._target, self.wish.most))
        at = flow.at if self._target is None else _capped(flow.at, self._target, start["positions"])
        idle = time.monotonic() - self._moved_at > _IDLE_S
        if not found and not idle and self._target is None:
            return iter(()), start
        self._moved_at = time.monotonic()
        end = {"session": start["session"], "positions": dict(sorted(at.items()))}
        self._told = end["positions"]
        return iter([self.incoming.row(message) for message in found]), end

    def _now(self, flow: Flow) -> list[Received]:
        return flow.take(self.wish.most, _WAIT_S)

    def _from(self, positions: Positions) -> Flow:
        """The flow that stands at a position: the one that is open, unless Spark goes back."""
        if self._flow is not None and positions != self._told:
            self._flow.close()
            self._flow = None
        if self._flow is None:
            self._flow = Flow(self.wish, self._connected(), positions)
        return self._flow

    def _connected(self) -> BlockingClient:
        if self._client is None:
            self._client = connect_blocking(self.wish.where.url)
        return self._client

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        with connect_blocking(self.wish.where.url) as client:
            flow = Flow(self.wish, client, start["positions"])
            for message in flow.between(end["positions"], 1 << 62):
                yield self.incoming.row(message)

    def commit(self, end: dict[str, Any]) -> None:
        """Let the logs forget what is done with, now and then."""
        if time.monotonic() - self._anchored_at >= _ANCHOR_S:
            self._anchored_at = time.monotonic()
            self._anchor(end["session"], as_start(end["positions"]))


def _capped(at: Positions, target: Positions, start: Positions) -> dict[str, int]:
    return {source: max(min(place, target.get(source, 0)), start.get(source, 0)) for source, place in at.items()}


class BatchSubscriber(DataSourceReader):
    """What the logs still hold of a profile, up to now."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self.wish = Wish.of(options, "earliest")
        self.incoming = Incoming(schema, self.wish.declared)
        if self.wish.starting == "latest":
            raise SemcastError("a batch that starts at the latest message has none; use readStream, or earliest")
        with connect_blocking(self.wish.where.url) as client:
            logs = Logs.of(client)
            self.start, self.end = logs.start(self.wish.starting), logs.last

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        with connect_blocking(self.wish.where.url) as client:
            flow = Flow(self.wish, client, self.start)
            for message in flow.between(self.end, 1 << 62):
                yield self.incoming.row(message)
