"""What each profile matches of a run's messages, found the slow way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from semcast.matching.decode import Decoder, wanted_of
from semcast.matching.languages import language
from semcast.model.message import Message, ProfileText, unpacked
from semcast.protocol.stores import Record

_SLOW = {"topic": "naive", "relational": "brute", "xpath": "lxml", "semantic": "naive"}

Place = tuple[str, int]
"""A message: (source, number)."""


def matched(profiles: Iterable[ProfileText], logs: Mapping[str, Sequence[Record]]) -> dict[ProfileText, set[Place]]:
    """Per profile the messages that it matches, by the oracle of its language."""
    found: dict[ProfileText, set[Place]] = {profile: set() for profile in profiles}
    messages = [(source, record.number, unpacked(record.body)) for source, log in logs.items() for record in log]
    for stream, name in sorted({(profile.stream, profile.language) for profile in found}):
        asked = [profile for profile in found if (profile.stream, profile.language) == (stream, name)]
        sent = [(source, number, message) for source, number, message in messages if message.stream == stream]
        if not sent:
            continue
        chosen = language(name)
        parsed = [chosen.parse(profile.text) for profile in asked]
        rows = _rows(name, parsed, [message for _, _, message in sent])
        for row, index in chosen.matcher(parsed, _SLOW[name]).match(rows).pairs().tolist():
            found[asked[index]].add(sent[row][:2])
    return found


def _rows(name: str, parsed: Sequence[object], messages: Sequence[Message]) -> pa.RecordBatch:
    if name == "topic":
        return pa.record_batch({"topic": pa.array([message.topic for message in messages], pa.string())})
    if name in ("xpath", "semantic"):
        return pa.record_batch({"payload": pa.array([message.payload for message in messages], pa.binary())})
    decoder = Decoder(wanted_of(language(name), parsed, None))
    return decoder.json_lines([message.payload for message in messages])[0]
