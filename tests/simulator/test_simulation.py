"""Whole runs of the protocol's machines: they repeat, they keep their laws, and a broken machine is found out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from semcast.model import SemcastError
from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.contract import Command, Event, Received
from semcast.protocol.results import Delivered
from semcast.protocol.wire.frames import Deliver
from semcast.sim.faults import Crash, Loss, StoreCut
from semcast.sim.random_runs import random_scenario
from semcast.sim.scenario import CHANNEL_SCHEMES, Clients, Publishers, Scenario, Stream
from semcast.sim.scenario_file import read_scenario, scenario_of
from semcast.sim.simulation import Report, Simulation
from semcast.trees.declared import Overlay

ROOT = Path(__file__).parents[2]


def scenario(scheme: str = "masked", **changes: object) -> Scenario:
    """Six brokers, one source, everybody there before the first message."""
    given: dict[str, object] = {
        "scheme": scheme,
        "duration_s": 8.0,
        "quiet_s": 8.0,
        "topology": Overlay(brokers=6, degree=2.5, seed=3, sources=1, gateways=3),
        "streams": (Stream(name="news", values=3),),
        "clients": (Clients(stream="news", count=6, ordered=0.5, attach_s=(0.0, 0.5)),),
        "publishers": (Publishers(stream="news", rate_hz=8, from_s=3.0),),
    }
    return Scenario(**(given | changes))  # type: ignore[arg-type]


def run(chosen: Scenario, seed: int = 1) -> Report:
    return Simulation(chosen, seed).run()


def journal(chosen: Scenario, seed: int) -> bytes:
    lines: list[bytes] = []
    Simulation(chosen, seed, sink=lines.append).run()
    return b"".join(lines)


@pytest.mark.parametrize("scheme", CHANNEL_SCHEMES)
def test_where_nothing_fails_every_scheme_delivers_everything_once(scheme: str) -> None:
    report = run(scenario(scheme))
    assert report.violations == []
    assert report.counts["delivered"] > 30
    assert report.counts["acked"] == report.counts["published"] > 20
    assert report.meters["transmissions"] > 0


def test_relational_streams_run_too() -> None:
    report = run(
        scenario(streams=(Stream(name="news", language="relational", values=6, payload_bytes=120),), quiet_s=6.0)
    )
    assert report.violations == []
    assert report.counts["delivered"] > 30


def test_one_seed_one_run_byte_for_byte_also_under_another_hash_seed() -> None:
    seed = 6
    first = journal(random_scenario(seed), seed)
    assert first == journal(random_scenario(seed), seed)
    assert first != journal(random_scenario(seed), seed + 1)
    program = (
        "import sys; from tests.simulator.test_simulation import journal, random_scenario as drawn; "
        f"sys.stdout.buffer.write(journal(drawn({seed}), {seed}))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment, check=True)
    assert done.stdout == first


def test_what_a_journal_has_no_part_in_is_not_changed_by_it() -> None:
    seed = 6
    lines: list[bytes] = []
    assert Simulation(random_scenario(seed), seed, sink=lines.append).run() == run(random_scenario(seed), seed)


def test_a_scenario_survives_its_journal() -> None:
    for seed in range(20):
        drawn = random_scenario(seed)
        assert scenario_of(drawn.as_dict()) == drawn


def test_the_example_can_be_read() -> None:
    found = read_scenario(ROOT / "examples" / "simulate.toml")
    assert not found.calm
    assert len(found.clients) == len(found.publishers) == 2


def test_a_subscriber_that_forgets_what_it_has_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Subscriber.handle

    def twice(self: Subscriber, event: Event, now: float) -> list[Command]:
        commands = plain(self, event, now)
        return commands + [command for command in commands if isinstance(command, Delivered)]

    monkeypatch.setattr(Subscriber, "handle", twice)
    assert {found.law for found in run(scenario()).violations} == {"once"}


def test_a_subscriber_that_loses_a_message_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Subscriber.handle

    def deaf(self: Subscriber, event: Event, now: float) -> list[Command]:
        commands = plain(self, event, now)
        lost = isinstance(event, Received) and isinstance(event.frame, Deliver) and event.frame.number % 5 == 0
        return [command for command in commands if not (lost and isinstance(command, Delivered))]

    monkeypatch.setattr(Subscriber, "handle", deaf)
    assert {found.law for found in run(scenario()).violations} == {"nothing is missed"}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Crash(from_s=1, to_s=2, party="b77"), r"faults\[0\]: there is no party 'b77'"),
        (StoreCut(from_s=1, to_s=2, party="b0"), r"faults\[0\]: there is no party 'b0'; there is c0"),
        (Loss(from_s=1, to_s=2, probability=0.1, side=("b0", "x")), r"faults\[0\]: there is no party 'x'"),
    ],
)
def test_faults_of_nobody_are_refused(fault: Crash, said: str) -> None:
    with pytest.raises(SemcastError, match=said):
        Simulation(scenario(faults=(fault,)), 1)


def test_roles_that_a_workload_names_must_be_there() -> None:
    with pytest.raises(SemcastError, match=r"clients\[0\].gateways: 'b9' is no gateway; there is b"):
        Simulation(scenario(clients=(Clients(stream="news", count=1, gateways=("b9",)),)), 1)
    with pytest.raises(SemcastError, match=r"publishers\[0\].sources: 'b9' is no source; there is b"):
        Simulation(scenario(publishers=(Publishers(stream="news", sources=("b9",)),)), 1)
