"""Which machine a host drives: what the overlay's scheme says."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from semcast.net.view import OverlayView
from semcast.protocol.coordinator.coordinator import Coordinator
from semcast.protocol.node import Node
from semcast.protocol.semnet.node import SEMNET, SemanticNode
from semcast.protocol.semnet.registrar import Registrar
from semcast.protocol.stores import CoordinatorStore
from semcast.storage.broker_store import BrokerStore
from semcast.trees.topology import GATEWAY


def node_of(
    name: str, view: OverlayView, store: BrokerStore, neighbours: Sequence[str], near: Container[str], now: float
) -> Node:
    """The machine of a broker; ``near`` are clients within its process who take batches."""
    topology, settings, streams = view.overlay(), view.tuned(), view.declared()
    gateway = GATEWAY in topology.brokers[topology.numbers[name]].roles
    if view.scheme == SEMNET:
        return SemanticNode(
            name,
            topology=topology,
            neighbours=neighbours,
            settings=settings,
            notes=store.notes,
            streams=streams,
            role=view.routers.get(name),
            log=store.log,
            gateway=gateway,
            incarnation=store.incarnation,
            now=now,
        )
    return Node(
        name,
        neighbours=neighbours,
        coordinators=sorted({*view.coordinators, *view.candidates}),
        settings=settings,
        notes=store.notes,
        log=store.log,
        gateway=gateway,
        streams=streams,
        incarnation=store.incarnation,
        now=now,
        in_bytes=True,
        near=near,
    )


def coordinator_of(
    name: str, view: OverlayView, store: CoordinatorStore, seed: int, incarnation: int
) -> Coordinator | Registrar:
    """The machine of a coordinator."""
    if view.scheme == SEMNET:
        return Registrar()
    return Coordinator(
        name,
        store=store,
        topology=view.overlay(),
        scheme=view.scheme,
        settings=view.tuned(),
        rng=np.random.default_rng(seed),
        channels=view.channels,
        incarnation=incarnation,
    )
