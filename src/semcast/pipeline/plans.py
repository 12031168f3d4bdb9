"""A plan where Spark's tasks follow it: its profiles of one stream, matched a batch at a time, and its trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semcast.matching import language
from semcast.matching.decode import Decoder, wanted_of
from semcast.matching.matches import Matches
from semcast.model.message import Message
from semcast.protocol.profile_texts import parsed
from semcast.protocol.source.routing import Routes, Routing
from semcast.protocol.wire.frames import Switch

Rows = Sequence[dict[str, Any]]
"""What payloads of a relational stream say."""


def by(switch: Switch) -> tuple[int, int]:
    """What tells one plan from another: its epoch, and the version of the roster that its profiles are of."""
    return switch.epoch, switch.version


def of_one_version(plans: Mapping[str, Switch]) -> dict[str, Switch]:
    """Sources' plans with the profiles of the oldest version among them: one matcher serves all.

    Each source adds by itself what has come since; what has gone since is filtered out at gateways.
    """
    found = dict(plans)
    for source, switch in plans.items():
        same = [other for other in plans.values() if other.epoch == switch.epoch]
        oldest = min(same, key=lambda other: other.version)
        found[source] = msgspec.structs.replace(switch, profiles=oldest.profiles, version=oldest.version)
    return found


class StreamMatching:
    """The profiles of one stream as the plan numbers them. It goes from plan to plan by what they change.

    Picklable: workers get it ready, and follow later plans by themselves.
    """

    def __init__(self, stream: str, kind: str) -> None:
        self.by = (-1, -1)
        """The epoch of the plan, and the version of the roster."""
        self._stream = stream
        self._language = language(kind)
        self._matcher: Any = self._language.matcher([])
        self._places: dict[str, tuple[int, str]] = {}
        """Name → (the matcher's index, text)."""
        self._profiles: dict[int, Any] = {}
        self._numbers: NDArray[np.int32] = np.empty(0, np.int32)
        self._ordered = True
        self._decoder: Decoder | None = None
        self.names: list[str] = []
        """By the plan's numbers."""

    def __len__(self) -> int:
        return len(self._places)

    def follow(self, switch: Switch) -> None:
        """Have the profiles of a plan; costs what was added, and a look at each."""
        if by(switch) == self.by:
            return
        wanted = {
            name: (number, profile.text)
            for number, (name, profile, _) in enumerate(switch.profiles)
            if profile.stream == self._stream
        }
        for name, (place, text) in list(self._places.items()):
            if name not in wanted or wanted[name][1] != text:
                self._matcher.remove(place)
                del self._places[name], self._profiles[place]
        new = [(name, text) for name, (_, text) in wanted.items() if name not in self._places]
        profiles = [parsed(self._language.name, text) for _, text in new]
        for (name, text), place, profile in zip(new, self._matcher.extend(profiles), profiles, strict=True):
            self._places[name], self._profiles[place] = (place, text), profile
        self._number({place: wanted[name][0] for name, (place, _) in self._places.items()})
        self.names = [name for name, _, _ in switch.profiles]
        self.by, self._decoder = by(switch), None

    def _number(self, numbers: dict[int, int]) -> None:
        self._numbers = np.full(max(numbers, default=-1) + 1, -1, np.int32)
        for place, number in numbers.items():
            self._numbers[place] = number
        used = self._numbers[self._numbers >= 0]
        self._ordered = bool(np.all(used[1:] > used[:-1]))

    def match(self, messages: Sequence[Message], rows: Rows | None = None) -> Matches:
        """The plan's numbers of the profiles that match each message; ``rows`` where they were read already."""
        found = self._matcher.match(self._batch(messages, rows))
        numbers = self._numbers[found.indices] if len(found.indices) else np.empty(0, np.int32)
        if not self._ordered:
            row = np.repeat(np.arange(found.rows), np.diff(found.indptr))
            numbers = numbers[np.lexsort((numbers, row))]
        return Matches(found.indptr, numbers)

    def _batch(self, messages: Sequence[Message], rows: Rows | None) -> pa.RecordBatch:
        if self._language.name == "topic":
            return pa.RecordBatch.from_arrays([pa.array([m.topic for m in messages], pa.string())], ["topic"])
        payloads = [message.payload for message in messages]
        if self._language.name != "relational":
            return pa.RecordBatch.from_arrays([pa.array(payloads, pa.binary())], ["payload"])
        if self._decoder is None:
            self._decoder = Decoder(wanted_of(self._language, list(self._profiles.values()), None))
        return self._decoder.columns(rows) if rows is not None else self._decoder.json_lines(payloads)[0]


class Followed:
    """One source's plan in a task: from messages to routes."""

    def __init__(self, switch: Switch, source: str, matching: StreamMatching) -> None:
        matching.follow(switch)
        self.by = self.epoch, self.version = by(switch)
        self._matching = matching
        self._routing = Routing(switch, source)

    def route(self, messages: Sequence[Message], rows: Rows | None = None) -> tuple[list[Routes], Matches]:
        """Per message its trees, and what matched."""
        matches = self._matching.match(messages, rows)
        return self._routing.routes(matches), matches

    def profiles(self, matches: Matches, row: int) -> tuple[str, ...]:
        """The names of what matched a message."""
        return tuple(self._matching.names[number] for number in matches.of(row))
