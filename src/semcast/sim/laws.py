"""The delivery law: each live subscription gets each matching message exactly once, while everything else fails.

Judged on what clients saw (Witness), what really was in the logs, and the slow oracle of each language. A message
counts as published after a subscription went live if its publisher was handed it later than the client was told, or
if its number is behind the position that the client was told. Around the replacement of a profile a message may be
judged by the old or by the new one; with ``settle_s``, for runs in which nothing fails, only for so long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from semcast.model.message import ProfileText
from semcast.protocol.stores import Record
from semcast.sim.oracle import Place, matched
from semcast.sim.witness import Session, Version, Violation, Witness

Logs = Mapping[str, Sequence[Record]]


def judged(witness: Witness, logs: Logs, settle_s: float | None = None) -> list[Violation]:
    """Everything in which the delivery law did not hold."""
    profiles = {version.profile: None for session in witness.sessions.values() for version in session.versions}
    court = _Court(witness, logs, matched(profiles, logs), settle_s)
    found = list(_publishing(witness, logs))
    for session in witness.sessions.values():
        found += court.judge(session)
    return found


def _publishing(witness: Witness, logs: Logs) -> Iterator[Violation]:
    """What was acknowledged is in a log, once and for good; and in the end everything is acknowledged."""
    places: dict[tuple[str, int], list[Place]] = {}
    for source, log in logs.items():
        for record in log:
            places.setdefault((record.origin, record.sequence), []).append((source, record.number))
    for (origin, sequence), found in places.items():
        if len(found) > 1:
            yield Violation("taken in once", origin, f"message {sequence} is in the log {len(found)} times: {found}")
    for origin, sequence in witness.acked:
        if (origin, sequence) not in places:
            yield Violation("acked is durable", origin, f"message {sequence} was acknowledged and is in no log")
    missing: dict[str, list[int]] = {}
    for origin, sequence in witness.invoked.keys() - witness.acked.keys():
        missing.setdefault(origin, []).append(sequence)
    for origin, sequences in sorted(missing.items()):
        what = f"{len(sequences)} messages from {min(sequences)} on were never acknowledged"
        yield Violation("everything is acked", origin, what)


class _Court:
    """Holds sessions against what was in the logs."""

    def __init__(
        self, witness: Witness, logs: Logs, matches: Mapping[ProfileText, set[Place]], settle_s: float | None
    ) -> None:
        self._witness, self._matches, self._settle_s = witness, matches, settle_s
        self._records = {(source, record.number): record for source, log in logs.items() for record in log}

    def judge(self, session: Session) -> Iterator[Violation]:
        if session.versions[-1].live_at is None and session.left_at is None:
            yield Violation("everybody goes live", session.name, "was never told that its subscription is live")
        if session.left_at is not None and session.detached_at is None:
            yield Violation("everybody may leave", session.name, f"asked at {session.left_at:.3f} s, to no avail")
        yield from self._seen(session)
        yield from self._positions(session)
        yield from self._missed(session)

    def _seen(self, session: Session) -> Iterator[Violation]:
        """What was delivered: once, as it is in the log, matching, in order, and not after the client left."""
        seen: set[Place] = set()
        last: dict[str, int] = {}
        for delivery in session.deliveries:
            place = delivery.source, delivery.number
            said = f"{delivery.source}:{delivery.number} at {delivery.at:.3f} s"
            record = self._records.get(place)
            if place in seen:
                yield Violation("once", session.name, f"{said} was delivered again")
            elif record is None:
                yield Violation("nothing made up", session.name, f"{said} is in no log")
            elif record.body != delivery.body:
                yield Violation("nothing made up", session.name, f"{said} has another body in the log")
            elif not any(self._fits(version, place) for version in self._allowed(session, place, delivery.at)):
                yield Violation("only what matches", session.name, f"{said} does not match {_said(session)}")
            if session.ordered and delivery.number < last.get(delivery.source, 0):
                yield Violation("order", session.name, f"{said} came after {last[delivery.source]}")
            if session.detached_at is not None and delivery.at > session.detached_at:
                yield Violation("nothing after detach", session.name, f"{said}, detached {session.detached_at:.3f} s")
            seen.add(place)
            last[delivery.source] = max(delivery.number, last.get(delivery.source, 0))

    def _positions(self, session: Session) -> Iterator[Violation]:
        """A message that was published after the client was told is behind the position that it was told."""
        for version in session.versions:
            if version.live_at is None:
                continue
            for (source, number), record in self._records.items():
                invoked = self._witness.invoked.get((record.origin, record.sequence), -1.0)
                if invoked >= version.live_at and number <= version.positions.get(source, 0):
                    what = f"{source}:{number} was published at {invoked:.3f} s, live since {version.live_at:.3f} s"
                    yield Violation("live positions", session.name, f"{what} from {version.positions[source]} on")

    def _missed(self, session: Session) -> Iterator[Violation]:
        seen = {(delivery.source, delivery.number) for delivery in session.deliveries}
        latest: dict[str, int] = {}
        for source, number in seen:
            latest[source] = max(number, latest.get(source, 0))
        for place, record in self._records.items():
            if place in seen or not self._required(session, place, record, latest.get(place[0], 0)):
                continue
            if not session.excused(*place):
                said = f"{place[0]}:{place[1]} ({record.origin} {record.sequence}) matches {_said(session)}"
                yield Violation("nothing is missed", session.name, f"{said} and was never delivered")

    def _required(self, session: Session, place: Place, record: Record, latest: int) -> bool:
        first = self._covered_by(session, place, record)
        if first is None:
            return False
        settled = self._settled_by(record)
        left = session.left_at is not None and settled >= session.left_at
        # What was under way when the client left is its loss; but an ordered session has no holes.
        if left and not (session.ordered and place[1] < latest):
            return False
        in_force = [
            version
            for at, version in enumerate(session.versions)
            if at == first or (first < at and settled >= version.asked_at)
        ]
        return all(self._fits(version, place) for version in in_force)

    def _covered_by(self, session: Session, place: Place, record: Record) -> int | None:
        """The newest profile that was live when the message was published."""
        invoked = self._witness.invoked.get((record.origin, record.sequence), -1.0)
        for at in range(len(session.versions) - 1, -1, -1):
            version = session.versions[at]
            if version.live_at is None:
                continue
            position = version.positions.get(place[0])
            if invoked >= version.live_at or (position is not None and place[1] > position):
                return at
        return None

    def _settled_by(self, record: Record) -> float:
        """When everybody who was subscribed has the message; in a run with faults nobody can say."""
        acked = self._witness.acked.get((record.origin, record.sequence))
        return float("inf") if self._settle_s is None or acked is None else acked + self._settle_s

    def _allowed(self, session: Session, place: Place, at: float) -> list[Version]:
        record = self._records[place]
        invoked = self._witness.invoked.get((record.origin, record.sequence), -1.0)
        first = 0
        for number, version in enumerate(session.versions):
            if version.live_at is not None and version.live_at <= invoked:
                first = number
        return [version for version in session.versions[first:] if version.asked_at <= at]

    def _fits(self, version: Version, place: Place) -> bool:
        return place in self._matches[version.profile]


def _said(session: Session) -> str:
    return " then ".join(repr(version.profile.text) for version in session.versions)
