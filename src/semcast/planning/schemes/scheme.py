"""What a scheme is: which parts of planning, installing, forwarding and counting differ from scheme to scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np

    from semcast.planning.build import Builder, Request
    from semcast.planning.live import Covers, Held, LiveChannels
    from semcast.planning.plan import Plan
    from semcast.planning.reorganise import Reorganised
    from semcast.trees.joins import Closest
    from semcast.trees.topology import Topology

Say = Callable[[str], None]


class Scheme:
    """One way for messages to travel. Nobody else compares names of schemes: they ask for these properties.

    What a scheme needs to plan is imported when it plans; brokers and clients ask for properties only.
    """

    masked: ClassVar[bool] = False
    """A message takes one tree and carries a mask of the gateways that it is for."""
    per_hop: ClassVar[bool] = False
    """Every broker filters by content."""
    per_source: ClassVar[bool] = False
    """A tree hangs at a source and serves it alone. Such trees are decided by the topology, not by statistics."""
    by_overlap: ClassVar[bool] = False
    """Channels are found from how much profiles overlap (the papers' schemes)."""
    coordinated: ClassVar[bool] = True
    """Coordinators decide on a plan and brokers follow it; else brokers are semantic routers."""
    least_gain: ClassVar[float] = 0.05
    """What a new plan must save of the cost of the one in force."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def filtered(self) -> bool:
        """Does a message arrive only where somebody wants it? Then it enters its tree where it enters the overlay."""
        return self.masked or self.per_hop

    def objection(self, language: str) -> str | None:
        """Why a stream of this language cannot travel so; None where it can."""
        return None

    def plan(self, builder: Builder) -> Plan:
        """A plan from scratch; its cost is not counted yet."""
        raise NotImplementedError

    def reorganised(self, old: Plan, request: Request, covers: Covers, least_gain: float, say: Say) -> Reorganised:
        """The plan to go on with after ``old``, which must save ``least_gain`` of the cost to change channels."""
        from semcast.planning.reorganise import compared

        return compared(old, request, covers, least_gain, say)

    def live(
        self,
        plan: Plan,
        topology: Topology,
        held: Held,
        covers: Covers,
        rng: np.random.Generator,
        closest: Closest,
    ) -> LiveChannels:
        """The channels of a plan while profiles come and go."""
        raise NotImplementedError
