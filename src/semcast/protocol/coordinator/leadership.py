"""The lead: what a coordinator has asked the store for, and until when it may speak.

The lead counts from the moment when it was asked for, since the store may have granted it then. A slow store is asked
more often, and several requests are under way at a time: an answer that took 2 s still leaves some of a lead of 3 s,
if the next answer is close behind it.
"""

from __future__ import annotations

from enum import Enum

from semcast.protocol.contract import AskLead
from semcast.protocol.settings import Settings

CAREFUL = 1.25
"""Clocks may run a little differently: who waits for another's time to be over waits longer."""
_SHARE, _SHORTEST_SHARE = 1 / 8, 1 / 15
"""Of a lead, between two requests: at most, and at least. With a third, a store that becomes slow from one call to the
next (2 s, where a lead lasts 3 s) would hear of the renewal when the lead is over."""
_MOST = 12
"""Requests under way."""


class Verdict(Enum):
    """What an answer of the store means."""

    NOTHING = "nothing new"
    RENEWED = "renewed"
    NEW_TERM = "a new term"
    LOST = "another leads"


class Leadership:
    """One coordinator's claim to the lead."""

    def __init__(self, who: str, settings: Settings) -> None:
        self.term = 0
        self._who = who
        self._settings = settings
        self._above = 0
        """Terms up to this one are spent: a write of theirs may still be on its way to the store."""
        self._until = float("-inf")
        self._asked: dict[int, float] = {}
        self._asked_at = float("-inf")
        self._took_s = 0.0
        """How long the last answer took."""
        self._granted = 0
        """The newest request that was granted."""

    def holds(self, now: float) -> bool:
        """May it speak, as far as its own clock says?"""
        return now < self._until

    def due(self, now: float) -> bool:
        """Is it time to ask again? The slower the store is, the sooner."""
        oldest = min(self._asked.values(), default=now)
        slow_s = max(self._took_s, now - oldest)
        lead_s = self._settings.leader_s
        pause_s = max(min((lead_s / CAREFUL - slow_s) / 2, lead_s * _SHARE), lead_s * _SHORTEST_SHARE)
        return len(self._asked) < _MOST and now - self._asked_at >= pause_s

    def ask(self, number: int, now: float) -> AskLead:
        self._asked_at = self._asked[number] = now
        return AskLead(number, self._who, self._settings.leader_s, self._above)

    def answered(self, number: int, term: int | None, now: float) -> Verdict:
        """The store has said who leads: this one, in a term, or another (None)."""
        asked_at = self._asked.pop(number)
        self._took_s = now - asked_at
        if term is None:
            # An answer that was overtaken by a later grant says nothing of now.
            return self._lost() if number > self._granted else Verdict.NOTHING
        if term < self.term or term <= self._above:
            return Verdict.NOTHING
        self._granted = max(self._granted, number)
        new = term > self.term
        if new:
            self.term, self._until = term, float("-inf")
        # A little less than was granted: it must be over here before it is over there.
        self._until = max(self._until, asked_at + self._settings.leader_s / CAREFUL)
        return Verdict.NEW_TERM if new else Verdict.RENEWED

    def failed(self, number: int) -> bool:
        """A request was not answered; was it one for the lead? The lead goes on for as long as it was granted."""
        return self._asked.pop(number, None) is not None

    def spend(self) -> None:
        """Never speak in this term again: what becomes of its last write is not known."""
        self._above = max(self._above, self.term)
        self._until = self._asked_at = float("-inf")

    def _lost(self) -> Verdict:
        self._until = float("-inf")
        return Verdict.LOST
