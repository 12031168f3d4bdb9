"""What the thesis leaves to future work: settling, size and frequency of updates, delay against hops.

Measured on the virtual clock: the routers are real, time is not. Users come one after the other to a Waxman overlay.
"""

from __future__ import annotations

from collections import defaultdict
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


class Coming(NamedTuple):
    """Users that come to a network of routers, one after the other."""

    brokers: int
    users: int
    apart_s: float
    seed: int


class Seen(NamedTuple):
    """A change or a delay as a row: what it is of, and by what."""

    what: str
    seed: int
    x: int
    """Users, or hops."""
    number: int
    """Of updates, or of packets."""
    size_bytes: int
    ms: float


def measure(case: Coming) -> list[Seen]:
    """Both of one simulation."""
    changes, delays = network(case)
    found = [Seen("change", case.seed, c.users, c.updates, c.update_bytes, c.settled_ms) for c in changes]
    return found + [Seen("delay", case.seed, d.hops, d.packets, 0, d.mean_ms) for d in delays]


def network(scale: Coming) -> tuple[list[Change], list[Delay]]:
    """Let users come, then publish; what their coming brought about, and how long packets took."""
    lasts = scale.users * scale.apart_s
    scenario = Scenario(
        duration_s=lasts + 5,
        quiet_s=2.0,
        scheme="semnet",
        topology=Overlay(
            kind="waxman", brokers=scale.brokers, degree=4, seed=scale.seed, sources=2, gateways=scale.brokers // 2
        ),
        streams=(Stream(name="s", language="semantic", attributes=4, values=8),),
        clients=(Clients(stream="s", count=scale.users, attach_s=(0.0, lasts)),),
        publishers=(Publishers(stream="s", rate_hz=20.0, from_s=lasts),),
    )
    run = SemnetSimulation(scenario, scale.seed)
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
