"""What runs at one broker of a semantic network: a node with a router, and maybe a source and clients.

It speaks with clients as any broker does, and with its neighbours as the thesis' routers do. It knows no plan and no
coordinator: the overlay and its trees are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.node import Node
from semcast.protocol.semnet.carrier import RouterCarrier
from semcast.protocol.semnet.door import PacketDoor
from semcast.protocol.semnet.outlet import PacketOutlet
from semcast.protocol.semnet.router import ROLES, SemanticRouter
from semcast.protocol.semnet.trees import router_trees, tree_of
from semcast.protocol.settings import Settings
from semcast.protocol.source.source import Source
from semcast.protocol.stores import Log, Notes
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames.semantic import Role
from semcast.trees.roles import SOURCE
from semcast.trees.topology import Topology


def semantic_node(
    broker: str,
    *,
    topology: Topology,
    neighbours: Sequence[str],
    settings: Settings,
    notes: Notes,
    streams: Streams,
    role: Role | None = None,
    log: Log | None = None,
    gateway: bool = False,
    incarnation: int = 1,
    now: float = 0.0,
) -> Node:
    """Compose the machine of one broker of a semantic network; with a ``log`` it is a source."""
    sources = [held.id for held in topology.brokers if SOURCE in held.roles]
    trees = router_trees(topology, sources, list(streams.declared))[broker]
    tuned = replace(ROLES[role or "border"], resend_s=settings.resend_s)
    router = SemanticRouter(broker, trees, tuned, incarnation)
    source: Source[PacketOutlet] | None = None
    if log is not None:
        ways = {stream: tree_of(trees, stream, broker) or "" for stream in streams.declared}
        outlet = PacketOutlet(broker, log, settings, incarnation, ways.__getitem__)
        source = Source(log, settings, streams, outlet)
    door = PacketDoor(broker, notes, settings, incarnation, now, streams) if gateway else None
    forwarding = Broker(broker)
    return Node(
        forwarding,
        crossing=Crossing(forwarding),
        carrier=RouterCarrier(router, forwarding, neighbours, door),
        source=source,
        gateway=door.gateway if door is not None else None,
        neighbours=neighbours,
        coordinators=(),
        settings=settings,
        notes=notes,
        incarnation=incarnation,
        now=now,
    )
