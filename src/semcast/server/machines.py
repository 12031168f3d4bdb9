"""Which machine a host drives: what the overlay's scheme says. A process loads that one and no other."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from semcast.net.view import OverlayView
from semcast.planning.schemes import scheme_of
from semcast.storage.broker_store import BrokerStore
from semcast.trees.topology import GATEWAY

if TYPE_CHECKING:
    from semcast.protocol.coordinator.coordinator import Coordinator
    from semcast.protocol.node import Node
    from semcast.protocol.semnet.registrar import Registrar


def node_of(
    name: str, view: OverlayView, store: BrokerStore, neighbours: Sequence[str], near: Container[str], now: float
) -> Node:
    """The machine of a broker; ``near`` are clients within its process who take batches."""
    topology, settings, streams = view.overlay(), view.tuned(), view.declared()
    gateway = GATEWAY in topology.brokers[topology.numbers[name]].roles
    if not scheme_of(view.scheme).coordinated:
        from semcast.protocol.semnet.node import semantic_node

        return semantic_node(
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
    from semcast.protocol.planned_node import planned_node

    return planned_node(
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
        aside=_in_a_thread(name),
    )


def _in_a_thread(broker: str) -> Callable[[Callable[[], None]], None]:
    """Runs functions one after the other, in a thread that is there while there is something to do."""
    threads = ThreadPoolExecutor(1, f"{broker}-aside")

    def run(work: Callable[[], None]) -> None:
        threads.submit(work)

    return run


def coordinator_of(name: str, view: OverlayView, seed: int, incarnation: int) -> Coordinator | Registrar:
    """The machine of a coordinator."""
    if not scheme_of(view.scheme).coordinated:
        from semcast.protocol.semnet.registrar import Registrar

        return Registrar()
    from semcast.protocol.coordinator.coordinator import Coordinator

    return Coordinator(
        name,
        topology=view.overlay(),
        scheme=view.scheme,
        settings=view.tuned(),
        rng=np.random.default_rng(seed),
        channels=view.channels,
        incarnation=incarnation,
    )
