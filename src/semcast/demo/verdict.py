"""What came of the live demo: who missed what, and what it cost beside other ways to deliver the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from semcast.demo.audience import UNKNOWN, Published, Subscriber
from semcast.trees import evaluate
from semcast.trees.demand import Demand
from semcast.trees.steiner import shortest_path_tree
from semcast.trees.topology import Topology


class Links(NamedTuple):
    """Link transmissions of a set of messages."""

    messages: int
    live: int
    spt: int
    """A shortest-path tree, filtered at every hop."""
    unicast: int
    """A copy per gateway."""

    @property
    def below_spt(self) -> float:
        """By how much of it."""
        return 1 - self.live / self.spt if self.spt else 0.0

    @property
    def below_unicast(self) -> float:
        return 1 - self.live / self.unicast if self.unicast else 0.0


@dataclass(frozen=True)
class Deliveries:
    """Over all subscribers, against what a slow engine says that they should have got."""

    expected: int
    delivered: int
    missed: int
    duplicates: int
    unwanted: int

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


class Expected:
    """Which subscribers each message is for."""

    def __init__(self, published: Sequence[Published], subscribers: Sequence[Subscriber]) -> None:
        by_feed: dict[str, list[Published]] = defaultdict(list)
        for message in published:
            by_feed[message.feed.stream].append(message)
        holders = {(each.feed.stream, each.number): each for each in subscribers}
        self.gateways: dict[str, set[str]] = {message.id: set() for message in published}
        self.ids: dict[tuple[str, int], Counter[str]] = {key: Counter() for key in holders}
        for stream, messages in by_feed.items():
            matches = messages[0].feed.matches([message.content for message in messages])
            for row, profile in matches.pairs().tolist():
                self.ids[stream, profile][messages[row].id] += 1
                self.gateways[messages[row].id].add(holders[stream, profile].gateway)

    def judged(self, subscribers: Sequence[Subscriber]) -> Deliveries:
        missed = duplicates = unwanted = 0
        for each in subscribers:
            due = self.ids[each.feed.stream, each.number]
            missed += len(due.keys() - each.got.keys())
            unwanted += len(each.got.keys() - due.keys())
            duplicates += each.got.total() - len(each.got)
        expected = sum(map(len, self.ids.values()))
        return Deliveries(expected, sum(each.got.total() for each in subscribers), missed, duplicates, unwanted)

    def links(self, published: Sequence[Published], live: int, topology: Topology) -> Links:
        """What these messages cost as they were sent, and would have by the other ways."""
        spt = unicast = 0
        for source in {message.source for message in published} - {UNKNOWN}:
            sets = [
                [topology.node(gateway) for gateway in self.gateways[message.id]]
                for message in published
                if message.source == source
            ]
            gateways = sorted({node for nodes in sets for node in nodes})
            demand, root = Demand.from_sets(gateways, sets), topology.node(source)
            tree = shortest_path_tree(topology.graph, root, gateways).tree
            spt += int(evaluate.pruned(topology.graph, tree, demand).on_trees.sum())
            unicast += int(evaluate.unicast(topology.graph, demand, root).on_trees.sum())
        return Links(len(published), live, spt, unicast)


@dataclass(frozen=True)
class Ages:
    """How old messages were when subscribers had them."""

    p50_ms: float
    p99_ms: float
    bound_ms: float
    bounded: int
    """Deliveries to subscribers with that bound."""
    late: int
    """Those of them that came later."""

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def ages_of(subscribers: Sequence[Subscriber], bound_ms: float) -> Ages:
    everything = np.array([age for each in subscribers for age in each.ages_ms] or [0.0])
    bounded = np.array([age for each in subscribers if each.bound_ms is not None for age in each.ages_ms])
    p50, p99 = (float(value) for value in np.percentile(everything, [50, 99]))
    return Ages(p50, p99, bound_ms, len(bounded), int((bounded > bound_ms).sum()))
