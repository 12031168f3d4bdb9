"""Profiles whose meaning is known, and whom a plan's message reaches."""

from __future__ import annotations

from hypothesis import strategies as st

from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.trees.topology import Topology
from tests.laws.channel_worlds import matches_of
from tests.laws.masked_worlds import forwarded
from tests.laws.overlays import masks_of

MEANINGS = [frozenset(s) for s in ({0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}, {3})]
"""A profile means a set of kinds of messages; it covers another whose set is a part of its own."""


class Client:
    """What profiles mean, and who has subscribed."""

    def __init__(self, topology: Topology) -> None:
        self.names = [broker.id for broker in topology.brokers]
        self.meaning: dict[str, frozenset[int]] = {}

    def covers(self, wide: str, narrow: str) -> bool:
        return self.meaning[narrow] <= self.meaning[wide]

    def new(self, data: st.DataObject, names: list[str]) -> tuple[str, list[str]]:
        profile = f"p{len(self.meaning)}"
        self.meaning[profile] = data.draw(st.sampled_from(MEANINGS))
        return profile, data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))


def reached(plan: Plan, topology: Topology, router: Router, matched: set[int], source: str) -> list[str]:
    """The gateways that get a message, each as often as it does, followed over links from its source on."""
    names = [broker.id for broker in topology.brokers]
    found: list[str] = []
    for batch in router.route(matches_of([matched])):
        channel = plan.channels[batch.channel]
        if batch.masks is None:
            found += channel.gateways
            continue
        masks = masks_of(plan.tree(channel, topology), [topology.node(gateway) for gateway in plan.gateways])
        mask = int.from_bytes(batch.masks[0].tobytes(), "little")
        assert mask < 1 << len(plan.gateways)
        brokers, _ = forwarded(masks, topology.node(source), mask)
        assert len(set(brokers)) == len(brokers)
        found += [
            names[node] for node in brokers if names[node] in plan.gateways and mask >> plan.bits[names[node]] & 1
        ]
    return found
