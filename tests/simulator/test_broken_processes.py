"""What production runs around the machines, broken on purpose: bytes, commits, disks and taps. A law finds each out."""

from __future__ import annotations

import pytest

from semcast.protocol.broker.forwarding import _Lanes
from semcast.protocol.client.near import NearSubscriber, Outcome
from semcast.protocol.commits import Commits, Due
from semcast.protocol.contract import Command, Handed, Sync
from semcast.protocol.gateway.taps import Tap
from semcast.protocol.wire.framing import Held
from semcast.sim.disk import SimulatedFiles
from semcast.sim.faults import Crash, DiskFault, Partition
from semcast.sim.scenario import Network, Production, Scenario
from semcast.storage.log import SqliteLog
from semcast.storage.notes import SqliteNotes
from tests.simulator.crossroads import at_gateways, scenario
from tests.simulator.mutants import (
    MISSED,
    NEEDLESS,
    QUIET,
    Mutant,
    Patch,
    acks_before_the_sync,
    broken_laws,
)

DURABLE, FAILED, SOUND = "acked is durable", "no machine fails", "stores stay sound"


def produced(**changes: object) -> Scenario:
    """Brokers as production runs them."""
    return scenario(**({"production": Production()} | changes))


# --- bytes between neighbours


def crossing_sheds_for_everybody(patch: Patch) -> None:
    plain = _Lanes.congested
    patch.setattr(_Lanes, "congested", lambda self, names: plain(self, set(self.neighbours)))


def forgets_the_frame_that_is_cut(patch: Patch) -> None:
    patch.setattr(Held, "keep", lambda self, data, at: None)


# --- commits


def does_commands_before_the_commit(patch: Patch) -> None:
    plain = Commits.say

    def say(self: Commits, commands: list[Command], *, dirty: bool) -> Due:
        syncs: list[Command] = [command for command in commands if isinstance(command, Sync)]
        return Due(commands, plain(self, syncs, dirty=dirty).write)

    patch.setattr(Commits, "say", say)


def forgets_held_commands(patch: Patch) -> None:
    plain = Commits.finish
    patch.setattr(Commits, "finish", lambda self: Due([], plain(self).write))


def never_tries_again(patch: Patch) -> None:
    """What a failed commit had taken is forgotten."""
    patch.setattr(SqliteLog, "failed", lambda self, taken: self.segments.give_up())
    patch.setattr(SqliteNotes, "failed", lambda self: self.written())


# --- the disk


def acknowledges_before_the_sync_of_a_segment(patch: Patch) -> None:
    patch.setattr(SimulatedFiles, "sync", lambda self: None)


# --- taps


def tap_leaves_one_out(patch: Patch) -> None:
    plain = Tap.release

    def release(self: Tap, source: str, frontier: int) -> list[Command]:
        found = plain(self, source, frontier)
        return [
            Handed(
                handed.to, handed.session, handed.sequence, handed.source, handed.numbers[1:], handed.bodies[1:],
                handed.through,
            )
            for handed in found
            if isinstance(handed, Handed)
        ]  # fmt: skip

    patch.setattr(Tap, "release", release)


def asks_again_without_its_cursor(patch: Patch) -> None:
    """A near subscriber whose gateway has fallen begins with what comes next."""
    plain = NearSubscriber._say

    def say(self: NearSubscriber, now: float) -> list[Outcome]:
        if self._base is None:
            self.cursor.clear()
        return plain(self, now)

    patch.setattr(NearSubscriber, "_say", say)


MUTANTS = {
    found.broken.__name__: found
    for found in [
        Mutant(crossing_sheds_for_everybody, produced(), QUIET),
        Mutant(forgets_the_frame_that_is_cut, produced(), FAILED),
        Mutant(
            # b4's disk is slow when s2 attaches; it falls before the session is on it, and s2 is cut off for a while.
            does_commands_before_the_commit,
            produced(
                clients=(at_gateways(3, durable=1.0),),
                faults=(
                    DiskFault(from_s=0.2, to_s=1.4, party="b4", how="slow", slow_ms=2200),
                    Crash(from_s=1.2, to_s=1.5, party="b4"),
                    Partition(from_s=1.3, to_s=7.5, side=("s2",)),
                ),
            ),
            NEEDLESS,
        ),
        Mutant(
            # b3 saves sessions all the time, and what it forwards to b4 meanwhile waits for that.
            forgets_held_commands,
            produced(
                clients=(at_gateways(6, "b3", durable=1.0), at_gateways(1, "b4")),
                network=Network(sync_ms=(20.0, 40.0)),
            ),
            QUIET,
        ),
        Mutant(
            never_tries_again,
            produced(
                faults=(
                    DiskFault(from_s=3.0, to_s=5.0, party="b0", how="full"),
                    Crash(from_s=5.4, to_s=5.7, party="b0"),
                )
            ),
            SOUND,
        ),
        Mutant(
            acknowledges_before_the_sync_of_a_segment,
            produced(faults=tuple(Crash(from_s=at, to_s=at + 0.5, party="b0") for at in (3.5, 5.0, 6.5))),
            DURABLE,
        ),
        Mutant(
            acks_before_the_sync,
            produced(
                network=Network(sync_ms=(100.0, 300.0)),
                faults=tuple(Crash(from_s=at, to_s=at + 0.5, party="b0") for at in (3.5, 5.0, 6.5)),
            ),
            DURABLE,
        ),
        Mutant(tap_leaves_one_out, produced(production=Production(near=1.0)), MISSED),
        Mutant(
            asks_again_without_its_cursor,
            produced(production=Production(near=1.0), faults=(Crash(from_s=4.0, to_s=5.0, party="b4"),)),
            MISSED,
        ),
    ]
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_process_is_found_out(name: str, monkeypatch: Patch) -> None:
    mutant = MUTANTS[name]
    assert broken_laws(mutant.run) == set()
    mutant.broken(monkeypatch)
    assert mutant.law in broken_laws(mutant.run)
