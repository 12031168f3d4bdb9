"""Orders of plans, as a coordinator gives them."""

from __future__ import annotations

import numpy as np

from semcast.model.message import ProfileText
from semcast.protocol.coordinator.commissions import Commission, Found
from semcast.protocol.coordinator.orders import Made, Order
from semcast.protocol.coordinator.planner import Planner
from semcast.protocol.coordinator.roster import Entry, Holding
from semcast.trees.topology import Topology


def order_of(topology: Topology, scheme: str, wanted: dict[str, tuple[str, ...]], seed: int, number: int = 1,
             bounds: dict[tuple[str, str], float] | None = None, before: Made | None = None,
             samples: dict[str, list[tuple[str, ...]]] | None = None) -> Order:  # fmt: skip
    names = tuple(broker.id for broker in topology.brokers)
    allowed = bounds or {}
    entries = [
        Entry(
            name,
            ProfileText("topics", "topic", name),
            1,
            tuple(Holding(gateway, 1, allowed.get((gateway, name))) for gateway in gateways),
        )
        for name, gateways in wanted.items()
    ]
    planner = Planner(scheme, 3, np.random.default_rng(seed).spawn(2)[1])
    current, tables = before or (None, {})
    return Order(
        number, 7, number, planner, topology, names, names[:2], entries, 1, names, (), current, tables, samples
    )  # fmt: skip


def reorganisation(topology: Topology, scheme: str) -> tuple[Order, Found]:
    names = [broker.id for broker in topology.brokers]
    wanted = {f"p{n}": (names[n + 3], names[n + 6]) for n in range(4)}
    samples = {names[0]: [("p0", "p1"), ("p1",), ("p2", "p3"), ("p0", "p1", "p2")], names[1]: [("p3",)]}
    order = order_of(topology, scheme, wanted, 3, 2, samples=samples)
    return order, Commission.of(order).found()
