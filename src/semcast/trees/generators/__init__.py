"""Topologies drawn at random: flat random, Waxman, transit-stub and power-law.

Each generator takes a number of brokers and a numpy Generator, and gives a Sketch: places and links. ``generate``
makes a topology of it: delays by distance, costs, gateways and sources. Same arguments and seed → same topology.
docs/topologies.md has the formulas.
"""

from __future__ import annotations

import numpy as np

from semcast.trees.generators.domains import TransitStub
from semcast.trees.generators.flat import flat_random
from semcast.trees.generators.power_law import power_law
from semcast.trees.generators.sketch import Costs, Sketch
from semcast.trees.generators.transit_stub import transit_stub
from semcast.trees.generators.waxman import DEFAULT_BETA, waxman
from semcast.trees.roles import DEFAULT_GATEWAYS, with_roles
from semcast.trees.topology import Topology, TopologyError

KINDS = {"random": flat_random, "waxman": waxman, "transit-stub": transit_stub, "power-law": power_law}
"""Kind → its generator with its defaults: (brokers, rng, degree) → Sketch."""

__all__ = [
    "DEFAULT_BETA",
    "KINDS",
    "Costs",
    "Sketch",
    "TransitStub",
    "flat_random",
    "furnish",
    "generate",
    "power_law",
    "transit_stub",
    "waxman",
]


def generate(
    kind: str,
    brokers: int,
    rng: np.random.Generator,
    *,
    degree: float | None = None,
    gateways: float = DEFAULT_GATEWAYS,
    sources: int = 0,
    costs: Costs = "unit",
) -> Topology:
    """A topology of this kind, with a mean degree of 4 unless given; ``gateways`` is a share, ``sources`` a number."""
    if kind not in KINDS:
        raise TopologyError(f"there is no kind of topology {kind!r}; there is {', '.join(KINDS)}")
    shape, roles = rng.spawn(2)
    return furnish(KINDS[kind](brokers, shape, degree), roles, gateways=gateways, sources=sources, costs=costs)


def furnish(
    sketch: Sketch,
    rng: np.random.Generator,
    *,
    gateways: float = DEFAULT_GATEWAYS,
    sources: int = 0,
    costs: Costs = "unit",
) -> Topology:
    """A sketch with costs, delays and roles."""
    return with_roles(sketch.topology(costs), rng, gateways=gateways, sources=sources, edge=sketch.edge)
