"""Scenario files: what they mean, and errors that name the key and what it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from semcast.model import SemcastError
from semcast.sim.campaign import Victims, drawn_faults
from semcast.sim.faults import Crash, Partition, check
from semcast.sim.scenario import Campaign, Scenario
from semcast.sim.scenario_file import read_scenario, scenario_of
from semcast.trees.declared import Overlay, having, topology_of
from tests.simulator.worlds import line


def test_a_file_means_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        """
        scheme = "spt"
        settings = { tick_s = 0.05, window = 10 }
        [topology]
        sources = ["b1"]
        [[faults]]
        kind = "crash"
        party = "b1"
        from_s = 1
        to_s = 2.5
        """
    )
    found = read_scenario(file)
    assert found.scheme == "spt"
    assert found.faults == (Crash(from_s=1.0, to_s=2.5, party="b1"),)
    assert (found.tuned().tick_s, found.tuned().window) == (0.05, 10)
    assert type(found.tuned().window) is int
    assert not found.calm


def test_what_is_read_can_be_written_and_read_again() -> None:
    made = scenario_of(
        {
            "streams": [{"name": "q", "language": "relational"}],
            "clients": [{"stream": "q", "count": 3, "ordered": 0.5}],
            "faults": [{"kind": "partition", "side": ["b1"], "from_s": 1, "to_s": 2, "hold": True}],
            "campaign": {"loss": 3},
        }
    )
    assert scenario_of(msgspec.json.decode(msgspec.json.encode(made.as_dict()))) == made


def test_a_topology_file_travels_inside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(line(1, 2).to_json())
    file = tmp_path / "s.toml"
    file.write_text('[topology]\nfile = "t.json"\nsources = ["b0"]\ngateways = ["b2"]\n')
    found = read_scenario(file)
    (tmp_path / "t.json").unlink()
    topology = topology_of(scenario_of(found.as_dict()).topology)
    assert (having(topology, "source"), having(topology, "gateway")) == (["b0"], ["b2"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shceme": "spt"}, "shceme: there is no such key; did you mean 'scheme'\\? allowed: name, duration_s"),
        ({"scheme": "best"}, "scheme: there is no 'best'; there is masked, semcast"),
        ({"settings": {"tick": 1}}, "settings.tick: there is no such setting; there is tick_s"),
        ({"topology": {"kind": "ring"}}, "topology.kind: there is no 'ring'; there is random, waxman"),
        ({"topology": {"nodes": 3}}, "topology.nodes: there is no such key; .*allowed: kind, brokers"),
        ({"topology": {"brokers": "many"}}, "topology.brokers: expected int, got str"),
        ({"clients": [{"stream": "x", "count": 1}]}, r"clients\[0\].stream: there is no 'x'; there is topics"),
        ({"clients": [{"stream": "topics", "count": 1, "size": 3}]}, r"clients\[0\].size: there is no such key"),
        ({"clients": [{"stream": "topics"}]}, r"clients\[0\]: object missing required field count"),
        ({"clients": [{"stream": "topics", "count": 1, "ordered": 2}]}, r"clients\[0\].ordered: a share is from 0"),
        ({"publishers": [{"stream": "topics", "rate_hz": 0}]}, r"publishers\[0\].rate_hz: must be above 0"),
        ({"publishers": [{"stream": "topics", "to_s": 99}]}, "must be in order and from 0 to duration_s"),
        ({"faults": [{"kind": "fire"}]}, r"faults\[0\].kind: there is no 'fire'; there is loss, twice"),
        ({"faults": [{"from_s": 1}]}, r"faults\[0\].kind: is missing; there is loss"),
        ({"faults": [{"kind": "loss", "p": 1}]}, r"faults\[0\].p: there is no such key; .*probability"),
        ({"campaign": {"disk": 1}}, r"campaign.disk: brokers have disks only with a table \[production\]"),
        (
            {"faults": [{"kind": "disk", "party": "b0", "how": "full", "from_s": 1, "to_s": 2}]},
            r"faults\[0\]: brokers have disks only",
        ),
        ({"production": {"near": 2}}, "production.near: a share is from 0 to 1"),
        ({"campaign": {"crashes": 1}}, "campaign.crashes: there is no such key; did you mean 'crash'"),
        ({"duration_s": 0}, "duration_s: must be above 0"),
    ],
)
def test_errors_name_the_key_and_what_it_may_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SemcastError, match=said):
        scenario_of(given)


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    with pytest.raises(SemcastError, match=r"s.toml: cannot be read"):
        read_scenario(file)
    file.write_text("scheme = ")
    with pytest.raises(SemcastError, match=r"s.toml: no TOML"):
        read_scenario(file)
    file.write_text('[topology]\nfile = "none.json"\n')
    with pytest.raises(SemcastError, match=r"s.toml:2: topology.file: .*none.json cannot be read"):
        read_scenario(file)
    file.write_text('[topology]\nfile = "none.json"\nbrokers = 3\n')
    with pytest.raises(SemcastError, match=r"topology.brokers: not beside topology.file"):
        read_scenario(file)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Crash(from_s=2, to_s=1, party="b0"), "f: from_s must be at least 0 and before to_s"),
        (Crash(from_s=2, to_s=11, party="b0"), "f.to_s: 11 is after duration_s"),
        (Partition(from_s=1, to_s=2), "f: a partition needs link"),
        (Partition(from_s=1, to_s=2, link=("a", "b"), side=("c",)), "link and side exclude each other"),
    ],
)
def test_faults_that_make_no_sense_are_refused(fault: Crash | Partition, said: str) -> None:
    with pytest.raises(SemcastError, match=said):
        check(fault, "f", 10.0)


def test_roles_are_drawn_where_none_are_given_and_the_seed_decides() -> None:
    one, same, other = (topology_of(Overlay(brokers=9, seed=seed, sources=2, gateways=3)) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert (len(having(one, "source")), len(having(one, "gateway"))) == (2, 3)
    with pytest.raises(SemcastError, match=r"topology.sources: there is no broker 'x'"):
        topology_of(Overlay(sources=("x",)))
    with pytest.raises(SemcastError, match=r"topology.gateways: 99 of 8 brokers cannot be chosen"):
        topology_of(Overlay(gateways=99))


def test_a_campaign_draws_faults_that_are_over_in_time() -> None:
    import numpy as np

    campaign = Campaign(crash=20, pause=20, slow=20, skew=20, store_cut=20, loss=20, twice=20, jitter=20, partition=40,
                        store_slow=20)  # fmt: skip
    victims = Victims(line(1, 1, 1), ["c0"], ["s0"])
    found = drawn_faults(campaign, victims, 30.0, np.random.default_rng(1))
    assert found == drawn_faults(campaign, victims, 30.0, np.random.default_rng(1))
    assert {type(fault).__name__ for fault in found} == {
        "Crash", "Pause", "Slow", "Skew", "StoreCut", "Loss", "Twice", "Jitter", "Partition",
        "StoreSlow",
    }  # fmt: skip
    for fault in found:
        check(fault, "drawn", 30.0)
    assert not any(getattr(fault, "party", "") == "s0" for fault in found)


def test_a_scenario_without_faults_is_calm() -> None:
    assert Scenario().calm
    assert Scenario(campaign=Campaign()).calm
    assert not Scenario(campaign=Campaign(loss=1)).calm
