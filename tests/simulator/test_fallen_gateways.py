"""A gateway falls and comes back: its durable sessions go on as if nothing had been."""

from __future__ import annotations

import pytest

from semcast.sim.faults import Crash, Partition
from semcast.sim.scenario import Coordinators
from semcast.sim.simulation import Simulation
from tests.simulator.crossroads import at_gateways, scenario


def test_what_a_fallen_gateway_is_owed_is_kept_until_its_durable_sessions_have_it() -> None:
    chosen = scenario(
        duration_s=12.0,
        clients=(at_gateways(6, durable=1.0),),
        faults=(Crash(from_s=4.0, to_s=9.0, party="b2"),),
    )
    report = Simulation(chosen, 1).run()
    assert report.violations == []
    assert report.counts["gaps"] == 0


@pytest.mark.parametrize("plan_ms", [(1.0, 20.0), (1000.0, 3000.0)])
def test_who_has_no_durable_session_misses_nothing_if_its_gateway_is_back_in_time(plan_ms: tuple[float, float]) -> None:
    chosen = scenario(
        duration_s=14.0,
        quiet_s=25.0,
        clients=(at_gateways(6),),
        faults=(Crash(from_s=4.0, to_s=9.0, party="b2"),),
        coordinators=Coordinators(plan_ms=plan_ms),
        settings={"retain_s": 12.0},
    )
    report = Simulation(chosen, 1).run()
    assert report.violations == []
    assert report.counts["gaps"] == 0


def test_a_client_that_was_cut_off_while_its_gateway_fell_hears_where_its_session_goes_on() -> None:
    chosen = scenario(
        clients=(at_gateways(3, durable=1.0),),
        faults=(Crash(from_s=4.0, to_s=4.5, party="b4"), Partition(from_s=4.2, to_s=7.0, side=("s2",))),
    )
    assert Simulation(chosen, 1).run().violations == []
