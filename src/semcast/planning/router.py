"""From a message's matches to its channels, by the current plan.

One implementation for Spark tasks and for live sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.channels.expressions import Expression, any_of, renumbered
from semcast.matching.matches import Matches
from semcast.model.bits import bit_numbers
from semcast.planning.plan import Plan, PlanError
from semcast.planning.program import Bits, Program

_SLICE = 1 << 14  # messages at a time, so that the rows of many channels stay in the cache


class ChannelBatch(NamedTuple):
    """Messages that go over one channel."""

    channel: int
    """Its place in the plan."""
    rows: NDArray[np.int64]
    """The messages, ascending."""


class Router:
    """Routes batches of matches over numbered profiles.

    ``profiles`` are the ids in the order of the matcher's numbers; by default the plan's own. One of each
    class of equal profiles is enough.
    """

    def __init__(self, plan: Plan, profiles: Sequence[str] | None = None) -> None:
        self.plan = plan
        self.profiles = tuple(plan.subscriptions if profiles is None else profiles)
        self._program = Program(self._expressions(), len(self.profiles))

    def route(self, matches: Matches) -> list[ChannelBatch]:
        """The messages of each channel that has any, channels in the plan's order."""
        parts: dict[int, list[NDArray[np.int64]]] = {}
        for first in range(0, matches.rows, _SLICE):
            last = min(first + _SLICE, matches.rows)
            part = Matches(
                matches.indptr[first : last + 1] - matches.indptr[first],
                matches.indices[matches.indptr[first] : matches.indptr[last]],
            )
            for channel, row in enumerate(self._program.rows(part)):
                found = np.empty(part.rows, np.int64)
                count = bit_numbers(row, first, found)
                if count:
                    parts.setdefault(channel, []).append(found[:count])
        return [ChannelBatch(channel, np.concatenate(found)) for channel, found in sorted(parts.items())]

    def carried(self, matches: Matches) -> Bits:
        """The same as bits: bit m of row c says that message m goes over channel c."""
        return self._program.rows(matches)

    def _expressions(self) -> list[Expression]:
        """The channels' expressions over the matcher's numbers."""
        given = {profile: number for number, profile in enumerate(self.profiles)}
        number: dict[int, int] = {}
        for profile, planned in self.plan.numbers.items():
            first = self.plan.same_as.get(profile, profile)
            place = given.get(profile, given.get(first))
            if place is None:
                raise PlanError(f"the matcher does not know profile {profile!r} of the plan")
            number[planned] = place
        everyone = any_of(number.values())
        found = []
        for channel in self.plan.channels:
            expression = self.plan.expression(channel)
            found.append(everyone if expression is None else renumbered(expression, number))
        return found
