"""The sessions at a gateway: begun from what their clients say, and kept where they are durable."""

from __future__ import annotations

from collections.abc import Container, Mapping

import msgspec

from semcast.protocol.gateway.sessions import Saved, Session
from semcast.protocol.gateway.taps import Tap
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Notes
from semcast.protocol.wire.frames import Attach

_SESSION = "session/"


class Register:
    """Sessions by name; a new one knows those that a crash left behind."""

    def __init__(self, notes: Notes, settings: Settings, incarnation: int, near: Container[str], now: float) -> None:
        self.sessions: dict[str, Session] = {}
        self._opened = 0
        self._notes = notes
        self._settings = settings
        self._incarnation = incarnation
        self._near = near
        for name, value in notes.items(_SESSION):
            saved = msgspec.msgpack.decode(value, type=Saved)
            self._open(saved.attach, saved.client, {}, now)
            session = self.sessions[name.removeprefix(_SESSION)]
            session.dirty, session.left_over = False, True

    def begin(self, said: Attach, client: str, tops: Mapping[str, int], now: float) -> Session:
        """A session from what its client says, going on where a durable one stands that it does not remember.

        Of what was known of it here only that counts. ``tops`` is how far the sources have been heard of.
        """
        attach = self._resumed(said)
        if attach.before is None or attach.until:
            session = self._open(attach, client, tops, now)
        else:
            # It came in the middle of a replacement: the earlier profile counts until the new one is live.
            earlier = msgspec.structs.replace(attach, profile=attach.before, before=None, version=attach.version - 1)
            session = self._open(earlier, client, tops, now)
            session.next = attach
        session.said = said
        return session

    def _resumed(self, attach: Attach) -> Attach:
        """A client that comes back without a memory goes on where its durable session stands."""
        session = self.sessions.get(attach.session)
        if session is None or attach.cursor or attach.base is not None:
            return attach
        if not (attach.durable and session.attach.durable and attach.profile == session.profile):
            return attach
        return msgspec.structs.replace(attach, cursor=tuple(sorted(session.cursor.items())), have=session.above())

    def _open(self, attach: Attach, client: str, tops: Mapping[str, int], now: float) -> Session:
        expiry = self._settings.expiry_s if attach.expiry_s is None else attach.expiry_s
        if not attach.durable:
            expiry = 4 * self._settings.dead_s
        # A sequence number stands for one thing only, also when the gateway has fallen or the client comes back.
        known = self.sessions.get(attach.session)
        base = known.sequence + 1 if known is not None else self._incarnation << 32
        if client in self._near and attach.ordered and not attach.durable:
            session: Session = Tap(attach, client, base, self._settings.window + self._settings.credit, expiry, now)
        else:
            session = Session(attach, client, base, self._settings.held, expiry, now)
        session.tops = tops
        self._opened += 1
        session.order = known.order if known is not None else self._opened
        self.sessions[attach.session] = session
        return session

    def save(self, session: Session) -> None:
        session.dirty = False
        if session.attach.durable:
            self._notes.put(_SESSION + session.id, msgspec.msgpack.encode(session.saved()))

    def end(self, name: str) -> bool:
        """Forget a session, and send it nothing more; False if there is none."""
        session = self.sessions.pop(name, None)
        if session is None:
            return False
        session.away = True
        self._notes.put(_SESSION + name, None)
        return True
