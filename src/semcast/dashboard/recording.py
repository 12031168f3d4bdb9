"""A journal of a simulation, as the page can look at it: what had happened by any moment of the run.

A journal names every frame with its sender and receiver, so links' loads are counted, and a channel's tree is where its
tallies went. What it does not hold, such as profiles and the content of messages, nobody can show.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from semcast.dashboard.snapshot import Json
from semcast.sim.journal import read_header
from semcast.sim.scenario_file import scenario_of
from semcast.trees.declared import topology_of

_TOLD = {"leads", "deposed", "no store", "plan", "epoch", "reorganise", "crash", "restart", "fault", "gap", "failed"}
Key = tuple[str, int]


class Crossing(NamedTuple):
    """Messages that went over a link, or a word about a tree that went along it (no messages)."""

    at: float
    sender: str
    receiver: str
    key: Key | None
    """None on the leg to where trees hang."""
    source: str
    numbers: tuple[int, ...]


class Recording:
    """All that the page asks of a journal, in order of time. Reading takes some 10 µs a line."""

    def __init__(self, file: Path) -> None:
        header = read_header(file)
        scenario = scenario_of(header.scenario)
        self.name = scenario.name or file.name
        self.seed = header.seed
        self.scheme = scenario.scheme
        self.topology = topology_of(scenario.topology)
        self.links = {(a, b) for link in self.topology.links for a, b in ((link.a, link.b), (link.b, link.a))}
        self.crossings: list[Crossing] = []
        self.published: list[tuple[float, int]] = []
        """When, and how many in all by then."""
        self.delivered: dict[str, list[float]] = defaultdict(list)
        self.gateways: dict[str, str] = {}
        """Subscriber → the gateway that it heard from last."""
        self.live: dict[str, float] = {}
        self.events: list[Json] = []
        self.ups: dict[str, list[tuple[float, bool]]] = {broker.id: [(0.0, True)] for broker in self.topology.brokers}
        self.end = 0.0
        with file.open("rb") as lines:
            next(lines)
            for line in lines:
                self._take(msgspec.json.decode(line))

    def _take(self, told: Json) -> None:
        at, party, kind = told["at"], told["party"], told["kind"]
        self.end = max(self.end, at)
        if kind == "received":
            self._frame(at, party, told)
        elif kind == "published":
            before = self.published[-1][1] if self.published else 0
            self.published.append((at, before + told["through"] - told["first"] + 1))
        elif kind == "delivered":
            self.delivered[party].append(at)
        elif kind == "live":
            self.live.setdefault(party, at)
        if kind in ("crash", "restart") and party in self.ups:
            self.ups[party].append((at, kind == "restart"))
        if kind in _TOLD:
            details = {name: value for name, value in told.items() if name not in ("at", "party", "kind")}
            self.events.append({"at": at, "what": kind, "who": party, "details": details})

    def _frame(self, at: float, party: str, told: Json) -> None:
        sender = told["sender"]
        if told["frame"] == "deliver":
            self.gateways[party] = sender
        elif told["frame"] in ("data", "leg", "tally") and (sender, party) in self.links:
            key = (told["key"][0], told["key"][1]) if "key" in told else None
            numbers = tuple(told.get("numbers", ())) if told["frame"] != "tally" else ()
            self.crossings.append(Crossing(at, sender, party, key, told["source"], numbers))

    # --- at a moment

    def between(self, begin: float, end: float) -> list[Crossing]:
        """What crossed links in (begin, end]."""
        first = bisect_right(self.crossings, begin, key=lambda crossing: crossing.at)
        return self.crossings[first : bisect_right(self.crossings, end, key=lambda crossing: crossing.at)]

    def published_by(self, at: float) -> int:
        place = bisect_right(self.published, at, key=lambda point: point[0])
        return self.published[place - 1][1] if place else 0

    def delivered_by(self, at: float) -> dict[str, int]:
        return {party: bisect_right(times, at) for party, times in self.delivered.items()}

    def up(self, at: float) -> dict[str, bool]:
        return {
            broker: changes[bisect_right(changes, at, key=lambda change: change[0]) - 1][1]
            for broker, changes in self.ups.items()
        }

    def known(self, at: float) -> list[Json]:
        """Events until then."""
        return self.events[: bisect_right(self.events, at, key=lambda event: float(event["at"]))]

    def trees(self, at: float, lasting_s: float) -> dict[Key, list[tuple[str, str]]]:
        """Trees that were spoken of lately, with the links along which that was, in the direction of data."""
        found: dict[Key, dict[tuple[str, str], Any]] = {}
        for crossing in self.between(at - lasting_s, at):
            if crossing.key is not None:
                found.setdefault(crossing.key, {})[crossing.sender, crossing.receiver] = None
        return {key: list(links) for key, links in sorted(found.items())}
