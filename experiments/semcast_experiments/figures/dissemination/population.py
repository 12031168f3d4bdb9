"""Clients, gateways and messages of one experiment: each client picks a profile and a gateway at random (2005 §5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semcast.channels.selectivity import Selectivity
from semcast.matching.matches import Matches
from semcast.model.bits import unpacked
from semcast.planning.demands import demand_of
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.demand import Demand
from semcast.trees.generators import generate
from semcast.trees.roles import SOURCE
from semcast.trees.topology import Topology
from semcast_experiments.figures.dissemination.profiles import Profiles, Rng, mean_overlap

_TRIES = 200


class Population(NamedTuple):
    """An overlay with its clients, messages to plan by and messages to count."""

    topology: Topology
    sources: tuple[str, ...]
    subscriptions: Subscriptions
    sample: Selectivity
    counted: Matches

    @property
    def demand(self) -> Demand:
        """Who wants the messages that are counted."""
        return demand_of(self.counted, self.subscriptions, self.topology)

    @property
    def aggregated_overlap(self) -> float:
        """The average partial overlap of what any two gateways want (2005 §5.1)."""
        demand = self.demand
        return mean_overlap(unpacked(demand.wanted, demand.messages).astype(np.float32))


def overlay(kind: str, brokers: int, degree: float, rng: Rng, *, sources: int = 1, gateways: float = 0.2) -> Topology:
    """A network as the papers draw it: 20 % gateways, sources anywhere; transit-stub by GT-ITM's own degree if 0."""
    return generate(kind, brokers, rng, degree=degree or None, gateways=gateways, sources=sources)


def populated(
    topology: Topology, profiles: Profiles, clients: int, rng: Rng, *, sample: int, counted: int
) -> Population:
    """Clients that hold the profiles, and messages; planning and counting never see the same ones.

    Profiles that no client picked stay out of the system, and so do messages that nobody wants.
    """
    by_profile, by_gateway, by_sample, by_counted = rng.spawn(4)
    held = by_profile.integers(0, profiles.count, clients)
    at = by_gateway.integers(0, len(topology.gateways), clients)
    picked = np.unique(held)
    subscriptions = subscribed(topology, np.searchsorted(picked, held), at)
    seen = _wanted(profiles, picked, sample, by_sample)
    judged = _wanted(profiles, picked, counted, by_counted)
    names = tuple(broker.id for broker in topology.brokers if SOURCE in broker.roles)
    return Population(topology, names, subscriptions, Selectivity.of(seen, len(picked)), judged)


def subscribed(topology: Topology, held: NDArray[np.int64], at: NDArray[np.int64]) -> Subscriptions:
    """A profile per number, at the gateways of all clients that hold it."""
    names = topology.ids(topology.gateways)
    wanted: dict[str, list[str]] = {f"p{number}": [] for number in range(int(held.max(initial=-1)) + 1)}
    for profile, gateway in np.unique(np.stack((held, at), axis=1), axis=0).tolist():
        wanted[f"p{profile}"].append(names[gateway])
    return Subscriptions.of(names, wanted, {profile: profile for profile in wanted})


def _wanted(profiles: Profiles, picked: NDArray[np.int64], count: int, rng: Rng) -> Matches:
    """Messages that anyone wants: others cost nothing under any scheme, and would only blur a mean.

    At least half as many as asked for, unless hardly any message is wanted at all.
    """
    alive = np.zeros(profiles.count, np.bool_)
    alive[picked] = True
    parts: list[Matches] = []
    found = 0
    for _ in range(_TRIES):
        drawn = profiles.draw(count, rng).only(alive).renumbered(np.cumsum(alive) - 1)
        parts.append(drawn.taken(np.flatnonzero(drawn.counts())[: count - found]))
        found += parts[-1].rows
        if 2 * found >= count:
            break
    return Matches.stacked(parts)
