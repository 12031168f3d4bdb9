"""Scenarios drawn from seeds."""

from __future__ import annotations

import pytest

from semcast.sim.random_runs import outcome, random_scenario
from semcast.sim.scenario import SCHEMES
from semcast.sim.simulation import Simulation


def test_seeds_draw_all_schemes_and_all_kinds_of_faults_within_their_bounds() -> None:
    drawn = [random_scenario(seed) for seed in range(150)]
    assert drawn == [random_scenario(seed) for seed in range(150)]
    assert {scenario.scheme for scenario in drawn} == set(SCHEMES)
    assert 5 < sum(scenario.calm for scenario in drawn) < 50
    for scenario in drawn:
        assert 4 <= scenario.topology.brokers <= 9
        assert scenario.topology.sources in (1, 2)
        assert scenario.topology.gateways in (2, 3, 4)
    faults = {type(fault).__name__ for seed in range(60) for fault in Simulation(drawn[seed], seed).faults}
    assert faults == {"Crash", "Pause", "Slow", "Skew", "StoreCut", "Loss", "Twice", "Jitter", "Partition"}


def test_an_outcome_is_that_of_the_run() -> None:
    seed = 6
    found = outcome(seed)
    report = Simulation(random_scenario(seed), seed).run()
    assert (found.seed, found.scheme) == (seed, random_scenario(seed).scheme)
    assert found.counts == report.counts
    assert list(found.violations) == report.violations


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1, 1001, 50))
def test_a_thousand_random_runs_keep_all_laws(first: int) -> None:
    broken = {seed: found for seed in range(first, first + 50) if (found := outcome(seed).violations)}
    assert broken == {}
