"""The example scenario is run as it stands."""

from __future__ import annotations

from pathlib import Path

from semcast.sim.scenario_file import read_scenario
from semcast.sim.simulation import Simulation

ROOT = Path(__file__).parents[2]


def test_the_example_keeps_all_laws_on_its_bad_day() -> None:
    report = Simulation(read_scenario(ROOT / "examples" / "simulate.toml"), 1).run()
    assert report.violations == []
    assert report.counts["faults"] > 5
    assert report.counts["delivered"] > 1000
