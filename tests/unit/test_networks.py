from __future__ import annotations

import sys
from pathlib import Path

import pytest

from semcast import networks
from semcast.model import SemcastError
from semcast.trees.topology import TopologyError


def test_a_network_of_the_topology_zoo_comes_by_its_name() -> None:
    topology, changes = networks.topohub("topozoo/Abilene")
    assert (len(topology.brokers), len(topology.links)) == (11, 14)
    assert changes.lines() == []
    link = next(link for link in topology.links if {link.a, link.b} == {"Chicago", "New York"})
    assert link.delay_ms == pytest.approx(1146.16 / 199.86, rel=0.01)  # the distance that TopoHub gives


@pytest.mark.parametrize("name", ["sndlib/polska", "sndlib/atlanta", "gabriel/25/0", "topozoo/Aarnet"])
def test_networks_with_and_without_degrees_have_possible_delays(name: str) -> None:
    topology, _ = networks.topohub(name, costs="distance")
    assert all(0.05 <= link.delay_ms <= 101 and link.cost == link.delay_ms for link in topology.links)
    assert all(0 <= (broker.x or 0) <= 1 and 0 <= (broker.y or 0) <= 1 for broker in topology.brokers)


def test_every_group_has_names() -> None:
    names = networks.topohub_names()
    assert {name.partition("/")[0] for name in names} >= {"topozoo", "sndlib", "caida", "gabriel"}
    assert len(names) > 500
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("topozoo/abilene", "topozoo/Abilene"), ("polska", "sndlib/polska"), ("topozoo/Arnet", "topozoo/A")],
)
def test_an_unknown_name_suggests_near_ones(wrong: str, near: str) -> None:
    with pytest.raises(SemcastError, match=f"no network '{wrong}' .did you mean .*{near}"):
        networks.topohub(wrong)


@pytest.mark.parametrize("name", ["../__init__", "topozoo/../topozoo/Abilene", "", "topozoo", "/etc/passwd"])
def test_a_name_that_is_no_network_opens_no_file(name: str) -> None:
    with pytest.raises(SemcastError, match="TopoHub has no network"):
        networks.topohub(name)


def test_without_topohub_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "topohub", None)
    with pytest.raises(SemcastError, match=r"pip install 'semcast\[topohub\]'"):
        networks.topohub("topozoo/Abilene")


def test_errors_in_files_name_the_file(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("{")
    with pytest.raises(TopologyError, match=r"wrong: not readable as XML"):
        networks.graphml(wrong)
    with pytest.raises(TopologyError, match=r"wrong: not a topology"):
        networks.topology_file(wrong)
    with pytest.raises(SemcastError, match=r"none: no such file"):
        networks.topology_file(tmp_path / "none")
    with pytest.raises(SemcastError, match=r"is a directory"):
        networks.graphml(tmp_path)
