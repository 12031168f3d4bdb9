"""Which sessions are looked at when: those that have something to do in every tick, the others in turn.

A gateway may have a hundred thousand sessions of which a few get messages at a time. Whoever is offered something, owes
something or waits for something is *called*, and looked at in every tick until nothing is left to do. The others are
visited some at a time: to see whether their client is gone, to tell it how far it is, and to know what logs may forget.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice

from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.sessions import Session

VISITED = 250
"""Sessions without anything to do that are visited in a tick; where there are no more, each is visited every time."""
_CALLED = 250
"""Sessions with something to do that are visited in a tick; where there are more, they take turns."""


class Visits:
    """The sessions of one gateway, in turn."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions
        self._called: dict[str, Session] = dict(sessions)
        self._ring: deque[Session] = deque(sessions.values())
        self._left = len(self._ring)
        """Sessions that are to be visited in this round."""
        self._floors: dict[str, int] | None = None
        """Per source: in the last round that is over, nobody needed anything before. It only becomes more."""
        self._low: dict[str, int] = {}
        self._joined: list[dict[str, int]] = [{}, {}]
        """The same of those who have come since, in this round and in the last."""

    def came(self, session: Session) -> None:
        """A session is new, or another one under a name that was there before."""
        self._ring.append(session)
        self._called[session.id] = session
        for source in (*session.cursor, *session.tops):
            joined = self._joined[0]
            joined[source] = min(joined.get(source, 1 << 62), session.needed(source, 1 << 62))

    def forget(self, session: Session) -> None:
        self._called.pop(session.id, None)

    def call(self, session: Session) -> None:
        """It has something to do."""
        self._called[session.id] = session

    def called(self) -> list[Session]:
        return list(self._called.values())

    def next(self, inboxes: Mapping[str, Inbox]) -> Iterator[Session]:
        """Those that are looked at in this tick. Who has nothing left to do afterwards is not called again."""
        called = self._called
        due = list(islice(called.values(), _CALLED))
        for _ in range(min(VISITED, self._left)):
            session = self._ring.popleft()
            self._left -= 1
            if self._sessions.get(session.id) is not session:
                continue
            self._ring.append(session)
            for source in inboxes:
                needed = session.needed(source, 1 << 62)
                self._low[source] = min(self._low.get(source, needed), needed)
            if session.id not in called:
                due.append(session)
        if self._left <= 0:
            self._left = len(self._ring)
            self._floors, self._low = {source: self._low.get(source, 1 << 62) for source in inboxes}, {}
            self._joined = [{}, self._joined[0]]
        for session in due:
            if self._sessions.get(session.id) is not session:
                continue
            yield session
            if self._sessions.get(session.id) is not session:
                continue
            called.pop(session.id, None)
            if not session.idle:
                called[session.id] = session  # behind the others

    def floor(self, source: str, frontier: int) -> int:
        """No session needs anything of a source through here."""
        if len(self._sessions) <= VISITED:
            return min([frontier, *(session.needed(source, frontier) for session in self._sessions.values())])
        if self._floors is None:
            return 0
        joined = [low[source] for low in self._joined if source in low]
        return min([frontier, self._floors.get(source, 0), *joined])
