"""Histories of simulations: what the clients of a run saw, with what matches by predicates of the tests' own."""

from __future__ import annotations

import json
from collections.abc import Mapping

from semcast.model.message import Message, ProfileText, unpacked
from semcast.sim import cast
from semcast.sim.scenario import Scenario
from semcast.sim.simulation import Simulation
from semcast.sim.witness import Witness
from tests.history.checker import Fault, check
from tests.history.records import Recorder, condition_matches, topic_matches

SETTLE_S = 3.0
"""In a run in which nothing fails, a message has reached everybody after so long."""


class RecordingWitness(Witness):
    """Writes down what the witness of a simulation is told, as lines of a history."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self.start = "latest"
        """Where all sessions begin: the witness is not told."""
        self._acked: dict[str, int] = {}

    def subscribed(self, session: str, profile: ProfileText, at: float, *, ordered: bool = False) -> None:
        super().subscribed(session, profile, at, ordered=ordered)
        self.recorder.subscribe(session, profile.text, ordered=ordered, start=self.start)

    def replaced(self, session: str, profile: ProfileText, at: float) -> None:
        super().replaced(session, profile, at)
        self.recorder.replace(session, len(self.sessions[session].versions) - 1, profile.text)

    def live(self, session: str, version: int, positions: Mapping[str, int], at: float) -> None:
        super().live(session, version, positions, at)
        self.recorder.live(session, version, positions)

    def delivered(self, session: str, source: str, number: int, body: bytes, at: float) -> None:
        super().delivered(session, source, number, body, at)
        message = unpacked(body)
        self.recorder.deliver(session, _id(message), source, number, _content(message))

    def gap(self, session: str, source: str, first: int, through: int, at: float) -> None:
        super().gap(session, source, first, through, at)
        self.recorder.gap(session, source, first, through)

    def left(self, session: str, at: float) -> None:
        super().left(session, at)
        self.recorder.close(session)

    def detached(self, session: str, at: float) -> None:
        super().detached(session, at)
        self.recorder.closed(session)

    def published(self, origin: str, sequence: int, at: float) -> None:
        super().published(origin, sequence, at)
        self.recorder.publish(origin, f"{origin}.{sequence}")

    def acknowledged(self, origin: str, through: int, at: float) -> None:
        super().acknowledged(origin, through, at)
        for sequence in range(self._acked.get(origin, -1) + 1, through + 1):
            self.recorder.ack(origin, f"{origin}.{sequence}")
        self._acked[origin] = max(through, self._acked.get(origin, -1))


def recorded(simulation: Simulation, scenario: Scenario) -> Recorder:
    """Have a simulation that has not begun write its history."""
    recorder = Recorder(lambda: simulation.driver.agenda.now)
    witness = RecordingWitness(recorder)
    if any(table.start == "earliest" for table in scenario.clients):
        witness.start = "earliest"
    simulation.witness = witness
    return recorder


def finished(simulation: Simulation, scenario: Scenario, recorder: Recorder) -> list[Fault]:
    """Close the history of a run that is over, and judge it."""
    contents: dict[str, Message] = {}
    for source, log in cast.logs(simulation.driver.parties).items():
        for record in log.history:
            message = unpacked(record.body)
            contents[_id(message)] = message
            recorder.logged(source, _id(message), record.number, _content(message))
    profiles = {version.profile for session in simulation.witness.sessions.values() for version in session.versions}
    for profile in sorted(profiles, key=lambda profile: profile.text):
        recorder.matches(profile.text, [name for name, message in contents.items() if _matches(profile, message)])
    recorder.end()
    return check(recorder.records, settle_s=SETTLE_S if scenario.calm else None)


def _matches(profile: ProfileText, message: Message) -> bool:
    if profile.language == "topic":
        return topic_matches(profile.text, message.topic or "")
    return condition_matches(profile.text, json.loads(message.payload))


def _id(message: Message) -> str:
    assert message.key is not None
    return message.key


def _content(message: Message) -> bytes:
    return b"\0".join((message.stream.encode(), (message.topic or "").encode(), message.payload))
