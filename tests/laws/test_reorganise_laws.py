"""From plan to plan: whatever changes and whatever is kept, nothing is withheld and gateways keep their bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.channels.selectivity import Selectivity
from semcast.planning.build import Request, make_plan
from semcast.planning.changes import delta
from semcast.planning.cost import cost_of
from semcast.planning.origins import Origins
from semcast.planning.plan import Plan
from semcast.planning.reorganise import Reorganised, reorganised
from semcast.planning.router import Router
from semcast.planning.schemes import SCHEMES
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.generators import generate
from semcast.trees.topology import Topology
from tests.laws.channel_worlds import matches_of
from tests.laws.overlays import topologies
from tests.laws.subscription_worlds import Client, reached


def _request(
    data: st.DataObject, topology: Topology, client: Client, wanted: dict[str, list[str]], known: list[str]
) -> Request:
    gateways = list(dict.fromkeys([*known, *(gateway for held in wanted.values() for gateway in held)]))
    subscriptions = Subscriptions.of(gateways, wanted, client.meaning)
    kinds = data.draw(st.lists(st.integers(0, 3), max_size=8))
    sample = [{n for n, p in enumerate(subscriptions.distinct) if kind in client.meaning[p]} for kind in kinds]
    selectivity = Selectivity.of(matches_of(sample), len(subscriptions.distinct))
    sources = data.draw(st.lists(st.sampled_from(client.names), min_size=1, max_size=2, unique=True))
    origins = Origins.spread(sources, len(sample))
    return Request(topology, sources[0], subscriptions, selectivity, channels=2, origins=origins)


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=30)
@given(data=st.data())
def test_nothing_is_withheld_by_what_follows_a_plan(scheme: str, data: st.DataObject) -> None:
    topology = data.draw(topologies())
    client = Client(topology)
    wanted = dict(client.new(data, client.names) for _ in range(data.draw(st.integers(1, 5))))
    old = make_plan(scheme, _request(data, topology, client, wanted, []))
    for profile in data.draw(st.lists(st.sampled_from(list(wanted)), unique=True, max_size=2)):
        del wanted[profile]
    for profile in data.draw(st.lists(st.sampled_from(list(wanted)), max_size=2)) if wanted else ():
        wanted[profile] = data.draw(st.lists(st.sampled_from(client.names), min_size=1, unique=True))
        client.meaning[profile] = data.draw(st.sampled_from(list(client.meaning.values())))  # even its text may change
    wanted |= dict(client.new(data, client.names) for _ in range(data.draw(st.integers(1, 2))))
    request = _request(data, topology, client, wanted, list(old.gateways))
    gain = data.draw(st.sampled_from([None, 0.0, 1.0]))
    done = reorganised(old, request, client.covers, gain)
    plan = Plan.from_json(done.plan.to_json())
    assert set(done.change) == set(delta(old, plan))
    assert plan.epoch == old.epoch + 1, "there is a new subscription"
    assert plan.gateways[: len(old.gateways)] == old.gateways
    assert {p: set(held) for p, held in plan.subscriptions.items()} == {p: set(held) for p, held in wanted.items()}
    profiles = list(plan.subscriptions)
    for source in request.entered.sources:
        router = Router(plan, source=source, topology=topology)
        for kind in range(4):
            matched = {n for n, profile in enumerate(profiles) if kind in client.meaning[profile]}
            needed = {gateway for n in matched for gateway in wanted[profiles[n]]}
            assert needed <= set(reached(plan, topology, router, matched, source))
    every = matches_of([{n} for n in range(len(request.subscriptions.distinct))])
    origins = Origins.spread(request.entered.sources, every.rows)
    assert cost_of(plan, topology, request.subscriptions, every, origins, oracle_messages=0).missed == 0


class Drift:
    """Two kinds of messages, to gateways of their own; their shares may change."""

    def __init__(self, seed: int = 0) -> None:
        self.topology = generate("waxman", 60, np.random.default_rng(5), degree=4.0)
        names = [broker.id for broker in self.topology.brokers]
        rng = np.random.default_rng(seed)
        self.wanted = {f"p{n}": rng.choice(names, 6, replace=False).tolist() for n in range(8)}
        self.subscriptions = Subscriptions.of(names, self.wanted, {p: p for p in self.wanted})

    def request(self, kinds: list[int], count: int = 400, subscriptions: Subscriptions | None = None) -> Request:
        drawn = np.random.default_rng(1).choice(kinds, count).tolist()
        selectivity = Selectivity.of(matches_of([{kind} for kind in drawn]), 8)
        return Request(self.topology, "b0", subscriptions or self.subscriptions, selectivity, channels=4)

    def reorganised(self, old: Plan, kinds: list[int], gain: float | None = None) -> Reorganised:
        return reorganised(old, self.request(kinds), lambda a, b: False, gain)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_plan_that_suits_is_kept_with_its_epoch(scheme: str) -> None:
    world = Drift()
    old = make_plan(scheme, world.request([0, 1, 2]))
    done = world.reorganised(old, [0, 1, 2])
    assert done.kept
    assert not done.change
    assert (done.plan.epoch, done.plan.term) == (old.epoch, old.term)
    assert {c.id: set(c.tree) for c in done.plan.channels} == {c.id: set(c.tree) for c in old.channels}


def test_after_drift_a_masked_plan_changes_some_trees_and_says_which() -> None:
    world = Drift()
    old = make_plan("masked", world.request([0, 1, 2]))
    stubborn = world.reorganised(old, [5, 6], gain=1.0)
    assert stubborn.kept == "no other tree saves 100.00% of the cost"
    done = world.reorganised(old, [5, 6])
    assert done.kept is None
    assert done.plan.epoch == old.epoch + 1
    before, after = ({channel.id for channel in plan.channels} for plan in (old, done.plan))
    assert set(done.change.added) == after - before
    assert 1 <= len(done.change.added) <= 2
    assert set(done.change.removed) == before - after
    assert not done.change.migrating
    request = world.request([5, 6], 300)
    costs = [
        cost_of(p, world.topology, world.subscriptions, request.selectivity.matches, "b0", oracle_messages=0).plan
        for p in (old, done.plan)
    ]
    assert costs[1] < costs[0]


def test_a_papers_plan_is_replaced_as_a_whole_or_not_at_all() -> None:
    world = Drift()
    old = make_plan("semcast", world.request([0, 1, 2]))
    request = world.request([5, 6])
    worse = Request(**{**request.__dict__, "seed": 3})  # other rendezvous points
    new = make_plan("semcast", worse)
    costs = [
        cost_of(p, world.topology, world.subscriptions, request.selectivity.matches, "b0", oracle_messages=0)
        for p in (old, new)
    ]
    gain = 1 - costs[1].plan_with_leg / costs[0].plan_with_leg
    assert reorganised(old, worse, lambda a, b: False, gain + 0.01).kept
    done = reorganised(old, worse, lambda a, b: False, gain - 0.01)
    assert done.kept is None
    assert done.plan.epoch == 2
    assert {frozenset(c.tree) for c in done.plan.channels} == {frozenset(c.tree) for c in new.channels}
