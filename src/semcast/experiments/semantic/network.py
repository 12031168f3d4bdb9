"""What the thesis leaves to future work: settling, size and frequency of updates, delay against hops.

Measured on the virtual clock: the routers are real, time is not. Users come one after the other to a Waxman overlay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from semcast.sim.scenario import Clients, Publishers, Scenario, Stream
from semcast.sim.semnet import SemnetSimulation
from semcast.trees.declared import Overlay


class Change(NamedTuple):
    """What one user's coming brought about."""

    users: int
    """Of the network then, itself among them."""
    updates: int
    """Frames between routers."""
    update_bytes: int
    settled_ms: float
    """Until the last of them was sent; 0 where there was none."""


class Delay(NamedTuple):
    hops: int
    packets: int
    mean_ms: float


class Scale(NamedTuple):
    brokers: int
    users: int
    apart_s: float


FULL = Scale(40, 150, 0.5)
QUICK = Scale(12, 20, 0.5)


def network(scale: Scale, seed: int, say: Callable[[str], None]) -> tuple[list[Change], list[Delay]]:
    say(f"{scale.users} users come to {scale.brokers} routers")
    lasts = scale.users * scale.apart_s
    scenario = Scenario(
        duration_s=lasts + 5,
        quiet_s=2.0,
        scheme="semnet",
        topology=Overlay(
            kind="waxman", brokers=scale.brokers, degree=4, seed=seed, sources=2, gateways=scale.brokers // 2
        ),
        streams=(Stream(name="s", language="semantic", attributes=4, values=8),),
        clients=(Clients(stream="s", count=scale.users, attach_s=(0.0, lasts)),),
        publishers=(Publishers(stream="s", rate_hz=20.0, from_s=lasts),),
    )
    run = SemnetSimulation(scenario, seed)
    report = run.run()
    assert not report.violations, report.violations[:3]
    return _changes(run), _delays(run)


def _changes(run: SemnetSimulation) -> list[Change]:
    """Updates by the last user that came before each: users come half a second apart, updates take a few links."""
    came = sorted(wish.changes[0][0] for wish in run.wishes.values())
    by_change: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for at, _, _, size in run.updates:
        number = sum(when <= at for when in came) - 1
        by_change[number].append((at, size))
    return [
        Change(
            number + 1,
            len(by_change[number]),
            sum(size for _, size in by_change[number]),
            1000 * (max(at for at, _ in by_change[number]) - when) if by_change[number] else 0.0,
        )
        for number, when in enumerate(came)
    ]


def _delays(run: SemnetSimulation) -> list[Delay]:
    by_hops: dict[int, list[float]] = defaultdict(list)
    for got in run.got:
        by_hops[got.hops].append(got.at - run.sent[got.body].at)
    return [Delay(hops, len(found), 1000 * sum(found) / len(found)) for hops, found in sorted(by_hops.items())]
