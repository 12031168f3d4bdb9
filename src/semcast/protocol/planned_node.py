"""A node that follows plans, composed of its parts."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from semcast.protocol.broker.broker import Broker
from semcast.protocol.broker.forwarding import Crossing
from semcast.protocol.broker.tree_carrier import TreeCarrier
from semcast.protocol.node import Node
from semcast.protocol.settings import Settings
from semcast.protocol.stores import Log, Notes
from semcast.protocol.streams import Streams

if TYPE_CHECKING:
    from semcast.matching.matchers import Aside
    from semcast.protocol.gateway.gateway import Gateway
    from semcast.protocol.source.planned_outlet import PlannedOutlet
    from semcast.protocol.source.source import Source

# A broker loads only what it is: matching and planning are most of a process, and an interior broker has none.
# So sources and gateways are imported where they are made.


def planned_node(
    broker: str,
    *,
    neighbours: Sequence[str],
    coordinators: Sequence[str],
    settings: Settings,
    notes: Notes,
    log: Log | None = None,
    gateway: bool = False,
    streams: Streams | None = None,
    incarnation: int = 1,
    now: float = 0.0,
    in_bytes: bool = False,
    near: Container[str] = (),
    aside: Aside | None = None,
) -> Node:
    """Compose the machine of one broker; with a ``log`` it is a source.

    ``in_bytes``: the source's messages leave as bytes (Passed), which drivers with sockets want.
    ``near``: clients within this process, who take batches (Handed).
    ``aside`` runs a function in a thread: matchers of very many profiles are rebuilt there.
    """
    forwarding, declared = Broker(broker), streams or Streams()
    crossing = Crossing(forwarding)
    source = _source(broker, log, notes, settings, incarnation, declared, aside) if log is not None else None
    door = _gateway(broker, notes, settings, incarnation, now, declared, near, aside) if gateway else None
    return Node(
        forwarding,
        crossing=crossing,
        carrier=TreeCarrier(forwarding, source, door, incarnation, crossing if in_bytes else None),
        source=source,
        gateway=door,
        neighbours=neighbours,
        coordinators=coordinators,
        settings=settings,
        notes=notes,
        incarnation=incarnation,
        now=now,
    )


def _source(
    broker: str,
    log: Log,
    notes: Notes,
    settings: Settings,
    incarnation: int,
    streams: Streams,
    aside: Aside | None,
) -> Source[PlannedOutlet]:
    from semcast.protocol.source.planned_outlet import PlannedOutlet
    from semcast.protocol.source.source import Source

    return Source(log, settings, streams, PlannedOutlet(broker, log, notes, settings, incarnation, streams, aside))


def _gateway(
    broker: str,
    notes: Notes,
    settings: Settings,
    incarnation: int,
    now: float,
    streams: Streams,
    near: Container[str],
    aside: Aside | None,
) -> Gateway:
    from semcast.protocol.gateway.filtering_table import FilteringTable, from_memory
    from semcast.protocol.gateway.gateway import Gateway
    from semcast.protocol.gateway.interests import InterestSet
    from semcast.protocol.gateway.requests import Requests

    return Gateway(
        broker,
        notes,
        settings,
        incarnation,
        now,
        streams,
        near,
        inboxes={},
        interests=InterestSet(broker, settings, incarnation, aside),
        requests=Requests(broker, settings, incarnation),
        table=FilteringTable(settings.recent_bytes, from_memory, aside),
    )
