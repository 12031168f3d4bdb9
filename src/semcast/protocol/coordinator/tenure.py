"""A coordinator's dealings with the store: leading, reading what was decided, and writing before anything is said.

The machine asks by commands and hears by events. A write whose outcome is not known ends the term: done or not, it may
still be done later, and only in another term, which shuts it out, is what is read then true.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from semcast.protocol.contract import (
    Command,
    CommitStore,
    LeadAnswered,
    Note,
    ReadStore,
    StoreCommitted,
    StoreEvent,
    StoreFailed,
    StoreRead,
)
from semcast.protocol.coordinator.leadership import Leadership, Verdict
from semcast.protocol.coordinator.ledger import Ledger
from semcast.protocol.settings import Settings

Step = Callable[[float], list[Command]]
"""Something to do when its time has come, which it is told."""


class Tenure:
    """The lead, the ledger, and what waits until the ledger is durable.

    ``begins`` is done when a term begins and the ledger was read, ``resumes`` when the lead had lapsed within a term.
    """

    def __init__(self, who: str, settings: Settings, begins: Step, resumes: Callable[[float], None]) -> None:
        self.ledger = Ledger(settings)
        self._settings = settings
        self._lead = Leadership(who, settings)
        self._begins, self._resumes = begins, resumes
        self._numbers = 0
        self._reading: int | None = None
        self._committing: int | None = None
        """The requests that the store has to answer."""
        self._knows = False
        """Was the ledger read in this term?"""
        self._resting: deque[tuple[int, Step]] = deque()
        """Steps, each with the batch of the ledger that it rests on."""
        self._store_gone = False

    @property
    def term(self) -> int:
        return self._lead.term

    def leads(self, now: float) -> bool:
        return self._knows and self._lead.holds(now)

    def ask(self, now: float) -> list[Command]:
        """Ask for the lead where it is time to."""
        return [self._lead.ask(self._number(), now)] if self._lead.due(now) else []

    def commit(self) -> list[Command]:
        """Write what was decided, one batch at a time."""
        changes = self.ledger.to_commit() if self._knows and self._committing is None else None
        if changes is None:
            return []
        self._committing = self._number()
        return [CommitStore(self._committing, self.term, changes)]

    def when_durable(self, step: Step, now: float) -> list[Command]:
        """Take a step when all that was decided so far is durable."""
        return self._put(self.ledger.batch, step, now)

    def when_leading(self, step: Step, now: float) -> list[Command]:
        """Take a step now, or when a lead that has lapsed is renewed; never in another term."""
        return self._put(self.ledger.written, step, now) if self._knows else []

    def heard(self, event: StoreEvent, now: float) -> list[Command]:
        """The store has answered, or has not."""
        match event:
            case LeadAnswered(number, term):
                return self._lead_answered(number, term, now)
            case StoreRead(number, values, ledger) if number == self._reading:
                self._reading, self._knows = None, True
                self.ledger.adopt(ledger if ledger is not None else Ledger.of(values, self._settings))
                return self.when_leading(self._begins, now)
            case StoreCommitted(number) if number == self._committing:
                self._committing = None
                self.ledger.committed()
                return self._rested(now)
            case StoreFailed():
                return self._failed(event, now)
        return []

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _put(self, batch: int, step: Step, now: float) -> list[Command]:
        self._resting.append((batch, step))
        return self._rested(now)

    def _rested(self, now: float) -> list[Command]:
        """Take the steps that wait for nothing any more; a coordinator whose lead has lapsed takes none."""
        commands: list[Command] = []
        while self._resting and self._resting[0][0] <= self.ledger.written and self.leads(now):
            _, step = self._resting.popleft()
            commands += step(now)
        return commands

    def _lead_answered(self, number: int, term: int | None, now: float) -> list[Command]:
        led, self._store_gone = self.leads(now), False
        verdict = self._lead.answered(number, term, now)
        if verdict in (Verdict.LOST, Verdict.NEW_TERM):
            self._abdicate()
        if verdict in (Verdict.LOST, Verdict.NOTHING):
            return []
        if not self._knows:
            return self._read()
        if led or not self.leads(now):
            return []
        # Nobody else led meanwhile, else the term would be another: all is as it was, but nobody was listened to.
        self._resumes(now)
        return self._rested(now)

    def _read(self) -> list[Command]:
        """Read the ledger. What earlier terms wrote is in it, and nothing of theirs can follow."""
        if self._reading is not None:
            return []
        self._reading = self._number()
        return [ReadStore(self._reading)]

    def _failed(self, failed: StoreFailed, now: float) -> list[Command]:
        if failed.number == self._committing:
            self._abdicate()
            self._lead.spend()
            self.ledger.forget()
            self._store_gone = not failed.fenced
            return [Note("deposed", {"term": self.term}) if failed.fenced else Note("no store"), *self.ask(now)]
        if failed.number == self._reading:
            self._reading = None  # read again when the lead is renewed
        elif not self._lead.failed(failed.number):
            return []
        told, self._store_gone = self._store_gone, True
        return [] if told else [Note("no store")]

    def _abdicate(self) -> None:
        """What this coordinator knows counts no more, and what rests on its last decisions is never said."""
        self._knows = False
        self._reading = self._committing = None
        self._resting.clear()
