"""Who takes part in a simulation: a machine, where it sits, and what survives its crashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from semcast.protocol.contract import Machine
from semcast.sim.clock import Clock
from semcast.sim.disk import KnownLog
from semcast.sim.stores import MemoryLog

if TYPE_CHECKING:
    from semcast.sim.network import Lane
    from semcast.sim.process import BrokerProcess

Role = Literal["broker", "coordinator", "client"]


class Party:
    """A machine and its circumstances.

    ``build(incarnation, now)`` makes the machine, on the stores that outlive it. A client's machine is its memory:
    it is made once and goes on after a crash.
    """

    __slots__ = (
        "alive", "at", "build", "busy_until", "clock", "incarnation", "lanes", "log", "machine", "name", "paused_until",
        "process", "role", "service_s", "synced_at",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        role: Role,
        at: str,
        build: Callable[[int, float], Machine],
        *,
        log: MemoryLog | KnownLog | None = None,
        process: BrokerProcess | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.role: Role = role
        self.at = at
        """The broker where it sits."""
        self.build = build
        self.log = log
        self.process = process
        """Runs the machine as production does, where the scenario asks for that."""
        self.clock = clock or Clock()
        self.incarnation = 0
        self.alive = False
        self.machine: Machine | None = None
        self.service_s = 0.0
        """What each frame costs it; 0 but for slow ones."""
        self.busy_until = 0.0
        self.paused_until = 0.0
        self.synced_at = 0.0
        """When the last Sync that it asked for is done."""
        self.lanes: dict[str, Lane] = {}

    def start(self, true: float) -> Machine:
        """Make the machine, anew after a crash."""
        self.incarnation += 1
        if self.machine is None:
            self.machine = self.build(self.incarnation, self.clock.read(true))
        self.alive = True
        return self.machine

    def stop(self) -> None:
        self.alive = False
        self.busy_until = self.paused_until = self.synced_at = 0.0
        if self.role != "client":
            self.machine = None
