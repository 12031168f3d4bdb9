"""Answers from the log: what a gateway misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from semcast.protocol.contract import Command, Send
from semcast.protocol.settings import Settings
from semcast.protocol.source.log_answers import MOST_BYTES, SCANNED, present, repairs, together
from semcast.protocol.stores import Log, Record
from semcast.protocol.wire.frames import Caught, Fetch, Key

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
        return [
            *repairs(self._source, fetch.gateway, fetch.request, found.records, self._settings.batch),
            Send(fetch.gateway, caught),
        ]

    def _read(
        self, first: int, gone: int, through: int, credit: int, wanted: Callable[[list[Record]], list[Record]]
    ) -> _Read:
        """At most ``credit`` wanted records, and the position through which there are no others.

        ``gone`` is where the log begins. An answer ends before a hole that damage left in the log, and the next one
        names it as lost: it begins there.
        """
        place = begin = present(self._log, max(first, gone), through)
        lost = begin if begin > first else 0
        found: list[Record] = []
        left, size = credit * SCANNED, 0
        while place < through and left > 0:
            records = together(place, self._log.read(place, through, min(left, self._settings.batch)))
            if not records:
                break
            for record in wanted(records):
                if len(found) == credit or (found and size + len(record.body) > MOST_BYTES):
                    return _Read(found, record.number - 1, True, lost)
                found.append(record)
                size += len(record.body)
            place, left = records[-1].number, left - len(records)
        return _Read(found, place, place < through, lost)
