"""Networks of semantic routers on the virtual clock: laws, costs as predicted, and laws that find broken routers."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from semcast.matching.semantic import descriptor as read
from semcast.matching.semantic import evaluate
from semcast.model import SemcastError
from semcast.profiles.semantic import Expression, Node, parse
from semcast.protocol.contract import OfferPacket
from semcast.protocol.semnet.ports import Filters
from semcast.protocol.semnet.router import RouterSettings, SemanticRouter
from semcast.sim.faults import Crash
from semcast.sim.scenario import Campaign, Clients, Publishers, Scenario, Stream
from semcast.sim.scenario_file import read_scenario
from semcast.sim.semnet import SemnetSimulation, simulation_of
from semcast.sim.simulation import Simulation
from semcast.sim.workload import descriptor
from semcast.trees.declared import Overlay

EXAMPLE = Path(__file__).parents[2] / "examples" / "semnet.toml"


def small(**changes: object) -> Scenario:
    made = Scenario(
        duration_s=10.0,
        quiet_s=4.0,
        scheme="semnet",
        topology=Overlay(kind="waxman", brokers=9, degree=3, seed=3, sources=2, gateways=4),
        streams=(Stream(name="s", language="semantic"),),
        clients=(Clients(stream="s", count=10, attach_s=(0.0, 1.0)),),
        publishers=(Publishers(stream="s", rate_hz=8.0, from_s=5.0),),
    )
    return msgspec.structs.replace(made, **changes)


def test_a_calm_run_keeps_all_laws_while_interests_change() -> None:
    run = SemnetSimulation(read_scenario(EXAMPLE), 1)
    report = run.run()
    assert not report.violations
    assert report.counts["missed"] == 0
    assert report.counts["delivered"] > 1000
    assert any(len(wish.changes) > 1 for wish in run.wishes.values())


def test_the_same_seed_is_the_same_run() -> None:
    journals: list[list[bytes]] = []
    for seed in (4, 4, 5):
        lines: list[bytes] = []
        simulation_of(small(), seed, sink=lines.append).run()
        journals.append(lines)
    assert journals[0] == journals[1]
    assert journals[0] != journals[2]


@pytest.mark.parametrize("kind", ["waxman", "random"])
def test_packets_cross_exactly_the_links_that_lead_to_somebody_who_wants_them(kind: str) -> None:
    """Predicted from shortest paths alone: per packet the union of the ways from its source to the interested."""
    overlay = Overlay(kind=kind, brokers=12, degree=3, seed=5, sources=1, gateways=5)  # type: ignore[arg-type]
    run = SemnetSimulation(small(topology=overlay), 2)
    report = run.run()
    at = {name: party.at for name, party in run.driver.parties.items() if name in run.wishes}
    (source,) = {party.at for name, party in run.driver.parties.items() if name.startswith("p")}
    paths = run.topology.graph.paths(run.topology.node(source))
    predicted = 0
    for packet in run.sent.values():
        links: set[tuple[int, int]] = set()
        for user, wish in run.wishes.items():
            profile = wish.at(packet.at)
            assert profile is not None
            if evaluate(parse(profile).expression, packet.root):
                links |= set(pairwise(paths.to(run.topology.node(at[user]))))
        predicted += len(links)
    assert report.meters["transmissions"] == predicted > 100


def test_every_way_of_matching_is_the_same_run() -> None:
    found = []
    for settings in (RouterSettings(), RouterSettings(matching="each"), RouterSettings(matching="prefilter")):
        run = SemnetSimulation(small(), 3, settings=settings)
        found.append(run.run().meters["links"])
        assert run.got
    assert found[0] == found[1] == found[2]


def test_leaking_announcements_cost_transmissions_and_no_delivery() -> None:
    exact, leaking = (
        SemnetSimulation(small(), 3, settings=RouterSettings(announce_depth=depth)) for depth in (None, 1)
    )
    one, other = exact.run(), leaking.run()
    assert not other.violations
    assert [got.body for got in exact.got] == [got.body for got in leaking.got]
    assert other.meters["transmissions"] > one.meters["transmissions"]
    assert other.counts["update_bytes"] < one.counts["update_bytes"]


def test_faults_lose_packets_but_nobody_gets_one_twice_or_unwanted() -> None:
    campaign = Campaign(crash=15.0, loss=10.0, twice=20.0, jitter=10.0, partition=5.0, longest_s=2.0)
    publishers = (Publishers(stream="s", rate_hz=20.0, from_s=2.0),)
    missed = 0
    for seed in range(3):
        report = SemnetSimulation(small(campaign=campaign, publishers=publishers), seed).run()
        assert not report.violations
        assert report.counts["faults"] > 3
        missed += report.counts["missed"]
    assert missed > 0


def test_after_routers_have_come_back_all_is_delivered_again() -> None:
    """Crashes end with the campaign; what is published long after it reaches everybody who wants it."""
    crashes = Campaign(crash=40.0, longest_s=1.0)
    run = SemnetSimulation(small(duration_s=8.0, campaign=crashes), 1)
    run.run()
    assert run.faults > 3
    run.driver.agenda.run(20.0)
    producer = run.driver.parties["p0"]
    before, contents = len(run.got), [descriptor([first, second, 0]) for first in range(4) for second in range(4)]
    for number, content in enumerate(contents):
        run.driver.feed(producer, OfferPacket(content, b"late %d" % number))
    run.driver.agenda.run(23.0)
    wanted = {
        (user, b"late %d" % number)
        for number, content in enumerate(contents)
        for user, wish in run.wishes.items()
        if _wants(wish.at(20.0), content)
    }
    assert {(got.user, got.body) for got in run.got[before:]} == wanted
    assert len(wanted) > 10


def _wants(profile: str | None, content: bytes) -> bool:
    root = read(content)
    assert isinstance(root, Node)
    return profile is not None and evaluate(parse(profile).expression, root)


def test_a_router_that_forgets_a_port_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Filters.for_neighbour

    def forgetful(self: Filters, port: str, local: Expression) -> Expression:
        return local if len(self.wanted) > 1 else honest(self, port, local)

    monkeypatch.setattr(Filters, "for_neighbour", forgetful)
    report = SemnetSimulation(small(), 3).run()
    assert {found.law for found in report.violations} == {"everybody gets all that it wants"}


def test_a_router_that_gives_users_everything_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SemanticRouter, "_wanting_users", lambda self, root, sender, stream: sorted(self._users))
    report = SemnetSimulation(small(), 3).run()
    assert {found.law for found in report.violations} == {"nobody gets what it does not want"}


def test_semnet_needs_a_semantic_stream_and_others_can_have_one() -> None:
    with pytest.raises(SemcastError, match="of language 'semantic'"):
        small(streams=(Stream(name="s"),))
    with pytest.raises(SemcastError, match="no coordinators"):
        small(campaign=Campaign(store_cut=1.0))
    with pytest.raises(SemcastError, match="there is no party 'c0'"):
        SemnetSimulation(small(faults=(Crash(from_s=1.0, to_s=2.0, party="c0"),)), 1)
    run = simulation_of(small(scheme="masked"), 1)
    assert isinstance(run, Simulation)
    assert not run.run().violations
