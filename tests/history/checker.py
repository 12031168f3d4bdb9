"""Decides from a history alone whether the promises of README.md were kept.

Pure standard library: it shares no code with the system, so that no error of the system can hide here. It reads the
lines of records.py in their order, once; ``python checker.py FILE`` prints one sentence per fault.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]
Place = tuple[str, int]
"""Source and number: where a message stands in a log."""


@dataclass(frozen=True)
class Fault:
    """A promise that was not kept, to whom, and how."""

    promise: str
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.who}: {self.what}"


@dataclass
class Message:
    """What is known of a message; lines are numbered from 1."""

    id: str
    publisher: str
    line: int
    digest: str | None
    acked_at: float | None = None
    logged: bool = False
    delivered: bool = False
    place: Place | None = None

    @property
    def durable(self) -> bool:
        """Is it in a log for good? Whoever got it knows that as well as its publisher."""
        return self.acked_at is not None or self.logged or self.delivered

    def __str__(self) -> str:
        return self.id if self.place is None else f"{self.id} ({self.place[0]}:{self.place[1]})"


@dataclass
class Version:
    """A profile of a session; ``live`` is the line at which the client was told that it counts."""

    profile: str
    asked: int
    asked_at: float
    live: int | None = None
    positions: dict[str, int] = field(default_factory=dict)


@dataclass
class Session:
    """A subscription's life as its client saw it."""

    name: str
    ordered: bool
    start: str
    times: str
    gapless: bool
    versions: list[Version]
    got: dict[str, int] = field(default_factory=dict)
    """Message → how often."""
    gaps: list[tuple[str, int, int]] = field(default_factory=list)
    highest: dict[str, int] = field(default_factory=dict)
    """Source → the highest number that was delivered."""
    lost_through: dict[str, int] = field(default_factory=dict)
    """Source → the end of its last gap: what is older is settled."""
    forgotten: set[str] = field(default_factory=set)
    away: bool = False
    closed: int | None = None
    """The line at which the client asked to leave for good."""
    closed_at: float = 0.0
    told_closed: bool = False

    def excused(self, place: Place) -> bool:
        return any(source == place[0] and first < place[1] <= through for source, first, through in self.gaps)


