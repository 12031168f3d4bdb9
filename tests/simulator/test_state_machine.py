"""Whatever happens, in whatever order: when all has healed and been quiet for a while, every law holds."""

from __future__ import annotations

from math import inf

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from semcast.sim.cast import Client
from semcast.sim.faults import Partition
from semcast.sim.scenario import CHANNEL_SCHEMES, Coordinators, Publishers, Scenario, Stream
from semcast.sim.simulation import Simulation
from semcast.sim.workload import profile_text
from semcast.trees.declared import Overlay
from semcast.trees.topology import Broker, Link, Topology

BROKERS, GATEWAYS, PUBLISHERS = ("b0", "b1", "b2", "b3", "b4"), ("b1", "b2", "b4"), ("p0", "p1")
STREAM = Stream(name="news", values=2, attributes=2)
PROFILES = [profile_text(STREAM, text) for text in ("v0", "v1", "v0/v0", "v0/v1", "v1/v0")]
MOST_CLIENTS = 6
QUIET_S = 15.0

# A ring with a chord, so that most cuts leave a way around; b0 and b4 take messages in.
OVERLAY = Overlay(
    json=Topology.of(
        [Broker(name) for name in BROKERS],
        [Link(f"b{a}", f"b{b}", 1, 4.0 + a) for a, b in ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3))],
    ).to_json(),
    sources=("b0", "b4"),
    gateways=GATEWAYS,
)


class Changes(RuleBasedStateMachine):
    """Somebody subscribes, leaves, publishes, breaks and mends at will."""

    def __init__(self) -> None:
        super().__init__()
        self.clients: list[str] = []
        self.joined = 0
        self.down: list[str] = []
        self.cuts: list[Partition] = []

    @initialize(scheme=st.sampled_from(CHANNEL_SCHEMES), seed=st.integers(0, 1 << 16))
    def begin(self, scheme: str, seed: int) -> None:
        chosen = Scenario(
            scheme=scheme,
            channels=3,
            topology=OVERLAY,
            coordinators=Coordinators(count=2),
            streams=(STREAM,),
            publishers=(Publishers(stream="news", count=0),),
        )
        self.simulation = Simulation(chosen, seed)
        self.simulation.step(1.0)

    @precondition(lambda self: self.joined < MOST_CLIENTS)
    @rule(
        profile=st.sampled_from(PROFILES),
        gateways=st.lists(st.sampled_from(GATEWAYS), min_size=1, max_size=2, unique=True),
        ordered=st.booleans(),
        durable=st.booleans(),
    )
    def subscribe(self, profile: object, gateways: list[str], ordered: bool, durable: bool) -> None:
        name = f"s{self.joined}"
        self.joined += 1
        self.clients.append(name)
        client = Client(name, profile, tuple(gateways), ordered, durable, False, "latest", 0.0, None, None)  # type: ignore[arg-type]
        self.simulation.join(client)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.clients))
        self.clients.remove(name)
        self.simulation.leave(name)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), profile=st.sampled_from(PROFILES))
    def replace(self, data: st.DataObject, profile: object) -> None:
        self.simulation.replace(data.draw(st.sampled_from(self.clients)), profile)  # type: ignore[arg-type]

    @rule(publisher=st.sampled_from(PUBLISHERS), count=st.integers(1, 5))
    def publish(self, publisher: str, count: int) -> None:
        self.simulation.publish(publisher, count)

    @precondition(lambda self: len(self.down) < 3)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        standing = [name for name in (*BROKERS, "c0", "c1") if name not in self.down]
        self.down.append(data.draw(st.sampled_from(standing)))
        self.simulation.driver.crash(self.simulation.driver.parties[self.down[-1]])

    @precondition(lambda self: self.down)
    @rule()
    def restart(self) -> None:
        self.simulation.driver.restart(self.simulation.driver.parties[self.down.pop(0)])

    @precondition(lambda self: len(self.cuts) < 2)
    @rule(side=st.lists(st.sampled_from((*BROKERS, "c0", "c1")), min_size=1, max_size=4, unique=True))
    def partition(self, side: list[str]) -> None:
        self.cuts.append(Partition(from_s=0.0, to_s=inf, side=tuple(side)))
        self.simulation.driver.network.begin(self.cuts[-1])

    @precondition(lambda self: self.cuts)
    @rule()
    def heal(self) -> None:
        self.simulation.driver.network.end(self.cuts.pop(0))

    @rule()
    def reorganise(self) -> None:
        self.simulation.reorganise()

    @rule(seconds=st.sampled_from((0.02, 0.2, 0.7, 3.0)))
    def wait(self, seconds: float) -> None:
        self.simulation.step(seconds)

    @invariant()
    def time_goes_by(self) -> None:
        self.simulation.step(0.1)

    def teardown(self) -> None:
        while self.cuts:
            self.heal()
        while self.down:
            self.restart()
        self.simulation.step(QUIET_S)
        assert self.simulation.report(calm=False).violations == []


class TestChanges(Changes.TestCase):  # type: ignore[name-defined, misc]
    settings = settings(max_examples=60, stateful_step_count=25, derandomize=True)


@pytest.mark.slow
class TestManyChanges(Changes.TestCase):  # type: ignore[name-defined, misc]
    settings = settings(max_examples=3000, stateful_step_count=50)
