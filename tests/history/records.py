"""What publishers and subscribers of a test saw, as JSON Lines: the format, a recorder, and predicates of its own.

A line is an object with ``at`` (seconds on the test's one clock), ``what`` (a kind below) and ``who``. The order of the
lines is the order in which things happened: a publish is written before the message is handed over, everything else
after the party was told. README.md says what each line promises. Nothing here imports the system under test.

=========  ==========  =====================================================================================
what       who         further fields
=========  ==========  =====================================================================================
publish    publisher   ``id`` names the message; ``digest`` of its content, where the test knows it
ack        publisher   ``id``; ``source`` and ``number`` where the receipt says them
logged     source      ``id``, ``number``, maybe ``digest``: a test that looked into the source's log found it there
subscribe  session     ``profile``, ``ordered``, ``start`` (latest, earliest, cursor), ``times``, ``gapless``
replace    session     ``version`` (1 for the first replacement), ``profile``
live       session     ``version``, ``positions`` (source → number)
deliver    session     ``id``; ``source``, ``number`` and ``digest`` where the client sees them
gap        session     ``source``, ``first``, ``through``: what matched in (first, through] is lost
forget     session     ``ids`` of deliveries that the client lost in a crash before it confirmed them
close      session     the client asks to leave; with ``keep`` its durable session stays
closed     session     it was told that it has left
resume     session     a session that was kept is taken up again
matches               ``profile``, ``ids``: all messages that the profile matches, by the test's own predicate
end                    ``complete``: everything has had the time to arrive
=========  ==========  =====================================================================================
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

Record = dict[str, Any]
Times = Literal["once", "at least once", "at most once"]
"""How often a session may be given a message."""


class Recorder:
    """Collects lines, or gives them to ``sink``; ``now`` is the test's clock. May be called from several threads."""

    def __init__(
        self, now: Callable[[], float] = time.monotonic, sink: Callable[[Record], object] | None = None
    ) -> None:
        self.records: list[Record] = []
        self._now, self._sink = now, sink or self.records.append
        self._lock = threading.Lock()

    def publish(self, publisher: str, message: str, content: bytes | None = None) -> None:
        self._write("publish", publisher, id=message, **_digest(content))

    def ack(self, publisher: str, message: str, source: str | None = None, number: int | None = None) -> None:
        self._write("ack", publisher, id=message, source=source, number=number)

    def logged(self, source: str, message: str, number: int, content: bytes | None = None) -> None:
        self._write("logged", source, id=message, number=number, **_digest(content))

    def subscribe(
        self,
        session: str,
        profile: str,
        *,
        ordered: bool = False,
        start: str = "latest",
        times: Times = "once",
        gapless: bool = False,
    ) -> None:
        """``gapless``: the test leaves the system no reason to lose anything, so a gap is a fault."""
        self._write("subscribe", session, profile=profile, ordered=ordered, start=start, times=times, gapless=gapless)

    def replace(self, session: str, version: int, profile: str) -> None:
        self._write("replace", session, version=version, profile=profile)

    def live(self, session: str, version: int = 0, positions: Mapping[str, int] | None = None) -> None:
        self._write("live", session, version=version, positions=dict(positions or {}))

    def deliver(
        self,
        session: str,
        message: str,
        source: str | None = None,
        number: int | None = None,
        content: bytes | None = None,
    ) -> None:
        self._write("deliver", session, id=message, source=source, number=number, **_digest(content))

    def gap(self, session: str, source: str, first: int, through: int) -> None:
        self._write("gap", session, source=source, first=first, through=through)

    def forget(self, session: str, messages: Iterable[str]) -> None:
        self._write("forget", session, ids=list(messages))

    def close(self, session: str, *, keep: bool = False) -> None:
        self._write("close", session, keep=keep)

    def closed(self, session: str) -> None:
        self._write("closed", session)

    def resume(self, session: str) -> None:
        self._write("resume", session)

    def matches(self, profile: str, messages: Iterable[str]) -> None:
        self._write("matches", "", profile=profile, ids=list(messages))

    def topics(self, profiles: Iterable[str], topics: Mapping[str, str]) -> None:
        """What topic profiles match, where ``topics`` has the topic of each message."""
        by_topic: dict[str, list[str]] = {}
        for message, topic in topics.items():
            by_topic.setdefault(topic, []).append(message)
        for profile in sorted(set(profiles)):
            asked = [found for topic, found in by_topic.items() if topic_matches(profile, topic)]
            self.matches(profile, [message for found in asked for message in found])

    def end(self, *, complete: bool = True) -> None:
        self._write("end", "", complete=complete)

    def save(self, file: Path) -> None:
        file.write_text("".join(json.dumps(record) + "\n" for record in self.records))

    def _write(self, what: str, who: str, **details: Any) -> None:
        with self._lock:
            self._sink({"at": self._now(), "what": what, "who": who, **details})


def load(file: Path) -> list[Record]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def _digest(content: bytes | None) -> dict[str, str]:
    return {} if content is None else {"digest": hashlib.sha256(content).hexdigest()[:16]}


# --- what matches, decided without the system's matchers


def topic_matches(profile: str, topic: str) -> bool:
    """A topic profile names the first words of a topic; ``*`` stands for any one word."""
    asked, words = profile.split("/"), topic.split("/")
    return len(asked) <= len(words) and all(
        wish in ("*", word) for wish, word in zip(asked, words[: len(asked)], strict=True)
    )


def condition_matches(profile: str, row: Mapping[str, object]) -> bool:
    """A relational profile as SQLite reads it, for rows of plain numbers and texts."""
    columns = ", ".join(f'? AS "{name}"' for name in row)
    found = _sqlite().execute(f"SELECT ({profile}) FROM (SELECT {columns})", list(row.values())).fetchone()
    return bool(found[0])


@cache
def _sqlite() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)
