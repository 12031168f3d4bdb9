"""Who of the brokers serves clients, and where messages enter."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from semcast.trees.topology import GATEWAY, Broker, Topology, TopologyError

SOURCE = "source"
DEFAULT_GATEWAYS = 0.2
"""The share of gateways in the evaluation of SemCast 2005, §5."""


def with_roles(
    topology: Topology,
    rng: np.random.Generator,
    *,
    gateways: float | None = DEFAULT_GATEWAYS,
    sources: int | None = 0,
    edge: NDArray[np.bool_] | None = None,
) -> Topology:
    """Draw gateways (a share of all brokers, rounded, at least one) and sources (a number) anew.

    Gateways come from the network's ``edge`` first, and from elsewhere only when the edge is used up. Sources are any
    brokers, gateways or not. None leaves the role as it is; all other roles stay.
    """
    brokers = len(topology.brokers)
    drawn: dict[str, set[int]] = {}
    by_gateway, by_source = rng.spawn(2)
    if gateways is not None:
        if not 0 < gateways <= 1:
            raise TopologyError(f"the share of gateways must be above 0 and at most 1, not {gateways:g}")
        order = by_gateway.permutation(brokers)
        if edge is not None:
            order = order[np.argsort(~edge[order], kind="stable")]
        drawn[GATEWAY] = set(order[: max(1, math.floor(gateways * brokers + 0.5))].tolist())
    if sources is not None:
        if not 0 <= sources <= brokers:
            raise TopologyError(f"{sources} sources among {brokers} brokers")
        drawn[SOURCE] = set(by_source.permutation(brokers)[:sources].tolist())
    return Topology(tuple(_given(topology, node, drawn) for node in range(brokers)), topology.links)


def _given(topology: Topology, node: int, drawn: dict[str, set[int]]) -> Broker:
    broker = topology.brokers[node]
    kept = [role for role in broker.roles if role not in drawn]
    roles = [role for role, nodes in drawn.items() if node in nodes]
    return msgspec.structs.replace(broker, roles=(*roles, *kept))