class Checker:
    """Reads a history line by line.

    ``settle_s``: in a history without failures everything has arrived after so long.
    """

    def __init__(self, settle_s: float | None = None) -> None:
        self.faults: list[Fault] = []
        self._settle_s = settle_s
        self._messages: dict[str, Message] = {}
        self._places: dict[Place, str] = {}
        self._sessions: dict[str, Session] = {}
        self._matches: dict[str, set[str]] = {}
        self._logs: set[str] = set()
        self._unjudged: list[tuple[Session, Message, int]] = []
        """Deliveries; what they may match is known at the end."""
        self._older: list[tuple[Session, Message, int]] = []
        """Deliveries from before the first word of live, which only profiles before that version explain."""
        self._lowest: dict[str, list[Message]] | None = None
        self._line = 0
        self._at = 0.0
        self._ended = False
        self._readers: dict[str, Callable[[str, Record], None]] = {
            "publish": self._publish, "ack": self._ack, "logged": self._logged, "subscribe": self._subscribe,
            "replace": self._replace, "live": self._live, "deliver": self._deliver, "gap": self._gap,
            "forget": self._forget, "close": self._close, "closed": self._closed, "resume": self._resume,
            "matches": self._match, "end": self._end,
        }  # fmt: skip

    def read(self, record: Record) -> None:
        self._line += 1
        self._at = float(record["at"])
        what, who = str(record["what"]), str(record["who"])
        if self._ended:
            self._wrong("a history ends once", who or "the recorder", f"line {self._line} stands behind the end")
        elif what in _OF_SESSIONS and what != "subscribe" and who not in self._sessions:
            self._wrong("nothing before subscribing", who, f"{what} at line {self._line}, and it never subscribed")
        else:
            self._readers[what](who, record)

    # --- publishers and logs

    def _publish(self, who: str, record: Record) -> None:
        if record["id"] in self._messages:
            self._wrong("ids are unique", who, f"published {record['id']} twice")
            return
        self._messages[record["id"]] = Message(record["id"], who, self._line, record.get("digest"))

    def _ack(self, who: str, record: Record) -> None:
        message = self._messages.get(record["id"])
        if message is None or message.publisher != who:
            self._wrong("nothing made up", who, f"{record['id']} was acknowledged, and it never published that")
            return
        if message.acked_at is None:
            message.acked_at = self._at
        self._stands(who, message, record.get("source"), record.get("number"))

    def _logged(self, who: str, record: Record) -> None:
        self._logs.add(who)
        message = self._messages.get(record["id"])
        if message is None:
            self._wrong("nothing made up", who, f"its log has {record['id']}, which nobody published")
            return
        if message.logged:
            self._wrong("taken in once", who, f"its log has {message} again, as {who}:{record['number']}")
        message.logged = True
        self._stands(who, message, who, record["number"])
        self._same_content(who, message, record)

    def _same_content(self, who: str, message: Message, record: Record) -> None:
        """Who published it, who has it in a log and who was given it saw the same bytes."""
        digest = record.get("digest")
        message.digest = message.digest or digest
        if digest is not None and digest != message.digest:
            self._wrong("nothing made up", who, f"has {message} with other content than others saw")

    def _stands(self, who: str, message: Message, source: str | None, number: int | None) -> None:
        """A message has one place, and a place one message."""
        if source is None or number is None:
            return
        place = source, int(number)
        other = self._places.setdefault(place, message.id)
        if other != message.id:
            self._wrong("one place each", who, f"{source}:{number} is {message.id}, and was {other} before")
        elif message.place not in (None, place):
            self._wrong("one place each", who, f"{message} stands at {source}:{number} too")
        else:
            message.place = place

    # --- sessions

    def _subscribe(self, who: str, record: Record) -> None:
        if who in self._sessions:
            self._wrong("ids are unique", who, "subscribed twice")
            return
        version = Version(record["profile"], self._line, self._at)
        about = (record["ordered"], record["start"], record["times"], record["gapless"])
        self._sessions[who] = Session(who, *about, [version])

    def _replace(self, who: str, record: Record) -> None:
        versions = self._sessions[who].versions
        if record["version"] != len(versions):
            self._wrong("versions count up", who, f"version {record['version']} follows {len(versions) - 1}")
        versions.append(Version(record["profile"], self._line, self._at))

    def _live(self, who: str, record: Record) -> None:
        session, number = self._sessions[who], record["version"]
        if number >= len(session.versions):
            self._wrong("live is what was asked for", who, f"version {number} is live and was never asked for")
            return
        if any(version.live is not None for version in session.versions[number + 1 :]):
            self._wrong("live never goes back", who, f"version {number} is live after a later one")
        version = session.versions[number]
        if version.live is None:
            version.live, version.positions = self._line, dict(record["positions"])

    def _deliver(self, who: str, record: Record) -> None:
        session, message = self._sessions[who], self._messages.get(record["id"])
        if message is None:
            self._wrong("nothing made up", who, f"was given {record['id']}, which nobody had published")
            return
        message.delivered = True
        self._stands(who, message, record.get("source"), record.get("number"))
        self._same_content(who, message, record)
        self._span(session, message)
        self._count(session, message)
        if record.get("number") is not None:
            self._place(session, message, (record["source"], record["number"]))
        self._unjudged.append((session, message, self._line))

    def _span(self, session: Session, message: Message) -> None:
        """A session begins with the word that it is live and ends when its client asks to leave."""
        if all(version.live is None for version in session.versions):
            self._wrong("nothing before live", session.name, f"was given {message} before it was told that it is live")
        if session.closed is not None:
            self._wrong("nothing after close", session.name, f"was given {message} after it had asked to leave")
        elif session.away:
            self._wrong("nothing after close", session.name, f"was given {message} while its session was closed")

    def _count(self, session: Session, message: Message) -> None:
        times = session.got.get(message.id, 0)
        if message.id in session.forgotten:
            session.forgotten.discard(message.id)
            return
        session.got[message.id] = times + 1
        if times and session.times != "at least once":
            self._wrong("once", session.name, f"was given {message} {times + 1} times")

    def _place(self, session: Session, message: Message, place: Place) -> None:
        source, number = place
        before = session.highest.get(source, 0)
        if session.ordered and number < before:
            self._wrong("order", session.name, f"was given {message} after number {before} of {source}")
        session.highest[source] = max(before, number)
        if number <= session.lost_through.get(source, 0):
            through = session.lost_through[source]
            self._wrong("gaps are final", session.name, f"was given {message}, and was told of a gap through {through}")
        self._floor(session, message, place)

    def _floor(self, session: Session, message: Message, place: Place) -> None:
        """A session from ``latest`` on gets nothing at or below the positions that it was told first.

        Unless that word was about a replacement: the profile before it was live too, without the client's knowing.
        """
        number = next((at for at, version in enumerate(session.versions) if version.live is not None), 0)
        position = session.versions[number].positions.get(place[0], 0)
        if session.start != "latest" or place[1] > position:
            return
        if number:
            self._older.append((session, message, number))
        else:
            self._wrong("nothing before live", session.name, f"was given {message}, and is live behind {position} only")

    def _gap(self, who: str, record: Record) -> None:
        session, (source, first, through) = self._sessions[who], (record["source"], record["first"], record["through"])
        said = f"({first}, {through}] of {source}"
        if first >= through:
            self._wrong("gaps are real", who, f"was told of the gap {said}, in which there is nothing")
        if through <= session.lost_through.get(source, 0):
            self._wrong("gaps are final", who, f"was told of the gap {said} after a later one")
        if session.gapless:
            self._wrong("no gap without a reason", who, f"was told of the gap {said}, and nothing had to be lost")
        if session.closed is not None:
            self._wrong("nothing after close", who, f"was told of the gap {said} after it had asked to leave")
        session.gaps.append((source, first, through))
        session.lost_through[source] = max(through, session.lost_through.get(source, 0))

    def _forget(self, who: str, record: Record) -> None:
        session = self._sessions[who]
        for name in record["ids"]:
            if name not in session.got:
                self._wrong("nothing made up", who, f"forgot {name}, which it never had")
        session.forgotten |= set(record["ids"])
        session.highest.clear()  # what comes again comes from further back
        session.lost_through.clear()

    def _close(self, who: str, record: Record) -> None:
        session = self._sessions[who]
        session.away = True
        if not record["keep"] and session.closed is None:
            session.closed, session.closed_at = self._line, self._at

    def _closed(self, who: str, record: Record) -> None:
        session = self._sessions[who]
        if not session.away:
            self._wrong("nobody is sent away", who, "was told that it has left, and never asked for that")
        session.told_closed = True

    def _resume(self, who: str, record: Record) -> None:
        session = self._sessions[who]
        if session.closed is not None:
            self._wrong("nothing after close", who, "was taken up again after it had left for good")
        session.away = False

    # --- the end

    def _match(self, who: str, record: Record) -> None:
        self._matches.setdefault(record["profile"], set()).update(record["ids"])

    def _end(self, who: str, record: Record) -> None:
        self._ended = True
        for profile in {version.profile for session in self._sessions.values() for version in session.versions}:
            if profile not in self._matches:
                self._wrong("a history ends once", "the recorder", f"nobody said what {profile!r} matches")
        for session, message, line in self._unjudged:
            self._matching(session, message, line)
        for session, message, number in self._older:
            if not any(self._fits(version.profile, message) for version in session.versions[:number]):
                what = f"was given {message}, which only version {number} matches, and that is live from later on"
                self._wrong("nothing before live", session.name, what)
        for session in self._sessions.values():
            self._positions(session)
        if record["complete"]:
            self._complete()

    def verdict(self) -> list[Fault]:
        """All faults, once everything was read."""
        if not self._ended:
            self._wrong("a history ends once", "the recorder", "the history has no end")
        return self.faults

    def _matching(self, session: Session, message: Message, line: int) -> None:
        """Some profile that may have counted for the message matches it.

        That is the newest one that was live before the message was published, or one that was asked for since.
        """
        first = 0
        for number, version in enumerate(session.versions):
            if version.live is not None and version.live < message.line:
                first = number
        allowed = [version.profile for version in session.versions[first:] if version.asked < line]
        if not any(self._fits(profile, message) for profile in allowed):
            said = " or ".join(map(repr, allowed))
            self._wrong("only what matches", session.name, f"was given {message}, which does not match {said}")

    def _positions(self, session: Session) -> None:
        """What is published after the client was told that it is live stands behind the positions that it was told."""
        for version in session.versions:
            for source, position in version.positions.items() if version.live is not None else ():
                message = self._lowest_since(source, version.live or 0)
                if message is not None and message.place is not None and message.place[1] <= position:
                    what = f"was told that it is live behind {source}:{position}, before {message} was published"
                    self._wrong("live positions", session.name, what)

    def _lowest_since(self, source: str, line: int) -> Message | None:
        """Of the messages that were published after a line, the one with the lowest number of a source."""
        if self._lowest is None:
            self._lowest = {}
            for message in reversed(self._messages.values()):  # they stand in the order of their lines
                if message.place is not None:
                    ordered = self._lowest.setdefault(message.place[0], [])
                    if not ordered or message.place < (ordered[-1].place or message.place):
                        ordered.append(message)
        later = [message for message in self._lowest.get(source, ()) if message.line > line]
        return later[-1] if later else None

    def _complete(self) -> None:
        for message in self._messages.values():
            if message.acked_at is None:
                self._wrong("everything is acknowledged", message.publisher, f"{message} never was")
            elif self._logs and not message.logged:
                self._wrong("acknowledged is durable", message.publisher, f"{message} is in no log")
        for session in self._sessions.values():
            if session.closed is None and session.versions[-1].live is None:
                self._wrong("everybody goes live", session.name, "was never told that its last profile is live")
            if session.closed is not None and not session.told_closed:
                self._wrong("everybody may leave", session.name, "asked to leave and was never told that it has")
            for name in session.forgotten:
                self._wrong("nothing is missed", session.name, f"forgot {name} in a crash, and it never came again")
            if session.times != "at most once":
                self._missed(session)

    def _missed(self, session: Session) -> None:
        wanted: set[str] = set().union(*(self._matches.get(version.profile, set()) for version in session.versions))
        for message in [self._messages[name] for name in wanted if name in self._messages and name not in session.got]:
            if not message.durable or not self._owed(session, message):
                continue
            if message.place is None or not session.excused(message.place):
                said = " then ".join(repr(version.profile) for version in session.versions)
                self._wrong("nothing is missed", session.name, f"was never given {message}, which matches {said}")

    def _owed(self, session: Session, message: Message) -> bool:
        first = self._covering(session, message)
        if first is None:
            return False
        settled_at = float("inf")
        if self._settle_s is not None and message.acked_at is not None:
            settled_at = message.acked_at + self._settle_s
        if session.closed is not None and settled_at >= session.closed_at:
            # What was under way when the client left is its loss; but a session in order has no holes.
            latest = session.highest.get(message.place[0], 0) if message.place else 0
            if not session.ordered or message.place is None or message.place[1] >= latest:
                return False
        later = [version for version in session.versions[first + 1 :] if version.asked_at <= settled_at]
        return all(self._fits(version.profile, message) for version in (session.versions[first], *later))

    def _covering(self, session: Session, message: Message) -> int | None:
        """The newest profile that was live when the message was published, or whose positions the message is behind."""
        for number in range(len(session.versions) - 1, -1, -1):
            version = session.versions[number]
            if version.live is None:
                continue
            if message.line > version.live:
                return number
            position = version.positions.get(message.place[0]) if message.place is not None else None
            if message.place is not None and position is not None and message.place[1] > position:
                return number
        return None

    def _fits(self, profile: str, message: Message) -> bool:
        return message.id in self._matches.get(profile, ())

    def _wrong(self, promise: str, who: str, what: str) -> None:
        self.faults.append(Fault(promise, who, what))


_OF_SESSIONS = ("subscribe", "replace", "live", "deliver", "gap", "forget", "close", "closed", "resume")


def check(records: Iterable[Record], *, settle_s: float | None = None) -> list[Fault]:
    """All promises that a history shows broken."""
    checker = Checker(settle_s)
    for record in records:
        checker.read(record)
    return checker.verdict()


if __name__ == "__main__":
    found = check(json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines())
    print("\n".join(map(str, found)) or "every promise was kept")
    sys.exit(1 if found else 0)
