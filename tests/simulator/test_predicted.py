"""For one plan and one set of messages, the simulator counts what ``semcast cost`` predicts: link by link, exactly."""

from __future__ import annotations

from collections import Counter

import pytest

from semcast.model.message import unpacked
from semcast.protocol.coordinator.coordinator import Coordinator
from semcast.protocol.filters import Filter
from semcast.sim.cast import logs
from semcast.sim.scenario import CHANNEL_SCHEMES, Clients, Coordinators, Publishers, Scenario, Stream
from semcast.sim.simulation import Simulation
from semcast.trees.declared import Overlay
from tests.simulator.predicted import predicted

_JUDGED_S = 12.0
"""From here on everything is live, reorganised and drained; only messages come."""


def _scenario(scheme: str, sources: int) -> Scenario:
    stream = Stream(name="s", language="topic", values=3)
    return Scenario(
        name=scheme,
        duration_s=16.0,
        quiet_s=4.0,
        scheme=scheme,
        channels=4,
        topology=Overlay(brokers=14, degree=3.0, seed=5, sources=sources, gateways=6),
        coordinators=Coordinators(count=1),
        streams=(stream,),
        clients=(Clients(stream="s", count=14, attach_s=(0.0, 1.0)),),
        publishers=(
            Publishers(stream="s", rate_hz=20, from_s=2.0, to_s=5.0),
            Publishers(stream="s", rate_hz=25, batch=3, from_s=_JUDGED_S, to_s=16.0),
        ),
        reorganise_s=(6.0,),
    )


@pytest.mark.parametrize("sources", [1, 2])
@pytest.mark.parametrize("scheme", CHANNEL_SCHEMES)
def test_transmissions_are_those_that_the_plan_predicts(scheme: str, sources: int) -> None:
    simulation = Simulation(_scenario(scheme, sources), seed=3)
    agenda, meters = simulation.driver.agenda, simulation.driver.meters
    agenda.run(_JUDGED_S)
    coordinator = simulation.driver.parties["c0"].machine
    assert isinstance(coordinator, Coordinator)
    deployment = coordinator.deployment
    assert deployment is not None
    begun = {name: log.end for name, log in logs(simulation.driver.parties).items()}
    before = Counter(meters.links)
    agenda.run(20.0)
    assert coordinator.deployment == deployment, "the plan changed while it was judged"

    counted: Counter[tuple[str, str]] = Counter()
    for (a, b), count in (meters.links - before).items():
        counted[min(a, b), max(a, b)] += count
    expected: Counter[tuple[str, str]] = Counter()
    for source, log in logs(simulation.driver.parties).items():
        messages = [unpacked(record.body) for record in log.history if record.number > begun[source]]
        assert len(messages) > 50
        matched = Filter(deployment.profiles).match(messages)
        expected += predicted(deployment, simulation.topology, source, matched)
    assert counted == expected
    assert counted.total() > 100
