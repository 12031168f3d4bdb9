"""How far away others are, and what their clocks say: from pings, with the error stated."""

from __future__ import annotations

from dataclasses import dataclass

_KEPT = 0.9
"""How much of the older estimate stays when a new round trip is measured."""
_FORGET = 1.05
"""An old best round trip counts a little less at each measurement: clocks drift, and ways change."""


@dataclass(slots=True)
class Clock:
    """Another party's clock, seen from here."""

    rtt_s: float
    """Round trip, smoothed."""
    offset_s: float
    """What its clock is ahead of ours, at the quickest round trip of late."""
    error_s: float
    """The offset is within so much: half of that round trip."""


class Clocks:
    """Everybody's that was pinged."""

    def __init__(self) -> None:
        self.known: dict[str, Clock] = {}

    def heard(self, name: str, sent_at: float, theirs: float, now: float) -> None:
        """A pong: sent and received at these times of our clock, answered at that of theirs."""
        rtt = max(0.0, now - sent_at)
        offset, error = theirs - (sent_at + now) / 2, rtt / 2
        known = self.known.get(name)
        if known is None:
            self.known[name] = Clock(rtt, offset, error)
            return
        known.rtt_s = _KEPT * known.rtt_s + (1 - _KEPT) * rtt
        known.error_s *= _FORGET
        if error <= known.error_s:
            known.offset_s, known.error_s = offset, error

    def forget(self, name: str) -> None:
        self.known.pop(name, None)
