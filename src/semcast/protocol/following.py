"""The plan that a source follows: from messages to the trees they go over, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from semcast.matching.matches import Matches
from semcast.model.message import Message, ProfileText
from semcast.planning.plan import Plan, PlannedChannel
from semcast.planning.router import Router
from semcast.protocol.filters import Filter
from semcast.protocol.frames import Key, PlannedTree, Switch

AWAY: Key = ("", 0)
"""Stands for no tree: what gateways are owed that are away."""

_ROOM = 1 << 20
"""How many profiles may be in all sets whose routes are remembered."""


class Routed(NamedTuple):
    """One message's matches, and the trees it takes with the gateways that it reaches there, as bits."""

    profiles: tuple[str, ...]
    routes: tuple[tuple[Key, int], ...]


class Following:
    """Matches and routes messages by one plan."""

    def __init__(self, switch: Switch, source: str, matching: Filter[str]) -> None:
        self.epoch = switch.epoch
        self.scheme = switch.scheme
        self.gateways = switch.gateways
        self.absent = switch.absent
        self.trees: dict[Key, PlannedTree] = {tree.key: tree for tree in switch.trees}
        self.bits = {gateway: bit for bit, gateway in enumerate(switch.gateways)}
        self._keys = list(self.trees)
        self._reached = [sum(1 << bit for bit in tree.gateways) for tree in switch.trees]
        self._profiles: dict[str, ProfileText] = {name: text for name, text, _ in switch.profiles}
        self._held = {name: sum(1 << self.bits[gateway] for gateway in held) for name, _, held in switch.profiles}
        self._numbers = {name: number for number, name in enumerate(self._profiles)}
        self._away = sum(1 << self.bits[gateway] for gateway in switch.absent)
        self._matching = matching
        matching.keep(self._profiles)
        reached = {bit for tree in switch.trees for bit in tree.gateways}
        self._present = [gateway for bit, gateway in enumerate(switch.gateways) if bit in reached]
        self._router = Router(self._plan(switch), source=source) if self._keys and self._profiles else None
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
        routes: list[list[tuple[Key, int]]] = [[] for _ in matched]
        if self._router is not None:
            for batch in self._router.route(self._matches(matched)):
                key, reached = self._keys[batch.channel], self._reached[batch.channel]
                for place, row in enumerate(batch.rows.tolist()):
                    mask = reached
                    if batch.masks is not None:
                        mask = self._spread(int.from_bytes(batch.masks[place].tobytes(), "little"))
                    elif self.scheme == "spt":
                        mask = self._wanting(matched[row]) & reached
                    if mask:
                        routes[row].append((key, mask))
        for row, names in enumerate(matched):
            owed = self._wanting(names) & self._away if self._away else 0
            if owed:
                routes[row].append((AWAY, owed))
        return [Routed(names, tuple(way)) for names, way in zip(matched, routes, strict=True)]

    def _wanting(self, names: Sequence[str]) -> int:
        mask = 0
        for name in names:
            mask |= self._held[name]
        return mask

    def _matches(self, matched: Sequence[Sequence[str]]) -> Matches:
        numbers = [sorted(self._numbers[name] for name in names) for names in matched]
        indptr = np.zeros(len(matched) + 1, np.int64)
        np.cumsum([len(row) for row in numbers], out=indptr[1:])
        return Matches(indptr, np.array([number for row in numbers for number in row], np.int32))

    def _spread(self, mask: int) -> int:
        """Bits of the gateways that are there → bits of all."""
        if len(self._present) == len(self.gateways):
            return mask
        found = 0
        while mask:
            found |= 1 << self.bits[self._present[(mask & -mask).bit_length() - 1]]
            mask &= mask - 1
        return found

    def _plan(self, switch: Switch) -> Plan:
        """The plan as the router has to see it: with the gateways that trees can reach."""
        there = set(self._present)
        subscriptions = {
            name: tuple(gateway for gateway in held if gateway in there) for name, _, held in switch.profiles
        }
        channels = tuple(
            PlannedChannel(
                id=tree.key[0],
                stream=None,
                expression=tree.expression,
                profiles=(),
                gateways=tuple(switch.gateways[bit] for bit in tree.gateways),
                rendezvous=tree.rendezvous,
                tree=tree.links,
                rate=0.0,
            )
            for tree in switch.trees
        )
        return Plan(switch.term, switch.epoch, switch.scheme, tuple(self._present), subscriptions, channels, {})
