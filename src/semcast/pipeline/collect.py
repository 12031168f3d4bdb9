"""Matched messages as statistics: found on Spark, split by split, and brought here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semcast.matching import Language
from semcast.matching.matches import Matches, pointers
from semcast.model import Kind, Schema, SemcastError
from semcast.pipeline.failures import failing_at
from semcast.pipeline.messages import Matched, Source, prepared
from semcast.pipeline.tally import Tally

Number = TypeVar("Number", np.int32, np.float64)

_NONE, _STRAY = -1, -2
_TEXT, _TIME = frozenset({Kind.STRING}), frozenset({Kind.NUMBER, Kind.TIMESTAMP})


class SourceColumn(NamedTuple):
    """The column of messages that names the broker at which each enters the overlay, and the brokers it may name."""

    name: str
    sources: tuple[str, ...]


class Collected(NamedTuple):
    """The matches of all messages, a row per message in order; bad rows match nothing."""

    matches: Matches
    tally: Tally
    places: NDArray[np.int64] | None
    """Per message the place of its source in ``SourceColumn.sources``; -1 where it names none."""
    times: NDArray[np.float64] | None = None
    """Per message its time in seconds; NaN where it tells none."""


def collect_matches(
    source: Source,
    chosen: Language[Any],
    profiles: Sequence[Any],
    schema: Schema | None,
    column: SourceColumn | None = None,
    time: str | None = None,
) -> Collected:
    """Match all messages on Spark and bring the matches here; ``time`` is the column with the messages' times."""
    if column is not None:
        _check(source, column.name, "name the source of messages")
    if time is not None:
        _check(source, time, "tell the time of messages")
    with failing_at(str(source.path)):
        return _collected(source, chosen, profiles, schema, column, time)


def _check(source: Source, column: str, purpose: str) -> None:
    if source.format == "xml":
        raise SemcastError(f"{source.path}: XML documents have no columns, so none can {purpose}")
    for near in source.missing([column]).values():
        hint = f"; did you mean {near!r}?" if near else ""
        raise SemcastError(f"{source.path} has no column {column!r} to {purpose}{hint}")


def _collected(
    source: Source,
    chosen: Language[Any],
    profiles: Sequence[Any],
    schema: Schema | None,
    column: SourceColumn | None,
    time: str | None,
) -> Collected:
    beside = {column.name: _TEXT} if column is not None else {}
    if time is not None:
        beside[time] = _TIME
    load = prepared(source, chosen, profiles, schema, source.splits(), beside)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher, job = load()
        tally = Tally()
        for found in job.run(matcher, batches, tally):
            yield _row(found, column, time)
        yield _row(Matched(-1, Matches.none(0), {}), None, None, msgspec.json.encode(tally).decode())

    columns = (
        "first long, counts array<int>, profiles array<int>, places array<int>, times array<double>, stray string, "
        "tally string"
    )
    rows = source.frame().mapInArrow(run, columns).toArrow()
    total = Tally()
    for text in rows.column("tally").drop_null().to_pylist():
        total.add(msgspec.json.decode(text, type=Tally))
    rows = rows.filter(rows.column("tally").is_null()).sort_by("first")
    counts, indices, places = (_flat(rows.column(name), np.int32) for name in ("counts", "profiles", "places"))
    if column is not None:
        _complain(source, column, places, rows.column("stray").drop_null().to_pylist())
    matches = Matches(pointers(counts), indices)
    times = _flat(rows.column("times"), np.float64) if time is not None else None
    return Collected(matches, total, places.astype(np.int64) if column else None, times)


def _complain(source: Source, column: SourceColumn, places: NDArray[np.int32], stray: list[str]) -> None:
    if len(places) and (places == _NONE).all():
        raise SemcastError(f"{source.path}: no message names its source in {column.name!r}")
    if stray:
        row = int(np.flatnonzero(places == _STRAY)[0])
        known = ", ".join(map(repr, column.sources))
        raise SemcastError(
            f"{source.path}: message {row} comes from {stray[0]!r} ({column.name}), which is no source; given: {known}"
        )


def _row(found: Matched, column: SourceColumn | None, time: str | None, tally: str | None = None) -> pa.RecordBatch:
    matches = found.matches
    places, stray = np.empty(0, np.int32), None
    if column is not None:
        texts = found.beside[column.name].cast(pa.string())
        known = pc.index_in(texts, value_set=pa.array(column.sources, pa.string()))
        unknown = pc.and_(pc.is_null(known), pc.is_valid(texts))
        places = np.where(unknown, _STRAY, known.fill_null(_NONE).to_numpy(zero_copy_only=False))
        stray = next(iter(texts.filter(unknown).slice(0, 1).to_pylist()), None)
    times = [] if time is None else [_seconds(value) for value in found.beside[time].to_pylist()]
    columns = {
        "first": pa.array([found.first], pa.int64()),
        "counts": pa.array([np.asarray(matches.counts(), np.int32)], pa.list_(pa.int32())),
        "profiles": pa.array([np.asarray(matches.indices, np.int32)], pa.list_(pa.int32())),
        "places": pa.array([np.asarray(places, np.int32)], pa.list_(pa.int32())),
        "times": pa.array([np.asarray(times, np.float64)], pa.list_(pa.float64())),
        "stray": pa.array([stray], pa.string()),
        "tally": pa.array([tally], pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _seconds(value: Any) -> float:
    """A number is seconds already, a moment is counted from 1970; NaN of what is neither."""
    if isinstance(value, datetime):
        return value.timestamp() if value.tzinfo is not None else value.replace(tzinfo=UTC).timestamp()
    return float(value) if isinstance(value, int | float | Decimal) and isfinite(value) else np.nan


def _flat(column: Any, type_: type[Number]) -> NDArray[Number]:
    parts: list[NDArray[Number]] = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate([np.empty(0, type_), *parts]).astype(type_, copy=False)
