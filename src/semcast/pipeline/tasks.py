"""What a task of the pipeline does: messages in, matched and routed by the plan in force, appended where they enter.

Rows of one *place* (a file, a partition of Kafka) are in one task, in their order. They are numbered within their place
and batch, so a task that is repeated, or a batch that is replayed after a crash, appends nothing twice.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from semcast.client import BlockingClient, connect_blocking
from semcast.client.appending import PATIENCE_S, Stale
from semcast.client.blocking import BlockingAppending
from semcast.model import SemcastError
from semcast.model.message import Message, packed, unpacked
from semcast.pipeline.plans import Followed, Rows, StreamMatching, by
from semcast.protocol.source.routing import append_frame
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.wire.frames import Append, Switch
from semcast.protocol.wire.framing import MAX_MESSAGE, fitting

FRAME = 1024
"""Messages per frame, at most."""
BATCH_BITS = 32
"""A batch's messages of one place are numbered below 2³²."""
COLUMNS = "payload binary, topic string, key string, time_ms long, place string"
"""What every source of the pipeline gives; ``place`` says whose rows they are."""
TALLY = "messages long, matched long, dead long, epoch long, append_s double, route_s double, samples array<string>"
"""What a task tells of itself; samples are JSON."""
_SAMPLES = 64


class Job(NamedTuple):
    """What tasks have to know; picklable."""

    url: str
    stream: str
    declared: Stream
    sources: tuple[str, ...]
    query: str
    sample: int
    """One message in so many is sampled for statistics."""

    def source(self, place: str) -> str:
        """Where a place's messages enter: the same at every repetition."""
        return self.sources[zlib.crc32(place.encode()) % len(self.sources)]


class Checked(NamedTuple):
    """The messages of a batch of rows, and what is none."""

    messages: list[Message]
    places: list[str]
    dead: list[tuple[int, str]]
    """(row, why)."""
    rows: list[dict[str, Any]] | None
    """Of a relational stream, what the messages say: read once, to be checked and to be matched."""


def checked(job: Job, batch: pa.RecordBatch, now_ms: int) -> Checked:
    """Rows as messages; what does not fit its stream is set aside with the reason, always the same."""
    columns = [batch.column(name).to_pylist() for name in ("payload", "topic", "key", "time_ms", "place")]
    columns[0] = [payload or b"" for payload in columns[0]]
    rows, why = _read(job, columns[0], columns[1])
    found = Checked([], [], sorted(why.items()), None if rows is None else [])
    for at, (payload, topic, key, time_ms, place) in enumerate(zip(*columns, strict=True)):
        if at not in why:
            found.messages.append(Message(job.stream, payload, topic, time_ms or now_ms, key))
            found.places.append(place)
    if found.rows is not None and rows is not None:
        found.rows.extend(row for at, row in enumerate(rows) if at not in why)
    return found


def _read(
    job: Job, payloads: list[bytes], topics: list[str | None]
) -> tuple[list[dict[str, Any]] | None, dict[int, str]]:
    """What the payloads of a relational stream say, and which rows of any stream are no messages of it, and why."""
    streams = Streams({job.stream: job.declared})
    if job.declared.language == "relational" and max(map(len, payloads), default=0) <= MAX_MESSAGE:
        return job.declared.rows(payloads)
    messages = [Message(job.stream, payload, topic) for payload, topic in zip(payloads, topics, strict=True)]
    refusals = ((row, streams.refusal(message)) for row, message in enumerate(messages))
    return None, {row: unfit for row, unfit in refusals if unfit is not None}


