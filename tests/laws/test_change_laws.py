"""Subscriptions that come and go: every step leaves a plan that withholds nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.channels import expressions as ex
from semcast.channels.channelize import SCHEMES as PAPER_SCHEMES
from semcast.channels.selectivity import Selectivity
from semcast.model import SemcastError
from semcast.planning.build import Request, make_plan
from semcast.planning.changes import LivePlan, aligned, delta, worth_it
from semcast.planning.origins import Origins
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.planning.schemes import SCHEMES
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.topology import Broker, Link, Topology
from tests.laws.channel_worlds import expressions, matches_of
from tests.laws.overlays import topologies
from tests.laws.subscription_worlds import Client, reached


def _check(plan: Plan, client: Client, topology: Topology, sources: list[str]) -> None:
    again = Plan.from_json(plan.to_json())
    profiles = list(again.subscriptions)
    for source in sources:
        router = Router(again, source=source)
        for kind in range(4):
            matched = {n for n, profile in enumerate(profiles) if kind in client.meaning[profile]}
            wanted = {gateway for n in matched for gateway in again.subscriptions[profiles[n]]}
            got = reached(again, topology, router, matched, source)
            assert wanted <= set(got)
            if again.scheme in ("masked", "unicast"):
                assert sorted(wanted) == sorted(got), "to nobody else, and once"
    for channel in again.channels:
        needed = {g for p in channel.profiles for g in again.subscriptions[p]}
        if again.scheme == "unicast":
            assert len(channel.gateways) == 1
            assert set(channel.gateways) <= needed
        elif again.scheme != "masked":
            assert set(channel.gateways) == needed, "no gateway stays on a tree for nobody"
        assert channel.profiles or again.kind.filtered


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=40)
@given(data=st.data())
def test_every_step_leaves_a_plan_that_withholds_nothing(scheme: str, data: st.DataObject) -> None:
    topology = data.draw(topologies())
    client = Client(topology)
    known = data.draw(st.lists(st.sampled_from(client.names), min_size=1, unique=True))  # gateways at the start
    wanted = dict(client.new(data, known) for _ in range(data.draw(st.integers(1, 5))))
    subscriptions = Subscriptions.of(known, wanted, client.meaning)
    kinds = data.draw(st.lists(st.integers(0, 3), max_size=8))  # some are never sampled
    sample = [{n for n, p in enumerate(subscriptions.distinct) if kind in client.meaning[p]} for kind in kinds]
    selectivity = Selectivity.of(matches_of(sample), len(subscriptions.distinct))
    sources = data.draw(st.lists(st.sampled_from(client.names), min_size=1, max_size=2, unique=True))
    origins = Origins.spread(sources, len(sample))
    request = Request(topology, sources[0], subscriptions, selectivity, channels=2, origins=origins)
    first = make_plan(scheme, request)
    live = LivePlan(first, topology, client.covers, np.random.default_rng(0))
    assert live.plan().channels == first.channels
    _check(first, client, topology, sources)
    ids = {channel.id for channel in first.channels}
    for _ in range(data.draw(st.integers(0, 8))):
        before = live.plan()
        held = list(before.subscriptions)
        if held and data.draw(st.booleans()):
            left = data.draw(st.sampled_from(held))
            assert live.unsubscribe(left) == before.assignment[left]
        else:
            profile, gateways = client.new(data, client.names)
            covered = any(client.covers(other, profile) for other in held)
            assert live.subscribe(profile, gateways) == live.plan().assignment[profile] != ()
            if scheme in PAPER_SCHEMES:
                assert len(live.plan().channels) == len(before.channels) + (not covered)
        after = live.plan()
        assert after.gateways[: len(before.gateways)] == before.gateways, "a gateway keeps its bit"
        assert not {c.id for c in after.channels} & (ids - {c.id for c in before.channels}), "an id is used once"
        ids |= {c.id for c in after.channels}
        _check(after, client, topology, sources)
    for profile in list(live.plan().subscriptions):
        live.unsubscribe(profile)
    assert live.plan().kind.filtered or live.plan().channels == ()
    if scheme in ("spt", "semnet"):
        assert all(channel.tree == () for channel in live.plan().channels)


@given(data=st.data())
def test_a_shortest_path_tree_stays_one(data: st.DataObject) -> None:
    topology = data.draw(topologies())
    client = Client(topology)
    source = data.draw(st.sampled_from(client.names))
    subscriptions = Subscriptions.of(client.names, dict([client.new(data, client.names)]), client.meaning)
    request = Request(topology, source, subscriptions, Selectivity.of(matches_of([{0}]), 1))
    live = LivePlan(make_plan("spt", request), topology, client.covers, np.random.default_rng(0))
    for _ in range(3):
        live.subscribe(*client.new(data, client.names))
    (channel,) = live.plan().channels
    found = live.plan().tree(channel, topology).distances(topology.graph, "cost")
    shortest = topology.graph.paths(topology.node(source)).distance
    assert all(found[topology.node(g)] == pytest.approx(shortest[topology.node(g)]) for g in channel.gateways)


@given(data=st.data())
def test_putting_a_constant_for_a_profile_means_what_it_says(data: st.DataObject) -> None:
    expression = data.draw(expressions())
    by = data.draw(st.sampled_from([ex.FALSE, ex.TRUE, ex.Atom(1), ex.disjunction([ex.Atom(0), ex.Atom(5)])]))
    changed = ex.substituted(expression, 0, by)
    for matched in range(64):
        held = {p for p in range(6) if matched >> p & 1}
        inside = held - {0} | ({0} if ex.holds(by, held) else set())
        assert ex.holds(changed, held) == ex.holds(expression, inside)


def _pair() -> tuple[Topology, Plan]:
    topology = Topology.of([Broker("a", roles=("gateway",)), Broker("b", roles=("gateway",))], [Link("a", "b")])
    subscriptions = Subscriptions.of(["a", "b"], {"p": ["a"], "q": ["b"]}, {"p": 1, "q": 2})
    selectivity = Selectivity.of(matches_of([{0}, {1}]), 2)
    return topology, make_plan("semcast", Request(topology, "a", subscriptions, selectivity))


def test_a_delta_names_what_is_new_gone_changed_and_moved() -> None:
    topology, plan = _pair()
    live = LivePlan(plan, topology, lambda a, b: False, np.random.default_rng(0))
    live.subscribe("r", ["b"])
    live.unsubscribe("p")
    changed = delta(plan, live.plan())
    assert (changed.added, changed.removed, changed.changed) == (("c2",), plan.assignment["p"], ())
    assert not delta(plan, plan)
    assert worth_it(10, 9, changed)
    assert not worth_it(10, 9.9, changed)
    assert not worth_it(10, 5, delta(plan, plan))


def test_channels_that_carry_the_same_keep_their_ids() -> None:
    topology, plan = _pair()
    live = LivePlan(plan, topology, lambda a, b: False, np.random.default_rng(0))
    live.unsubscribe("p")
    renamed = aligned(plan, live.plan())
    assert delta(plan, renamed).changed == ()
    assert [channel.id for channel in renamed.channels] == list(plan.assignment["q"])


def test_wrong_requests_are_refused() -> None:
    topology, plan = _pair()
    live = LivePlan(plan, topology, lambda a, b: False, np.random.default_rng(0))
    with pytest.raises(SemcastError, match="subscribed already"):
        live.subscribe("p", ["a"])
    with pytest.raises(SemcastError, match="there is no broker 'z'"):
        live.subscribe("r", ["z"])
    with pytest.raises(SemcastError, match="not subscribed"):
        live.unsubscribe("r")
