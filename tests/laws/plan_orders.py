"""Orders of plans, as a coordinator gives them."""

from __future__ import annotations

import numpy as np

from semcast.model.message import ProfileText
from semcast.protocol.coordinator.commissions import Commission, Found
from semcast.protocol.coordinator.orders import Made, Order
from semcast.protocol.coordinator.planner import Planner, Wishes
from semcast.trees.topology import Topology


def order_of(topology: Topology, scheme: str, wanted: dict[str, tuple[str, ...]], seed: int, number: int = 1,
             bounds: dict[tuple[str, str], float] | None = None, before: Made | None = None,
             samples: dict[str, list[tuple[str, ...]]] | None = None) -> Order:  # fmt: skip
    names = tuple(broker.id for broker in topology.brokers)
    profiles = {name: ProfileText("topics", "topic", name) for name in wanted}
    wishes = Wishes(topology, names, names[:2], profiles, wanted, bounds or {})
    planner = Planner(scheme, 3, np.random.default_rng(seed).spawn(2)[1])
    current, tables = before or (None, {})
    return Order(number, 7, number, planner, wishes, wanted, {}, names, (), current, tables, samples)


def reorganisation(topology: Topology, scheme: str) -> tuple[Order, Found]:
    names = [broker.id for broker in topology.brokers]
    wanted = {f"p{n}": (names[n + 3], names[n + 6]) for n in range(4)}
    samples = {names[0]: [("p0", "p1"), ("p1",), ("p2", "p3"), ("p0", "p1", "p2")], names[1]: [("p3",)]}
    order = order_of(topology, scheme, wanted, 3, 2, samples=samples)
    return order, Commission.of(order).found()