class Task:
    """One partition of one batch."""

    def __init__(self, job: Job, batch: int, matching: StreamMatching, plans: dict[str, Switch]) -> None:
        self._job = job
        self._base = batch << BATCH_BITS
        self._matching = matching
        self._plans = plans
        """By source; as the driver saw them, and newer ones."""
        self._followed: dict[str, Followed] = {}
        self._ends: dict[str, _End] = {}
        self.messages = self.matched = self.dead = 0
        self.append_s = self.route_s = 0.0
        self.samples: list[str] = []

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with connect_blocking(self._job.url) as client:
            now_ms = round(1000 * client.connection.overlay_time()[0])
            for batch in batches:
                found = checked(self._job, batch, now_ms)
                self.dead += len(found.dead)
                self.messages += len(found.messages)
                for place, messages, rows in _runs(found):
                    self._take(client, place, messages, rows)
            begun = time.perf_counter()
            for end in self._ends.values():
                self._durable(client, end)
            self.append_s += time.perf_counter() - begun
        yield self._tally()

    def _tally(self) -> pa.RecordBatch:
        epoch = max((followed.epoch for followed in self._followed.values()), default=-1)
        told = [self.messages, self.matched, self.dead, epoch, self.append_s, self.route_s]
        names = [column.split()[0] for column in TALLY.split(", ")]
        samples = pa.array([self.samples], pa.list_(pa.string()))
        return pa.RecordBatch.from_arrays([*(pa.array([value]) for value in told), samples], names)

    def _take(self, client: BlockingClient, place: str, messages: list[Message], rows: Rows | None) -> None:
        if place not in self._ends:
            source = self._job.source(place)
            self._ends[place] = _End(client.appending(f"{self._job.query}/{place}", source), source, self._base)
        end = self._ends[place]
        begun = time.perf_counter()
        frames = self._frames(client, end, messages, rows)
        self.route_s += time.perf_counter() - begun
        begun = time.perf_counter()
        for frame in frames:
            self._append(client, end, frame)
        end.next += len(messages)
        self.append_s += time.perf_counter() - begun

    def _frames(self, client: BlockingClient, end: _End, messages: list[Message], read: Rows | None) -> list[Append]:
        followed = self._follow(client, end.source, (0, 0))
        routes, matches = followed.route(messages, read)
        self.matched += int((matches.indptr[1:] > matches.indptr[:-1]).sum())
        bodies = [packed(message) for message in messages]
        frames, at = [], 0
        while at < len(bodies):
            count = fitting(len(body) for body in bodies[at : at + FRAME])
            first = end.next + at
            rows = [row for row in range(at, at + count) if (end.next + row) % self._job.sample == 0][:_SAMPLES]
            samples = [followed.profiles(matches, row) for row in rows]
            self._sampled(end.source, [messages[row] for row in rows], samples)
            part = bodies[at : at + count]
            origin, ways = end.appending.inner.origin, routes[at : at + count]
            frames.append(
                append_frame(origin, first, self._base, followed.epoch, part, ways, samples, followed.version)
            )
            at += count
        return frames

    def _sampled(self, source: str, messages: list[Message], profiles: list[tuple[str, ...]]) -> None:
        for message, names in zip(messages, profiles, strict=True):
            if len(self.samples) < _SAMPLES:
                body = message.payload.decode(errors="replace")
                about = {"stream": message.stream, "source": source, "time_ms": message.time_ms, "topic": message.topic}
                told = about | {"payload": body, "profiles": names}
                self.samples.append(msgspec.json.encode(told).decode())

    def _append(self, client: BlockingClient, end: _End, frame: Append) -> None:
        while True:
            try:
                end.appending.append(frame)
                return
            except Stale as stale:
                self._reroute(client, end, stale.by)
                frame = self._rerouted(self._follow(client, end.source, stale.by), frame)

    def _durable(self, client: BlockingClient, end: _End) -> None:
        while True:
            try:
                end.appending.drained()
                return
            except Stale as stale:
                self._reroute(client, end, stale.by)

    def _reroute(self, client: BlockingClient, end: _End, least: tuple[int, int]) -> None:
        """Match and route what is under way by the plan that counts by now."""
        followed = self._follow(client, end.source, least)
        end.appending.resume([self._rerouted(followed, frame) for frame in end.appending.inner.frames])

    def _rerouted(self, followed: Followed, frame: Append) -> Append:
        if (frame.epoch, frame.version) == followed.by:
            return frame
        routes, _ = followed.route([unpacked(body) for body in frame.bodies])
        return append_frame(
            frame.origin, frame.first, frame.since, followed.epoch, frame.bodies, routes, (), followed.version
        )  # fmt: skip

    def _follow(self, client: BlockingClient, source: str, least: tuple[int, int]) -> Followed:
        """The source's plan, of this epoch and version or later."""
        known = self._plans.get(source)
        until = time.monotonic() + PATIENCE_S
        while known is None or by(known) < least:
            known = client.plan(source)
            if known is None or by(known) < least:
                if time.monotonic() > until:
                    raise SemcastError(f"{source} follows no plan")
                time.sleep(0.1)
        self._plans[source] = known
        followed = self._followed.get(source)
        if followed is None or followed.by != by(known):
            followed = self._followed[source] = Followed(known, source, self._matching)
        self._matching.follow(known)  # another source of this task may be a plan ahead
        return followed


class _End:
    """Where the messages of one place go, and the number of the next."""

    def __init__(self, appending: BlockingAppending, source: str, first: int) -> None:
        self.appending = appending
        self.source = source
        self.next = first


def _runs(found: Checked) -> Iterator[tuple[str, list[Message], Rows | None]]:
    """Messages of one place that stand together, and what they say."""
    first = 0
    for at in range(1, len(found.places) + 1):
        if at == len(found.places) or found.places[at] != found.places[first]:
            yield found.places[first], found.messages[first:at], None if found.rows is None else found.rows[first:at]
            first = at


_kept: dict[str, tuple[StreamMatching, dict[str, Switch]]] = {}
"""Of this worker process, by query: what it follows, newer than what the driver knew when it sent a task."""


def followed_here(key: str, sent: Any) -> tuple[StreamMatching, dict[str, Switch]]:
    """What was sent, or what this worker has followed since, if that is newer."""
    kept = _kept.get(key)
    if kept is None or kept[0].by < sent[0].by:
        _kept.clear()
        kept = _kept[key] = sent
    return kept
