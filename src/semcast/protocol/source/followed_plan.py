"""The plan that a source follows: from messages to the trees they go over, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from semcast.matching.matches import Matches
from semcast.model.message import Message, ProfileText
from semcast.planning.schemes import scheme_of
from semcast.protocol.filters import Filter
from semcast.protocol.source.followed_roster import FollowedRoster
from semcast.protocol.source.routing import MaskRouting, Routes, Routing
from semcast.protocol.stores import AWAY
from semcast.protocol.wire.frames import Key, PlannedTree, Switch

_ROOM = 1 << 20
"""How many profiles may be in all sets whose routes are remembered."""


class Routed(NamedTuple):
    """One message's matches, and the trees it takes with the gateways that it reaches there, as bits."""

    profiles: tuple[str, ...]
    routes: Routes


class Following:
    """Matches and routes messages by one plan. What matches decides alone: each set of profiles is routed once."""

    def __init__(self, switch: Switch, matching: Filter[str]) -> None:
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
        self._matching = matching
        self._known: dict[tuple[str, ...], Routed] = {}
        self._room = _ROOM

    def plan(self) -> Switch:
        """All that somebody needs who matches and routes in this source's place."""
        raise NotImplementedError

    @property
    def profiles(self) -> int:
        """How many messages are matched with."""
        return len(self._matching)

    def route(self, messages: Sequence[Message]) -> list[Routed]:
        """Match and route a batch."""
        matched = [tuple(names) for names in self._matching.match(messages)]
        new = [names for names in dict.fromkeys(matched) if names not in self._known]
        if new:
            self._room -= sum(map(len, new))
            if self._room < 0:
                new = list(dict.fromkeys(matched))
                self._forget()
                self._room -= sum(map(len, new))
            routes = self._routes(new)
            self._known |= {names: Routed(names, way) for names, way in zip(new, routes, strict=True)}
        return [self._known[names] for names in matched]

    def _forget(self) -> None:
        self._known, self._room = {}, _ROOM

    def _routes(self, matched: Sequence[tuple[str, ...]]) -> list[Routes]:
        raise NotImplementedError


class PlanFollowing(Following):
    """Profiles are those of the plan, which says where their messages go."""

    def __init__(self, switch: Switch, source: str, matching: Filter[str]) -> None:
        super().__init__(switch, matching)
        profiles: dict[str, ProfileText] = {name: text for name, text, _ in switch.profiles}
        self._numbers = {name: number for number, name in enumerate(profiles)}
        matching.keep(profiles)
        self._routing = Routing(switch, source)

    def plan(self) -> Switch:
        return self.switch

    def _routes(self, matched: Sequence[tuple[str, ...]]) -> list[Routes]:
        rows = [sorted(self._numbers[name] for name in names) for names in matched]
        return self._routing.routes(Matches.of_rows(rows))


class RosterFollowing(Following):
    """Profiles are those of the roster, whatever its version; the plan says over which trees gateways are reached."""

    def __init__(self, switch: Switch, source: str, roster: FollowedRoster) -> None:
        super().__init__(switch, roster.matching)
        self._roster = roster
        self._routing = MaskRouting(switch, source)
        self._ways: dict[int, Routes] = {}
        """By masks of the plan's bits."""
        self._bits: dict[int, int] = {0: 0}
        """Masks of the roster's bits → those of the plan's."""

    def plan(self) -> Switch:
        profiles = tuple(self._roster.profiles())
        return msgspec.structs.replace(self.switch, profiles=profiles, version=self._roster.version)

    def changed(self) -> None:
        """The roster has changed: other gateways may want what a set of profiles matches."""
        self._forget()

    def routes(self, masks: Sequence[int]) -> list[Routes]:
        """Trees by masks of the roster's bits."""
        spread = [self._spread(mask) for mask in masks]
        new = [mask for mask in dict.fromkeys(spread) if mask not in self._ways]
        if new:
            if len(self._ways) > _ROOM:
                self._ways, new = {}, list(dict.fromkeys(spread))
            self._ways |= zip(new, self._routing.routes(new), strict=True)
        return [self._ways[mask] for mask in spread]

    def rerouted(self, known: int, more: int) -> Routes:
        """The trees for gateways by the plan's bits, and others by the roster's."""
        mask = known | self._spread(more)
        if mask not in self._ways:
            self._ways[mask] = self._routing.routes([mask])[0]
        return self._ways[mask]

    def _routes(self, matched: Sequence[tuple[str, ...]]) -> list[Routes]:
        return self.routes([self._roster.mask(names) for names in matched])

    def _spread(self, mask: int) -> int:
        """A gateway that the plan does not know yet gets nothing: it is not live, and will be in a plan before."""
        known = self._bits.get(mask)
        if known is None:
            places = [place for place in range(mask.bit_length()) if mask >> place & 1]
            bits = [self.bits.get(self._roster.gateways[place]) for place in places]
            known = self._bits[mask] = sum(1 << bit for bit in bits if bit is not None)
            if len(self._bits) > _ROOM:
                self._bits = {0: 0}
        return known


def following_of(switch: Switch, source: str, matching: Filter[str], roster: FollowedRoster) -> Following:
    """A plan as its scheme is followed."""
    if scheme_of(switch.scheme).masked:
        return RosterFollowing(switch, source, roster)
    return PlanFollowing(switch, source, matching)
