"""Calls to the coordinators' store on the virtual clock: each takes its time, is done at some moment of it, or is lost.

A call that is cut off may never be done, may be done although nobody hears of it, or may be done later, long after
its caller has given it up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semcast.protocol.contract import (
    AskLead,
    CommitStore,
    LeadAnswered,
    ReadStore,
    StoreCommand,
    StoreCommitted,
    StoreEvent,
    StoreFailed,
    StoreRead,
)
from semcast.protocol.stores import CoordinatorStore, FencedError
from semcast.sim.clock import Agenda, Chance
from semcast.sim.parties import Party
from semcast.sim.stores import StoreLine

_LATE_S = 3.0
"""A call that got stuck on its way is done at most so much later."""
_NEVER = 0.5
"""The share of calls into a cut that are never done."""
_LOST = "the store does not answer"


@dataclass
class _Call:
    party: Party
    incarnation: int
    line: StoreLine
    command: StoreCommand
    issued: int
    """Its place among all calls of the line."""
    answer_at: float
    answer: StoreEvent | None = None


class StoreCalls:
    """Makes coordinators' calls; ``feed`` gives a party what comes of one.

    ``broken`` is told of a write that was accepted although its caller has read the store since it sent it: what was
    read is not true any more, and the caller does not know.
    """

    def __init__(
        self,
        agenda: Agenda,
        chance: Chance,
        span_s: tuple[float, float],
        feed: Callable[[Party, StoreEvent], None],
        broken: Callable[[Party, str], None],
    ) -> None:
        self._agenda, self._chance, self._span_s = agenda, chance, span_s
        self._feed, self._broken = feed, broken

    def make(self, party: Party, line: StoreLine, command: StoreCommand) -> None:
        """Begin a call: it is done somewhere on the way, and answered at its end."""
        now = self._agenda.now
        takes_s = self._chance.between(*self._span_s)
        if line.slow_s:
            takes_s += self._chance.between(0.0, line.slow_s)
        line.issued += 1
        call = _Call(party, party.incarnation, line, command, line.issued, now + takes_s)
        self._agenda.put(now + self._chance.between(0.0, takes_s), self._arrive, call)
        self._agenda.put(call.answer_at, self._answer, call)

    def _arrive(self, call: _Call) -> None:
        if not call.line.cuts:
            call.answer = self._done(call)
        elif not self._chance.happens(_NEVER):
            self._agenda.put(self._agenda.now + self._chance.between(0.0, _LATE_S), self._arrive_late, call)

    def _arrive_late(self, call: _Call) -> None:
        self._done(call)  # whatever the store says, nobody hears it

    def _done(self, call: _Call) -> StoreEvent:
        """What the store says to a call that has reached it."""
        store, line = call.line.store, call.line
        match call.command:
            case AskLead(number, who, lease_s, above):
                return LeadAnswered(number, store.lead(who, lease_s, above))
            case ReadStore(number):
                line.read_at = line.issued
                return StoreRead(number, store.read())
            case CommitStore():
                return self._committed(call, call.command, store)

    def _committed(self, call: _Call, commit: CommitStore, store: CoordinatorStore) -> StoreEvent:
        try:
            store.commit(commit.term, commit.changes)
        except FencedError as error:
            return StoreFailed(commit.number, True, str(error))
        if call.line.read_at > call.issued:
            self._broken(call.party, f"{', '.join(sorted(commit.changes))} in term {commit.term}")
        return StoreCommitted(commit.number)

    def _answer(self, call: _Call) -> None:
        party = call.party
        if not party.alive or party.incarnation != call.incarnation:
            return
        if party.paused_until > self._agenda.now:
            self._agenda.put(party.paused_until, self._answer, call)
            return
        lost = call.answer is None or call.line.cuts
        self._feed(party, StoreFailed(call.command.number, False, _LOST) if lost else call.answer)  # type: ignore[arg-type]
