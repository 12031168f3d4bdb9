"""Answers from the log: what a gateway misses, and what a profile matched before it was subscribed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from semcast.model.message import ProfileText, unpacked
from semcast.protocol.filters import Filter
from semcast.protocol.frames import Caught, Fetch, Fill, Key, Repair
from semcast.protocol.framing import fitting
from semcast.protocol.machine import Command, Send, Settings
from semcast.protocol.stores import Log, Record

_MOST_BYTES = 8 * 1024 * 1024  # of an answer, but for the last message
_SCANNED = 16  # records looked at per record that may be sent: an answer takes bounded time


@lru_cache(maxsize=256)
def _matching(profile: ProfileText) -> Filter[int]:
    return Filter({0: profile})


class _Read(NamedTuple):
    records: list[Record]
    through: int
    more: bool


class Repairs:
    """Reads a source's log for gateways."""

    def __init__(self, source: str, log: Log, incarnation: int, settings: Settings) -> None:
        self._source = source
        self._log = log
        self._incarnation = incarnation
        self._settings = settings

    def fetch(
        self, fetch: Fetch, bit: int, sent: int, known: int, stand: tuple[int, int, tuple[tuple[Key, int], ...]]
    ) -> list[Command]:
        """All that was for a gateway; ``known`` is the position behind which its interests were matched."""
        epoch, since, counts = stand
        if fetch.first is None:
            place = Caught(
                self._source, fetch.request, self._incarnation, sent, sent, 0, epoch=epoch, since=since, counts=counts
            )
            return [Send(fetch.gateway, place)]
        have = set(fetch.have)

        def wanted(records: list[Record]) -> list[Record]:
            return [
                record
                for record in records
                if record.number not in have and any(mask >> bit & 1 for _, mask in record.routes)
            ]

        lost = max(self._log.trimmed, known)
        end = sent if fetch.through is None else min(sent, fetch.through)
        found = self._read(max(fetch.first, lost), end, fetch.credit, wanted)
        more = found.more or fetch.through is not None
        caught = Caught(
            self._source, fetch.request, self._incarnation, fetch.first, found.through, len(found.records),
            lost if lost > fetch.first else 0, more, epoch, since, () if more else counts,
        )  # fmt: skip
        return [*self._sent(fetch.gateway, fetch.request, found.records), Send(fetch.gateway, caught)]

    def fill(self, fill: Fill, sent: int) -> list[Command]:
        """All that a profile matches."""
        matching = _matching(fill.profile)

        def wanted(records: list[Record]) -> list[Record]:
            matched = matching.match([unpacked(record.body) for record in records])
            return [record for record, names in zip(records, matched, strict=True) if names]

        lost = self._log.trimmed
        found = self._read(max(fill.first, lost), sent, fill.credit, wanted)
        caught = Caught(
            self._source, fill.request, self._incarnation, fill.first, found.through, len(found.records),
            lost if lost > fill.first else 0, found.more,
        )  # fmt: skip
        return [*self._sent(fill.gateway, fill.request, found.records), Send(fill.gateway, caught)]

    def _read(self, first: int, through: int, credit: int, wanted: Callable[[list[Record]], list[Record]]) -> _Read:
        """At most ``credit`` wanted records, and the position through which there are no others."""
        found: list[Record] = []
        place, left, size = first, credit * _SCANNED, 0
        while place < through and left > 0:
            records = self._log.read(place, through, min(left, self._settings.batch))
            if not records:
                place = through
                break
            for record in wanted(records):
                if len(found) == credit or (found and size + len(record.body) > _MOST_BYTES):
                    return _Read(found, record.number - 1, True)
                found.append(record)
                size += len(record.body)
            place, left = records[-1].number, left - len(records)
        return _Read(found, max(place, first), place < through)

    def _sent(self, gateway: str, request: int, records: list[Record]) -> list[Command]:
        commands: list[Command] = []
        while records:
            part = records[: self._settings.batch]
            part = part[: fitting(len(record.body) for record in part)]
            numbers, bodies = tuple(record.number for record in part), tuple(record.body for record in part)
            commands.append(Send(gateway, Repair(self._source, request, numbers, bodies)))
            records = records[len(part) :]
        return commands
