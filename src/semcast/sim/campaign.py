"""Faults drawn at random, as a campaign asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from semcast.sim.faults import (
    AnyFault,
    Crash,
    DiskFault,
    Jitter,
    Loss,
    Partition,
    Pause,
    Skew,
    Slow,
    StoreCut,
    StoreSlow,
    Twice,
)
from semcast.sim.scenario import Campaign, rates
from semcast.trees.topology import Topology

_SHORTEST_S = 0.05
_HOW: tuple[Literal["full", "failing", "slow"], ...] = ("full", "failing", "slow")


@dataclass(frozen=True)
class Victims:
    """Who and what faults can hit."""

    topology: Topology
    coordinators: Sequence[str]
    clients: Sequence[str]

    @property
    def brokers(self) -> list[str]:
        return [broker.id for broker in self.topology.brokers]


def drawn_faults(campaign: Campaign, victims: Victims, end_s: float, rng: np.random.Generator) -> list[AnyFault]:
    """So many faults of each kind as a Poisson process gives; all are over at ``end_s``."""
    span = max(0.0, end_s - campaign.from_s)
    makers = _makers(campaign, victims)
    found: list[AnyFault] = []
    for (kind, rate), own in zip(rates(campaign).items(), rng.spawn(len(makers)), strict=True):
        for _ in range(int(own.poisson(rate * span / 60))):
            begin = campaign.from_s + float(own.random()) * span
            length = max(_SHORTEST_S, float(own.random()) * campaign.longest_s)
            begin = min(begin, end_s - _SHORTEST_S)
            made = makers[kind](own, round(begin, 6), round(min(begin + length, end_s), 6))
            if made is not None:
                found.append(made)
    return found


_Maker = Callable[[np.random.Generator, float, float], AnyFault | None]


def _makers(campaign: Campaign, victims: Victims) -> dict[str, _Maker]:
    parties = [*victims.brokers, *victims.coordinators, *(victims.clients if campaign.clients else ())]

    def one(rng: np.random.Generator, among: Sequence[str]) -> str:
        return among[int(rng.integers(len(among)))]

    def partition(rng: np.random.Generator, begin: float, end: float) -> AnyFault:
        hold, one_way = bool(rng.random() < 0.3), bool(rng.random() < 0.2)
        if rng.random() < 0.4 and victims.topology.links:
            link = victims.topology.links[int(rng.integers(len(victims.topology.links)))]
            return Partition(from_s=begin, to_s=end, link=(link.a, link.b), hold=hold, one_way=one_way)
        among = [*victims.brokers, *victims.coordinators]
        size = int(rng.integers(1, max(2, len(among) // 2 + 1)))
        side = tuple(among[at] for at in sorted(rng.permutation(len(among))[:size].tolist()))
        return Partition(from_s=begin, to_s=end, side=side, hold=hold, one_way=one_way)

    def up_to(rng: np.random.Generator, most: float) -> float:
        return round(most * (0.05 + 0.95 * float(rng.random())), 4)

    # Clocks of a campaign drift and never jump: leases stand on clocks that go at about the same rate.
    return {
        "crash": lambda rng, begin, end: Crash(from_s=begin, to_s=end, party=one(rng, parties)),
        "pause": lambda rng, begin, end: Pause(from_s=begin, to_s=end, party=one(rng, parties)),
        "slow": lambda rng, begin, end: Slow(
            from_s=begin, to_s=end, party=one(rng, victims.brokers), service_ms=up_to(rng, 20.0)
        ),
        "skew": lambda rng, begin, end: Skew(
            from_s=begin, to_s=end, party=one(rng, parties), rate=round(0.99 + 0.02 * float(rng.random()), 4)
        ),
        "store_cut": lambda rng, begin, end: StoreCut(from_s=begin, to_s=end, party=one(rng, victims.coordinators)),
        "loss": lambda rng, begin, end: Loss(from_s=begin, to_s=end, probability=up_to(rng, 0.4)),
        "twice": lambda rng, begin, end: Twice(from_s=begin, to_s=end, probability=up_to(rng, 0.4)),
        "jitter": lambda rng, begin, end: Jitter(from_s=begin, to_s=end, most_ms=up_to(rng, 300.0)),
        "partition": partition,
        "store_slow": lambda rng, begin, end: StoreSlow(
            from_s=begin, to_s=end, party=one(rng, victims.coordinators), most_ms=up_to(rng, 2500.0)
        ),
        "disk": lambda rng, begin, end: DiskFault(
            from_s=begin, to_s=end, party=one(rng, victims.brokers), how=_HOW[int(rng.integers(3))]
        ),
    }
