"""The plan that a source follows: from messages to the trees they go over, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from semcast.matching.matches import Matches
from semcast.model.message import Message, ProfileText
from semcast.protocol.filters import Filter
from semcast.protocol.source.routing import Routes, Routing
from semcast.protocol.stores import AWAY
from semcast.protocol.wire.frames import Key, PlannedTree, Switch

_ROOM = 1 << 20
"""How many profiles may be in all sets whose routes are remembered."""


class Routed(NamedTuple):
    """One message's matches, and the trees it takes with the gateways that it reaches there, as bits."""

    profiles: tuple[str, ...]
    routes: Routes


class Following:
    """Matches and routes messages by one plan."""

    def __init__(self, switch: Switch, source: str, matching: Filter[str]) -> None:
        self.switch = switch
        self.epoch = switch.epoch
        self.scheme = switch.scheme
        self.gateways = switch.gateways
        self.absent = switch.absent
        self.trees: dict[Key, PlannedTree] = {tree.key: tree for tree in switch.trees}
        self.bits = {gateway: bit for bit, gateway in enumerate(switch.gateways)}
        self.reached = {key: sum(1 << bit for bit in tree.gateways) for key, tree in self.trees.items()}
        """Per tree the gateways that it has, and those that are away."""
        self.reached[AWAY] = sum(1 << self.bits[gateway] for gateway in switch.absent)
        profiles: dict[str, ProfileText] = {name: text for name, text, _ in switch.profiles}
        self._numbers = {name: number for number, name in enumerate(profiles)}
        self._matching = matching
        matching.keep(profiles)
        self._routing = Routing(switch, source)
        self._known: dict[tuple[str, ...], Routed] = {}
        self._room = _ROOM

    def route(self, messages: Sequence[Message]) -> list[Routed]:
        """Match and route a batch. What matches decides alone: each set of profiles is routed once."""
        matched = [tuple(names) for names in self._matching.match(messages)]
        new = [names for names in dict.fromkeys(matched) if names not in self._known]
        if new:
            self._room -= sum(map(len, new))
            if self._room < 0:
                self._known, new = {}, list(dict.fromkeys(matched))
                self._room = _ROOM - sum(map(len, new))
            self._known |= zip(new, self._routed(new), strict=True)
        return [self._known[names] for names in matched]

    def _routed(self, matched: Sequence[tuple[str, ...]]) -> list[Routed]:
        routes = self._routing.routes(self._matches(matched))
        return [Routed(names, way) for names, way in zip(matched, routes, strict=True)]

    def _matches(self, matched: Sequence[Sequence[str]]) -> Matches:
        return Matches.of_rows([sorted(self._numbers[name] for name in names) for names in matched])
