"""For one plan and one set of messages, the simulator counts what ``semcast cost`` predicts: link by link, exactly."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest

from semcast.matching.matches import Matches
from semcast.model.message import unpacked
from semcast.planning.demands import demand_of
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.planning.subscriptions import Subscriptions
from semcast.protocol.coordinator import Coordinator
from semcast.protocol.deployment import PER_SOURCE, Deployment
from semcast.protocol.filters import Filter
from semcast.sim.cast import logs
from semcast.sim.scenario import SCHEMES, Clients, Coordinators, Publishers, Scenario, Stream
from semcast.sim.simulation import Simulation
from semcast.trees import Routed, Topology, evaluate
from semcast.trees.declared import Overlay

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
@pytest.mark.parametrize("scheme", SCHEMES)
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
    predicted: Counter[tuple[str, str]] = Counter()
    for source, log in logs(simulation.driver.parties).items():
        messages = [unpacked(record.body) for record in log.history if record.number > begun[source]]
        assert len(messages) > 50
        matched = Filter(deployment.profiles).match(messages)
        predicted += _predicted(deployment, simulation.topology, source, matched)
    assert counted == predicted
    assert counted.total() > 100


def _predicted(
    deployment: Deployment, topology: Topology, source: str, matched: list[list[str]]
) -> Counter[tuple[str, str]]:
    """Per link what ``semcast.planning.cost`` counts; over the trees that the source uses."""
    plan = deployment.plan
    if plan.scheme in PER_SOURCE:
        own = tuple(channel for channel in plan.channels if channel.rendezvous == source)
        plan = msgspec.structs.replace(plan, channels=own)
    matches = _matches(plan, matched)
    subscriptions = Subscriptions.of(plan.gateways, plan.subscriptions, {name: name for name in plan.subscriptions})
    demand = demand_of(matches, subscriptions, topology)
    trees = [plan.tree(channel, topology) for channel in plan.channels]
    carried = Router(plan, source=source, topology=topology).carried(matches)
    per_link = evaluate.transmissions(
        topology.graph, Routed(trees, carried, plan.filtered), demand, topology.node(source)
    ).per_link
    names = [tuple(sorted(topology.ids(ends))) for ends in topology.graph.ends.tolist()]
    return Counter({(a, b): int(count) for (a, b), count in zip(names, per_link.tolist(), strict=True) if count})


def _matches(plan: Plan, matched: list[list[str]]) -> Matches:
    numbers = [sorted(plan.numbers[name] for name in names) for names in matched]
    indptr = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
    return Matches(indptr, np.array([number for row in numbers for number in row], np.int32))
