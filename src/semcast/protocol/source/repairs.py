"""Answers from the log: what a gateway misses, and what a profile matched before it was subscribed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from semcast.model.message import ProfileText, unpacked
from semcast.protocol.contract import Command, Send
from semcast.protocol.filters import Filter
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Log, Record
from semcast.protocol.wire.frames import Caught, Fetch, Fill, Key, Repair
from semcast.protocol.wire.framing import fitting

_MOST_BYTES = 8 * 1024 * 1024  # of an answer, but for the last message
_SCANNED = 16  # records looked at per record that may be sent: an answer takes bounded time


@lru_cache(maxsize=256)
def _matching(profile: ProfileText) -> Filter[int]:
    return Filter({0: profile})


Stand = tuple[int, int, tuple[tuple[Key, int], ...], int, int]
"""Of a source: its plan and since when, its counts for a gateway, the roster's version and since when."""


class _Read(NamedTuple):
    records: list[Record]
    through: int
    more: bool
    lost: int
    """Everything through here is gone; 0: nothing that was asked for is."""


class Repairs:
    """Reads a source's log for gateways."""

    def __init__(self, source: str, log: Log, incarnation: int, settings: Settings) -> None:
        self._source = source
        self._log = log
        self._incarnation = incarnation
        self._settings = settings

    def fetch(self, fetch: Fetch, bit: int, sent: int, known: int, stand: Stand) -> list[Command]:
        """All that was for a gateway; ``known`` is the position behind which its interests were matched."""
        epoch, since, counts, *version = stand
        if fetch.first is None:
            place = Caught(
                self._source, fetch.request, self._incarnation, sent, sent, 0, 0, False, epoch, since, counts,
                *version,
            )  # fmt: skip
            return [Send(fetch.gateway, place)]
        have = set(fetch.have)

        def wanted(records: list[Record]) -> list[Record]:
            return [
                record
                for record in records
                if record.number not in have and any(mask >> bit & 1 for _, mask in record.routes)
            ]

        end = sent if fetch.through is None else min(sent, fetch.through)
        found = self._read(fetch.first, max(self._log.trimmed, known), end, fetch.credit, wanted)
        more = found.more or fetch.through is not None
        caught = Caught(
            self._source, fetch.request, self._incarnation, fetch.first, found.through, len(found.records),
            found.lost, more, epoch, since, () if more else counts, *version,
        )  # fmt: skip
        return [*self._sent(fetch.gateway, fetch.request, found.records), Send(fetch.gateway, caught)]

    def fill(self, fill: Fill, sent: int) -> list[Command]:
        """All that a profile matches."""
        matching = _matching(fill.profile)

        def wanted(records: list[Record]) -> list[Record]:
            matched = matching.match([unpacked(record.body) for record in records])
            return [record for record, names in zip(records, matched, strict=True) if names and record.epoch]

        found = self._read(fill.first, self._log.trimmed, sent, fill.credit, wanted)
        caught = Caught(
            self._source, fill.request, self._incarnation, fill.first, found.through, len(found.records),
            found.lost, found.more,
        )  # fmt: skip
        return [*self._sent(fill.gateway, fill.request, found.records), Send(fill.gateway, caught)]

    def _read(
        self, first: int, gone: int, through: int, credit: int, wanted: Callable[[list[Record]], list[Record]]
    ) -> _Read:
        """At most ``credit`` wanted records, and the position through which there are no others.

        ``gone`` is where the log begins. An answer ends before a hole that damage left in the log, and the next one
        names it as lost: it begins there.
        """
        place = begin = self._present(max(first, gone), through)
        lost = begin if begin > first else 0
        found: list[Record] = []
        left, size = credit * _SCANNED, 0
        while place < through and left > 0:
            records = _together(place, self._log.read(place, through, min(left, self._settings.batch)))
            if not records:
                break
            for record in wanted(records):
                if len(found) == credit or (found and size + len(record.body) > _MOST_BYTES):
                    return _Read(found, record.number - 1, True, lost)
                found.append(record)
                size += len(record.body)
            place, left = records[-1].number, left - len(records)
        return _Read(found, place, place < through, lost)

    def _present(self, place: int, through: int) -> int:
        """Where there is a record next behind a position, or nothing any more."""
        if place >= through:
            return place
        following = self._log.read(place, through, 1)
        return following[0].number - 1 if following else through

    def _sent(self, gateway: str, request: int, records: list[Record]) -> list[Command]:
        commands: list[Command] = []
        while records:
            part = records[: self._settings.batch]
            part = part[: fitting(len(record.body) for record in part)]
            numbers, bodies = tuple(record.number for record in part), tuple(record.body for record in part)
            commands.append(Send(gateway, Repair(self._source, request, numbers, bodies)))
            records = records[len(part) :]
        return commands


def _together(place: int, records: list[Record]) -> list[Record]:
    """Those that follow a position without a hole between them."""
    if not records or records[-1].number == place + len(records):
        return records
    return [record for at, record in enumerate(records, place + 1) if record.number == at]
