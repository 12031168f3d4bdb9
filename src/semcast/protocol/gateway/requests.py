"""A gateway's questions to logs: one at a time per source, and per session and source; asked again if unanswered."""

from __future__ import annotations

from dataclasses import dataclass, field

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command, Send
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Caught, Fetch, Fill, Repair

_LONGEST = 4


@dataclass(slots=True)
class Request:
    """A question, and what has come of its answer."""

    number: int
    asked_at: float
    pause_s: float
    """Asked again after so long: longer each time, or whoever is slow to answer would become slower still."""
    session: str | None = None
    profile: ProfileText | None = None
    found: dict[int, bytes] = field(default_factory=dict)
    """What has come, for a session; numbers alone for the gateway, which takes messages in as they come."""


class Requests:
    """Open questions, by source and session."""

    def __init__(self, gateway: str, settings: Settings, incarnation: int) -> None:
        self._gateway = gateway
        self._settings = settings
        # An answer to a question from before a crash must not be taken for one to a new question.
        self._number = incarnation << 32
        self._open: dict[tuple[str, str | None], Request] = {}
        self._numbered: dict[tuple[str, int], Request] = {}
        """The same by source and number: there may be thousands."""

    def fetch(self, inbox: Inbox, now: float) -> list[Command]:
        """Ask for what an inbox misses."""
        request = self._begin((inbox.source, None), now)
        if request is None:
            return []
        first = None if inbox.begun is None else inbox.frontier
        through = inbox.through if first is not None else None
        frame = Fetch(self._gateway, request.number, first, inbox.have, self._settings.credit, through)
        return [Send(inbox.source, frame)]

    def fill(self, session: Session, source: str, wanted: tuple[ProfileText, int], now: float) -> list[Command]:
        """Ask for what a session has not been sent."""
        request = self._begin((source, session.id), now)
        if request is None:
            return []
        request.profile, first = wanted
        credit = min(self._settings.credit, session.room)
        return [Send(source, Fill(self._gateway, request.number, request.profile, first, credit))]

    def _begin(self, where: tuple[str, str | None], now: float) -> Request | None:
        known = self._open.get(where)
        if known is not None and now - known.asked_at < known.pause_s:
            return None
        again = self._settings.resend_s
        pause_s = again if known is None else min(2 * known.pause_s, _LONGEST * again)
        if known is not None:
            del self._numbered[where[0], known.number]
        self._number += 1
        request = self._open[where] = Request(self._number, now, pause_s, where[1])
        self._numbered[where[0], request.number] = request
        return request

    def _find(self, source: str, number: int) -> Request | None:
        return self._numbered.get((source, number))

    def came(self, repair: Repair) -> Request | None:
        """A part of an answer; None where nobody waits for it."""
        request = self._find(repair.source, repair.request)
        if request is not None:
            bodies = repair.bodies if request.session is not None else (b"",) * len(repair.numbers)
            request.found |= dict(zip(repair.numbers, bodies, strict=True))
        return request

    def finish(self, caught: Caught) -> Request | None:
        """The end of an answer; None where it is incomplete, and will be asked for again, or nobody waits for it."""
        request = self._find(caught.source, caught.request)
        if request is None or len(request.found) != caught.sent:
            return None
        del self._open[caught.source, request.session]
        del self._numbered[caught.source, request.number]
        return request
