"""The papers' evaluation as a model: how profiles overlap, who holds them; costs are those of `semcast cost`."""

from __future__ import annotations

import numpy as np
import pytest

from semcast.planning.cost import cost_of
from semcast_experiments.figures.dissemination import Case, disjoint, measure
from semcast_experiments.figures.dissemination.population import overlay, populated
from semcast_experiments.figures.dissemination.profiles import (
    Alike,
    Arcs,
    Disjoint,
    Independent,
    average_overlap,
    distinct,
    mean_overlap,
)
from semcast_experiments.figures.dissemination.trial import counted, drawn, planned
from semcast_experiments.figures.semcast2005.setup import expected_overlap, held

_SCHEMES = ("unicast", "spt", "semcast", "semcast-merge", "semcast-noisemerge", "semcast-o", "masked/4")


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_selectivity_factor_has_two_readings() -> None:
    assert distinct(7_000, 2, "percent") == 35, "half a per cent of 7,000"
    assert distinct(7_000, 2, "share") == 3_500
    assert distinct(100, 4, "percent") == 1, "never none"
    assert distinct(100, 0.001, "share") == 100, "never more than there are clients"


def test_overlap_is_what_two_have_in_common_over_what_the_first_has() -> None:
    rows = np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1], [0, 0, 0, 0, 0]], np.float32)
    assert mean_overlap(rows) == pytest.approx((2 / 3 + 2 / 4) / 2), "who wants nothing is in no pair"
    assert mean_overlap(rows[:1]) == 0
    same = np.ones((4, 3), np.float32)
    assert mean_overlap(same) == 1


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.8])
def test_the_average_profile_overlap_is_the_matching_probability(chance: float) -> None:
    for profiles in (Independent(200, chance), Arcs(200, chance, _rng(3))):
        matches = profiles.draw(4_000, _rng(4))
        assert len(matches) / (200 * 4_000) == pytest.approx(chance, rel=0.1)
        assert average_overlap(matches, 200) == pytest.approx(chance, rel=0.15)


def test_nested_arcs_lie_within_an_earlier_one() -> None:
    profiles = Arcs(40, 0.2, _rng(5), nested=1.0)
    matches = profiles.draw(3_000, _rng(6)).pairs()
    sets = [set(matches[matches[:, 1] == number, 0].tolist()) for number in range(40)]
    assert all(any(sets[number] <= sets[other] for other in range(number)) for number in range(1, 40))
    free = Arcs(40, 0.2, _rng(5)).draw(3_000, _rng(6)).pairs()
    sets = [set(free[free[:, 1] == number, 0].tolist()) for number in range(40)]
    assert not all(any(sets[number] <= sets[other] for other in range(number)) for number in range(1, 40))


def test_disjoint_profiles_match_equally_often_and_one_at_a_time() -> None:
    matches = Disjoint(7).draw(23, _rng())
    assert matches.counts().tolist() == [1] * 23
    assert sorted(np.bincount(matches.indices, minlength=7).tolist()) == [3, 3, 3, 3, 3, 4, 4]


def test_like_profiles_match_messages_of_their_group_only() -> None:
    pairs = Alike(12, 3, 1.0).draw(50, _rng()).pairs()
    groups = [{profile % 3 for row, profile in pairs.tolist() if row == message} for message in range(50)]
    assert all(len(group) == 1 for group in groups)


def test_every_message_is_wanted_and_clients_hold_all_profiles_that_there_are() -> None:
    topology = overlay("random", 40, 4, _rng(), sources=2)
    people = populated(topology, Independent(300, 0.002), 100, _rng(2), sample=50, counted=60)
    assert people.counted.counts().min() >= 1
    assert 30 <= people.counted.rows <= 60
    assert len(people.sources) == 2
    assert len(people.subscriptions.distinct) == people.sample.profiles < 100, "only what was picked"
    assert people.subscriptions.clients.sum(axis=1).min() >= 1


def test_the_aggregated_overlap_follows_its_law() -> None:
    for chance, count in ((0.001, 300), (0.02, 300), (0.1, 20)):
        case = Case("random", 4.0, 150, 750, count, "independent", chance, 3, (), sample=1, counted=3_000)
        law = expected_overlap(chance, count, held(count, 750, 30))
        assert drawn(case).aggregated_overlap == pytest.approx(law, rel=0.12, abs=0.01)


@pytest.mark.parametrize("scheme", _SCHEMES)
def test_a_trial_counts_what_semcast_cost_counts(scheme: str) -> None:
    case = Case("waxman", 4.0, 50, 200, 30, "arcs", 0.05, 2, (scheme,), sample=200, counted=90, sources=1)
    (row,) = measure(case)
    people = drawn(case)
    plan = planned(scheme, people, case.seed)
    cost = cost_of(plan, people.topology, people.subscriptions, people.counted, people.sources[0], oracle_messages=0)
    assert row.cost == pytest.approx(cost.plan)
    assert row.with_leg == pytest.approx(cost.plan_with_leg)
    assert row.depth == pytest.approx(cost.depth)
    assert row.missed == 0 == cost.missed
    assert {"unicast": cost.unicast, "spt": cost.spt}.get(scheme, row.cost) == pytest.approx(row.cost)


def test_several_sources_count_as_the_mean_over_each_alone() -> None:
    people = drawn(Case("random", 4.0, 50, 200, 30, "arcs", 0.05, 2, (), sample=100, counted=60, sources=3))
    for scheme in ("semcast", "spt", "unicast", "masked/2"):
        plan = planned(scheme, people, 1)
        alone = [counted(plan, people._replace(sources=(source,))) for source in people.sources]
        together = counted(plan, people)
        assert together[1] == pytest.approx(np.mean([part[1] for part in alone]))


def test_the_merge_as_printed_loses_deliveries_and_the_mended_one_none() -> None:
    rows = measure(
        Case("random", 4.0, 100, 60, 12, "arcs", 0.3, 1, ("semcast", "semcast/cap"), sample=300, counted=200)
    )
    by_scheme = {row.scheme: row for row in rows}
    assert by_scheme["semcast"].missed == 0 < by_scheme["semcast/cap"].missed


def test_the_oracle_is_below_every_scheme_and_above_its_bound() -> None:
    rows = measure(Case("random", 4.0, 60, 300, 20, "disjoint", 0.0, 4, ("oracle", "spt", "semcast-o", "masked/4"),
                        sample=20, counted=20, looked_at=80))  # fmt: skip
    cost = {row.scheme: row.with_leg for row in rows}
    assert cost["bound"] <= cost["oracle"] <= min(cost["masked/4"], cost["spt"]) + 1e-9


def test_a_trial_is_a_function_of_its_case() -> None:
    case = disjoint(("random", 4.0), 40, 100, 20, 1, ("semcast", "spt"), 8)
    assert measure(case) == measure(case)
    assert measure(case) != measure(case._replace(seed=2))
