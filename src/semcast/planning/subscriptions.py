"""Who wants what, as planning sees it: distinct profiles, each with its gateways.

Clients with the same profile are one column of all statistics. Which profiles are the same, the language says.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semcast.channels.spans import Gateways, gateways_of


@dataclass(frozen=True, eq=False)
class Subscriptions:
    """Profiles by id with the gateways that have clients for them, and which of them say the same."""

    gateways: tuple[str, ...]
    """All gateways of the overlay, in bit order."""
    wanted_at: Mapping[str, tuple[str, ...]]
    """Profile id → its gateways."""
    distinct: tuple[str, ...]
    """The first id of each class of equal profiles."""
    same_as: Mapping[str, str]
    """Every other id → the first of its class."""

    @staticmethod
    def of(
        gateways: Sequence[str], wanted_at: Mapping[str, Sequence[str]], meaning: Mapping[str, Hashable]
    ) -> Subscriptions:
        """Group profiles by what they mean (their canonical text, say); order decides who stands for a class."""
        first: dict[Hashable, str] = {}
        same_as: dict[str, str] = {}
        for profile in wanted_at:
            representative = first.setdefault(meaning[profile], profile)
            if representative != profile:
                same_as[profile] = representative
        held = {profile: tuple(names) for profile, names in wanted_at.items()}
        return Subscriptions(tuple(gateways), held, tuple(first.values()), same_as)

    @cached_property
    def bits(self) -> dict[str, int]:
        return {gateway: bit for bit, gateway in enumerate(self.gateways)}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Any profile id → the number of its class."""
        own = {profile: number for number, profile in enumerate(self.distinct)}
        return own | {profile: own[first] for profile, first in self.same_as.items()}

    @cached_property
    def members(self) -> list[list[str]]:
        """Per class all its profile ids, in their order."""
        found: list[list[str]] = [[] for _ in self.distinct]
        for profile in self.wanted_at:
            found[self.numbers[profile]].append(profile)
        return found

    @cached_property
    def gateway_sets(self) -> list[Gateways]:
        """Per class the gateways that any of its profiles has, as bits."""
        found = [0] * len(self.distinct)
        for profile, names in self.wanted_at.items():
            found[self.numbers[profile]] |= gateways_of(self.bits[name] for name in names)
        return found

    @cached_property
    def clients(self) -> NDArray[np.int64]:
        """``clients[p, g]``: how many profiles of class p are at gateway g."""
        found = np.zeros((len(self.distinct), len(self.gateways)), np.int64)
        for profile, names in self.wanted_at.items():
            for name in names:
                found[self.numbers[profile], self.bits[name]] += 1
        return found
