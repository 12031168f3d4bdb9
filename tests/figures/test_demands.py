"""Workloads of the oracle table: who wants how much, and that messages to judge by are not those to plan by."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from semcast.channels.selectivity import Selectivity
from semcast.planning.build import Request, make_plan
from semcast.planning.masks import interested
from semcast.trees.generators import generate
from semcast.trees.roles import SOURCE
from semcast.trees.topology import Topology
from semcast_experiments.figures import oracle, oracle_figure, papers
from semcast_experiments.figures.trials import Run
from semcast_experiments.workloads.demands import INTERESTS, Independent, Setting, disjoint, draw, intervals


@pytest.fixture(scope="module")
def topology() -> Topology:
    return generate("waxman", 600, np.random.default_rng(1), degree=4.0)


@pytest.mark.parametrize("name", INTERESTS)
def test_a_workload_interests_as_many_gateways_as_its_name_says(name: str, topology: Topology) -> None:
    drawn = draw(INTERESTS[name], topology, 1, Setting(sample=10, held_out=400))
    assert interested(drawn.held_out).mean() == pytest.approx(float(name.rpartition("-")[2]), rel=0.1)
    again = draw(INTERESTS[name], topology, 1, Setting(sample=10, held_out=400))
    assert np.array_equal(drawn.held_out.wanted, again.held_out.wanted)
    assert not np.array_equal(drawn.sample.wanted[:, 0], drawn.held_out.wanted[:, 0])


def test_clients_of_one_profile_want_the_same_messages(topology: Topology) -> None:
    held = disjoint(0.005)(7_000, np.random.default_rng(1))
    matches = held.draw(100, np.random.default_rng(2))
    assert matches.counts().tolist() == [1] * 100
    assert len(set(held.held.tolist())) == 35


def test_intervals_match_the_share_they_are_drawn_for() -> None:
    held = intervals(2, 0.04)(2_000, np.random.default_rng(1))
    share = held.draw(500, np.random.default_rng(2)).counts().mean() / 2_000
    # An interval may begin before 0: it lies on 1 + width, of which messages take 1.
    assert share == pytest.approx(0.04 / 1.2**2, rel=0.1)


def test_independent_matches_have_their_chance() -> None:
    held = Independent(1_000, 0.05)
    counts = held.draw(2_000, np.random.default_rng(3)).counts()
    assert counts.mean() == pytest.approx(50, rel=0.02)
    assert counts.var() == pytest.approx(47.5, rel=0.15)


def test_semcast_o_is_semcast_with_central_trees() -> None:
    overlay = generate("waxman", 60, np.random.default_rng(2), degree=4.0, sources=1)
    (source,) = (node for node, broker in enumerate(overlay.brokers) if SOURCE in broker.roles)
    drawn = draw(INTERESTS["topics-46"], overlay, 1, Setting(60, 200, 150, 40))
    subscriptions = papers._subscriptions(overlay, drawn)
    selectivity = Selectivity.of(drawn.sample_matches, len(subscriptions.distinct))
    request = Request(overlay, overlay.brokers[source].id, subscriptions, selectivity, 3, "broker")
    plain, central = make_plan("semcast", request), make_plan("semcast-o", request)
    assert [channel.expression for channel in plain.channels] == [channel.expression for channel in central.channels]
    links = [set(map(tuple, tree.links.tolist())) for tree in papers.central_trees(plain, overlay)]
    assert links == [set(map(tuple, central.tree(c, overlay).links.tolist())) for c in central.channels]
    assert links != [set(map(tuple, plain.tree(c, overlay).links.tolist())) for c in plain.channels]


def test_no_scheme_is_below_the_bound_and_more_channels_cost_less() -> None:
    cases = [oracle.Case("waxman-4", "disjoint-97", seed, 80, 300, 120, 10) for seed in (1, 2)]
    rows = [row for case in cases for row in oracle.measure(case)]
    assert [row.seed for row in rows] == [1, 2]
    for row in rows:
        assert row.bound <= row.masked_64 <= row.masked_1 <= row.spt <= row.unicast
        assert row.bound <= row.oracle
        assert row.masked_1 <= row.one_tree
        assert min(row.semcast, row.semcast_merge, row.semcast_noisemerge, row.semcast_threshold) >= row.bound
        assert row.semcast_o <= row.semcast
    row = rows[0]
    gap = oracle.gaps(rows, 64)["waxman-4", "disjoint-97"]
    assert gap.bound >= max(gap.oracle, 0)
    assert oracle.beaten_by(rows[0]) == []
    few = rows[0]._replace(semcast_threshold=0.9 * row.masked_1, semcast_threshold_channels=1)
    many = few._replace(semcast_threshold_channels=max(few.channels_64, few.channels_16), masked_64=0.8 * row.masked_1)
    assert oracle.beaten_by(few) == ["semcast_threshold"]
    assert oracle.beaten_by(many) == []
    (axes,) = oracle_figure.drawn(rows).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["disjoint-97"]


@pytest.mark.parametrize("network", oracle.REAL)
def test_a_real_network_has_as_many_gateways_as_a_drawn_one(network: str) -> None:
    pytest.importorskip("topohub")
    real, again, other = (oracle.overlay(network, 600, seed)[0] for seed in (1, 1, 2))
    assert len(real.gateways) == 120
    assert sum(SOURCE in broker.roles for broker in real.brokers) == 1
    assert real.gateways == again.gateways
    assert real.gateways != other.gateways


def test_real_networks_are_left_out_where_their_collection_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("topohub")
    full = oracle_figure.cases(Run(False, 1, Path()))
    assert {case.network for case in full} == {*oracle.WAXMAN, *oracle.REAL}
    assert oracle_figure.at_hand(full) == full
    monkeypatch.setitem(sys.modules, "topohub", None)
    assert oracle_figure.at_hand(full) == [case for case in full if case.network in oracle.WAXMAN]
