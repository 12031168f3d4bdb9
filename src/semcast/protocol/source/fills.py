"""What profiles matched before they were subscribed where they are now, from the log.

When a gateway falls, thousands of sessions go to another one at once, and each asks for what it has missed. One search
at a time, for one profile, takes 1 to 10 ms of a source's event loop. So those that wait are searched for together: the
log is read once for all of them, some of it in a turn.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

from semcast.model.message import ProfileText, unpacked
from semcast.protocol.contract import Command, Continue, Send
from semcast.protocol.filters import Filter
from semcast.protocol.settings import Settings
from semcast.protocol.source.log_answers import MOST_BYTES, SCANNED, present, repairs, together
from semcast.protocol.stores import Log, Record
from semcast.protocol.wire.frames import Caught, Fill

_TURN = 1024
"""Records that are looked at in a turn: about 5 ms."""
_TOGETHER = 100
_BEGUN = 4
"""A profile that is searched for costs as much as so many records."""


@lru_cache(maxsize=256)
def _alone(profile: ProfileText) -> Filter[int]:
    return Filter({0: profile})


class Fills:
    """Questions of gateways to a source's log, and the search that is under way."""

    def __init__(self, source: str, log: Log, incarnation: int, settings: Settings) -> None:
        self._source, self._log, self._incarnation, self._settings = source, log, incarnation, settings
        self._waiting: dict[tuple[str, ProfileText, int], Fill] = {}
        """A question that is asked again takes the place of the first: nobody waits for two answers."""
        self._search: _Search | None = None
        self._spent = 0

    def ask(self, fill: Fill, sent: int) -> list[Command]:
        """A gateway asks; the answer comes at once, where the turn has time for it."""
        self._waiting[fill.gateway, fill.profile, fill.first] = fill
        return self._go_on(sent)

    def proceed(self, sent: int) -> list[Command]:
        """Another turn has begun."""
        self._spent = 0
        return self._go_on(sent)

    def _go_on(self, sent: int) -> list[Command]:
        commands: list[Command] = []
        while self._spent < _TURN and (self._search is not None or self._waiting):
            if self._search is None:
                keys = list(islice(self._waiting, _TOGETHER))
                self._search = _Search(self._log, [self._waiting.pop(key) for key in keys], sent, self._settings.batch)
                self._spent += _BEGUN * len(keys)
            self._spent += self._search.step()
            for answer in self._search.ended():
                commands += self._said(answer)
            if not self._search.open:
                self._search = None
        return commands + ([Continue()] if self._search is not None or self._waiting else [])

    def _said(self, answer: _Answer) -> list[Command]:
        fill, found = answer.fill, answer.found
        caught = Caught(
            self._source, fill.request, self._incarnation, fill.first, answer.place, len(found), answer.lost,
            answer.more,
        )  # fmt: skip
        parts = repairs(self._source, fill.gateway, fill.request, found, self._settings.batch)
        return [*parts, Send(fill.gateway, caught)]


class _Answer:
    """All that a profile matches behind a position, at most ``credit`` of it."""

    def __init__(self, fill: Fill, begin: int) -> None:
        self.fill = fill
        self.place = begin
        """Nothing else matches through here."""
        self.lost = begin if begin > fill.first else 0
        self.more = False
        self.found: list[Record] = []
        self.left = fill.credit * SCANNED
        self._size = 0

    def take(self, record: Record) -> None:
        if self.more or record.number <= self.place:
            return
        size = self._size + len(record.body)
        if len(self.found) == self.fill.credit or (self.found and size > MOST_BYTES):
            self.place, self.more = record.number - 1, True
        else:
            self.found.append(record)
            self._size = size


class _Search:
    """One reading of the log for several questions."""

    def __init__(self, log: Log, fills: list[Fill], through: int, batch: int) -> None:
        self._log, self._through, self._batch = log, through, batch
        self.open = {
            n: _Answer(fill, present(log, max(fill.first, log.trimmed), through)) for n, fill in enumerate(fills)
        }
        self._matching = (
            _alone(fills[0].profile) if len(fills) == 1 else Filter({n: f.profile for n, f in enumerate(fills)})
        )
        self._ended: list[_Answer] = []

    def ended(self) -> list[_Answer]:
        """Those that are whole since this was last asked."""
        ended, self._ended = self._ended, []
        return ended

    def step(self) -> int:
        """Look at some more of the log; how many records that were."""
        place = min(answer.place for answer in self.open.values())
        records = self._log.read(place, self._through, self._batch) if place < self._through else []
        records = together(place, records)
        if not records:  # the end, or a hole that damage left: the next question names it as lost
            for number in [n for n, answer in self.open.items() if answer.place == place]:
                self._end(number)
            return 1
        matched = self._matching.match([unpacked(record.body) for record in records])
        for record, numbers in zip(records, matched, strict=True):
            if record.epoch:  # else it waits to be routed elsewhere
                for number in numbers:
                    if number in self.open:
                        self.open[number].take(record)
        self._reached(records[-1].number)
        return len(records)

    def _reached(self, place: int) -> None:
        for number, answer in list(self.open.items()):
            if not answer.more and answer.place < place:
                answer.left -= place - answer.place
                answer.place = place
            if answer.more or answer.left <= 0:
                self._end(number)

    def _end(self, number: int) -> None:
        answer = self.open.pop(number)
        answer.more = answer.more or answer.place < self._through
        self._ended.append(answer)
