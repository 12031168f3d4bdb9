"""Correct histories drawn at random, from a model of what a perfect system would do, and ways to spoil them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.history.records import Record, Recorder

KINDS = ("a", "b", "c")
PROFILES = {"a": "a", "ab": "ab", "bc": "bc", "abc": "abc"}
"""Profile → the kinds of messages that it matches."""


@dataclass
class _Client:
    name: str
    ordered: bool
    profile: str
    floor: dict[str, int]
    open: bool = True
    versions: int = 1
    pending: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """Source → numbers and ids that it is owed."""


class PerfectSystem:
    """Publishes, delivers, tells of gaps, replaces and closes, all as promised."""

    def __init__(self, chance: Random) -> None:
        self._time = 0.0
        self.recorder = Recorder(self._tick)
        self._chance = chance
        self._ends = dict.fromkeys(("x", "y"), 0)
        self._kinds: dict[str, str] = {}
        self._clients: list[_Client] = []

    def _tick(self) -> float:
        self._time += 0.01
        return self._time

    def run(self, steps: int) -> list[Record]:
        self._subscribe()
        moves = (self._publish, self._publish, self._publish, self._deliver, self._deliver, self._subscribe)
        rare = (self._replace, self._lose, self._close)
        for _ in range(steps):
            self._chance.choice(rare if self._chance.random() < 0.15 else moves)()
        while any(client.open and any(client.pending.values()) for client in self._clients):
            self._deliver()
        for profile, kinds in PROFILES.items():
            self.recorder.matches(profile, [name for name, kind in self._kinds.items() if kind in kinds])
        self.recorder.end()
        return self.recorder.records

    def _subscribe(self) -> None:
        if len(self._clients) > 4:
            return
        client = _Client(
            f"s{len(self._clients)}", self._chance.random() < 0.5, self._chance.choice(list(PROFILES)), dict(self._ends)
        )
        self._clients.append(client)
        self.recorder.subscribe(client.name, client.profile, ordered=client.ordered)
        self.recorder.live(client.name, 0, self._ends)

    def _publish(self) -> None:
        name, source = f"m{len(self._kinds)}", self._chance.choice(list(self._ends))
        kind = self._kinds[name] = self._chance.choice(KINDS)
        self.recorder.publish("p", name)
        self._ends[source] += 1
        self.recorder.ack("p", name, source, self._ends[source])
        for client in self._clients:
            if client.open and kind in PROFILES[client.profile]:
                client.pending.setdefault(source, []).append((self._ends[source], name))

    def _deliver(self) -> None:
        owed = [client for client in self._clients if client.open and any(client.pending.values())]
        if not owed:
            return
        client = self._chance.choice(owed)
        source = self._chance.choice([source for source, left in client.pending.items() if left])
        left = client.pending[source]
        number, name = left.pop(0 if client.ordered else self._chance.randrange(len(left)))
        self.recorder.deliver(client.name, name, source, number)

    def _lose(self) -> None:
        """A client was away too long: all that one source owes it is lost, and it is told."""
        for client in self._clients:
            for source, left in client.pending.items():
                if client.open and left:
                    self.recorder.gap(client.name, source, left[0][0] - 1, self._ends[source])
                    left.clear()
                    return

    def _replace(self) -> None:
        client = self._chance.choice(self._clients)
        if client.open:
            client.profile = self._chance.choice(list(PROFILES))
            self.recorder.replace(client.name, client.versions, client.profile)
            self.recorder.live(client.name, client.versions, self._ends)
            client.versions += 1

    def _close(self) -> None:
        client = self._chance.choice(self._clients)
        if client.open and len(self._clients) > 1:
            client.open = False
            self.recorder.close(client.name)
            self.recorder.closed(client.name)


# --- ways to spoil a history: each returns the spoilt one, or None where this history gives no occasion for it

Spoil = Callable[[list[Record], Random], list[Record] | None]


def _deliveries(records: list[Record]) -> list[int]:
    return [at for at, record in enumerate(records) if record["what"] == "deliver"]


def _pick(chance: Random, found: list[int]) -> int | None:
    return chance.choice(found) if found else None


def drop(records: list[Record], chance: Random) -> list[Record] | None:
    """A delivery that the client was owed whatever its profile was, and of which no gap speaks."""
    at = _pick(chance, [at for at in _deliveries(records) if _owed(records, records[at])])
    return None if at is None else records[:at] + records[at + 1 :]


def _owed(records: list[Record], delivery: Record) -> bool:
    of_client = [record for record in records if record["who"] == delivery["who"]]
    matches = {record["profile"]: record["ids"] for record in records if record["what"] == "matches"}
    asked = [record["profile"] for record in of_client if record["what"] in ("subscribe", "replace")]
    excused = any(
        record["what"] == "gap"
        and record["source"] == delivery["source"]
        and record["first"] < delivery["number"] <= record["through"]
        for record in of_client
    )
    closed = any(record["what"] == "close" for record in of_client)
    return not excused and not closed and all(delivery["id"] in matches[profile] for profile in asked)


def double(records: list[Record], chance: Random) -> list[Record] | None:
    at = _pick(chance, _deliveries(records))
    if at is None:
        return None
    later = chance.randrange(at + 1, len(records))
    return [*records[:later], copy.deepcopy(records[at]), *records[later:]]


def swap(records: list[Record], chance: Random) -> list[Record] | None:
    """Two deliveries of one source to a client that asked for order."""
    ordered = {record["who"] for record in records if record["what"] == "subscribe" and record["ordered"]}
    found = [at for at in _deliveries(records) if records[at]["who"] in ordered]
    pairs = [
        (first, second)
        for first in found
        for second in found
        if first < second and all(records[first][key] == records[second][key] for key in ("who", "source"))
    ]
    if not pairs:
        return None
    first, second = chance.choice(pairs)
    spoilt = list(records)
    spoilt[first], spoilt[second] = spoilt[second], spoilt[first]
    return spoilt


def before_live(records: list[Record], chance: Random) -> list[Record] | None:
    """The client is given it before it was told that it is live; the message had been published by then."""
    at = _pick(chance, _deliveries(records))
    if at is None:
        return None
    spoilt = [record for place, record in enumerate(records) if place != at]
    live = next(
        place for place, record in enumerate(spoilt) if record["what"] == "live" and record["who"] == records[at]["who"]
    )
    return [*spoilt[:live], records[at], *spoilt[live:]]


def after_close(records: list[Record], chance: Random) -> list[Record] | None:
    closed = {record["who"] for record in records if record["what"] == "close"}
    at = _pick(chance, [at for at in _deliveries(records) if records[at]["who"] in closed])
    if at is None:
        return None
    last = max(
        place for place, record in enumerate(records) if record["who"] == records[at]["who"]
    )  # the word that it has left
    return records[:at] + records[at + 1 : last + 1] + [records[at]] + records[last + 1 :]


def invent(records: list[Record], chance: Random) -> list[Record] | None:
    """A message that nobody published, or one that matches nothing the client ever asked for."""
    live = [at for at, record in enumerate(records) if record["what"] == "live"]
    at = chance.choice(live)
    name, matching = records[at]["who"], _ever_wanted(records, records[at]["who"])
    unwanted = [record["id"] for record in records[:at] if record["what"] == "publish" and record["id"] not in matching]
    made_up = chance.choice([*unwanted, "nothing"])
    given = {"at": records[at]["at"], "what": "deliver", "who": name, "id": made_up, "source": None, "number": None}
    return [*records[: at + 1], given, *records[at + 1 :]]


def _ever_wanted(records: list[Record], name: str) -> set[str]:
    matches = {record["profile"]: record["ids"] for record in records if record["what"] == "matches"}
    asked = [record["profile"] for record in records if record["who"] == name and "profile" in record]
    return {message for profile in asked for message in matches[profile]}


def hide_a_gap(records: list[Record], chance: Random) -> list[Record] | None:
    """A gap in which something was lost that the client was owed under every profile, and of which it is not told."""
    found = [at for at, record in enumerate(records) if record["what"] == "gap" and _lost(records, record)]
    at = _pick(chance, found)
    return None if at is None else records[:at] + records[at + 1 :]


def _lost(records: list[Record], gap: Record) -> bool:
    acks = [record for record in records if record["what"] == "ack" and record["source"] == gap["source"]]
    inside = [ack for ack in acks if gap["first"] < ack["number"] <= gap["through"]]
    without = [record for record in records if record is not gap]
    had = {record["id"] for record in without if record["what"] == "deliver" and record["who"] == gap["who"]}
    return any(_owed(without, {**ack, "who": gap["who"]}) for ack in inside if ack["id"] not in had)


SPOILS: dict[str, tuple[Spoil, set[str]]] = {
    "drop": (drop, {"nothing is missed"}),
    "double": (double, {"once"}),
    "swap": (swap, {"order", "nothing made up"}),  # the later one may not have been published yet
    "before live": (before_live, {"nothing before live", "nothing made up"}),
    "after close": (after_close, {"nothing after close"}),
    "invent": (invent, {"nothing made up", "only what matches"}),
    "hide a gap": (hide_a_gap, {"nothing is missed"}),
}
"""Each with the promises of which at least one must be found broken."""
