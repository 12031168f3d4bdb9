"""The overlay of a scenario: drawn or given, with its roles."""

from __future__ import annotations

import msgspec
import numpy as np

from semcast.model import SemcastError
from semcast.sim.scenario import Overlay
from semcast.trees import Topology
from semcast.trees.generators import generate
from semcast.trees.roles import SOURCE
from semcast.trees.topology import GATEWAY


def topology_of(overlay: Overlay) -> Topology:
    """The scenario's topology; roles that it does not name stay as the file has them, else they are drawn."""
    shape, roles = np.random.default_rng(overlay.seed).spawn(2)
    if overlay.json is not None:
        made = Topology.from_json(overlay.json)
    else:
        made = generate(overlay.kind, overlay.brokers, shape, degree=overlay.degree)
        made = _given(made, GATEWAY, ())
    brokers = len(made.brokers)
    by_source, by_gateway = roles.spawn(2)
    made = _with(made, SOURCE, overlay.sources, 1, by_source)
    return _with(made, GATEWAY, overlay.gateways, max(1, brokers // 2), by_gateway)


def having(topology: Topology, role: str) -> list[str]:
    """The brokers of a role, in natural order."""
    return [broker.id for broker in topology.brokers if role in broker.roles]


def _with(
    topology: Topology, role: str, wanted: int | tuple[str, ...] | None, default: int, rng: np.random.Generator
) -> Topology:
    key = f"topology.{role}s"
    if isinstance(wanted, tuple):
        for broker in wanted:
            if broker not in topology.numbers:
                raise SemcastError(f"{key}: there is no broker {broker!r}")
        chosen: tuple[str, ...] = wanted
    elif wanted is None and having(topology, role):
        return topology
    else:
        count = default if wanted is None else wanted
        if not 1 <= count <= len(topology.brokers):
            raise SemcastError(f"{key}: {count} of {len(topology.brokers)} brokers cannot be chosen")
        chosen = tuple(topology.ids(rng.permutation(len(topology.brokers))[:count].tolist()))
    if not chosen:
        raise SemcastError(f"{key}: at least one is needed")
    return _given(topology, role, chosen)


def _given(topology: Topology, role: str, chosen: tuple[str, ...]) -> Topology:
    brokers = []
    for broker in topology.brokers:
        kept = tuple(other for other in broker.roles if other != role)
        brokers.append(msgspec.structs.replace(broker, roles=(*kept, role) if broker.id in chosen else kept))
    return Topology(tuple(brokers), topology.links)
