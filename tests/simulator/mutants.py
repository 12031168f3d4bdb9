"""What tests of broken protocols share: a mutant, and which laws a run breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from semcast.protocol.contract import Command, Send, Sync
from semcast.protocol.source.outlet import Outlet
from semcast.protocol.source.source import Source
from semcast.protocol.wire.frames import Publish, Published
from semcast.sim.scenario import Scenario
from semcast.sim.simulation import Simulation

Patch = pytest.MonkeyPatch
QUIET, MISSED, NEEDLESS = "calm runs are quiet", "nothing is missed", "gaps have a reason"


@dataclass(frozen=True)
class Mutant:
    """A way to break the protocol, a run in which that matters, and the law that has to find it out."""

    broken: Callable[[Patch], None]
    run: Scenario
    law: str


def broken_laws(run: Scenario) -> set[str]:
    return {found.law for found in Simulation(run, 1).run().violations}


def acks_before_the_sync(patch: Patch) -> None:
    plain = Source.publish

    def publish(self: Source[Outlet], publish: Publish, sender: str, now: float) -> list[Command]:
        commands = plain(self, publish, sender, now)
        last = publish.first + len(publish.messages) - 1
        early = Send(sender, Published(publish.origin, last, self.log.end))
        return [*commands, early] if any(isinstance(command, Sync) for command in commands) else commands

    patch.setattr(Source, "publish", publish)
