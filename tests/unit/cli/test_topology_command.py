"""`semcast topology` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semcast.trees.topology import Topology
from tests.unit.cli.runs import Run
from tests.unit.trees.graphml import NETWORKX

WAXMAN = ["topology", "--kind", "waxman", "--brokers", "30"]


@pytest.mark.parametrize("kind", ["random", "waxman", "transit-stub", "power-law"])
def test_a_topology_is_written_and_its_closing_line_says_where(run: Run, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "t.json"
    code, text, err = run("topology", "--kind", kind, "--brokers", "30", "--seed", "7", "--out", str(out))
    assert (code, text) == (0, "")
    assert err.splitlines()[-1].startswith("30 brokers, 60 links (mean degree 4, diameter ")
    assert err.splitlines()[-1].endswith(f"6 gateways, written to {out}")
    found = json.loads(out.read_text())
    assert found["brokers"][0].keys() == {"id", "x", "y", "roles"}
    assert found["links"][0].keys() == {"a", "b", "cost", "delay_ms"}


def test_without_a_file_the_topology_goes_to_stdout(run: Run) -> None:
    _, plain, _ = run(*WAXMAN)
    _, dash, _ = run(*WAXMAN, "--out", "-")
    assert plain == dash
    assert len(Topology.from_json(plain).brokers) == 30
    assert run(*WAXMAN, "--seed", "2")[1] != plain


def test_the_summary_is_json(run: Run, tmp_path: Path) -> None:
    out, picture = tmp_path / "t.json", tmp_path / "t.svg"
    _, text, err = run(*WAXMAN, "--sources", "2", "--json", "--out", str(out), "--draw", str(picture))
    found = json.loads(text)
    assert 0 <= found.pop("seconds") < 60
    assert found.pop("peak_memory_mb") > 10
    assert found.pop("parameters").keys() == {"alpha", "beta"}
    assert 2 < found.pop("diameter_hops") < 10
    assert found == {
        "kind": "waxman",
        "brokers": 30,
        "links": 60,
        "mean_degree": 4.0,
        "diameter_exact": True,
        "gateways": 6,
        "sources": 2,
        "out": str(out),
        "draw": str(picture),
    }
    assert err.splitlines()[-1].endswith(f"written to {out} and {picture}")
    assert "waxman, 30 brokers" in picture.read_text()


def test_parameters_of_a_kind_are_used_zero_too(run: Run, tmp_path: Path) -> None:
    out = str(tmp_path / "t.json")
    words = ["topology", "--kind", "transit-stub", "--brokers", "100", "--json", "--out", out]
    _, text, _ = run(*words, "--transit-domains", "2", "--transit-nodes", "5", "--extra-stub-stub", "0")
    found = json.loads(text)["parameters"]
    assert (found["transit_domains"], found["transit_nodes"], found["extra_stub_stub"]) == (2, 5, 0)
    assert json.loads(run(*words[:-2], "--out", out, "--degree", "6")[1])["mean_degree"] == 6
    waxman = [*WAXMAN, "--json", "--out", out]
    assert json.loads(run(*waxman, "--alpha", "1", "--beta", "9")[1])["mean_degree"] > 25


def test_a_topology_gets_other_gateways_and_keeps_the_rest(run: Run, tmp_path: Path) -> None:
    first = Topology.from_json(run(*WAXMAN, "--sources", "1")[1])
    path = tmp_path / "t.json"
    path.write_text(first.to_json())
    assert run("topology", "--kind", f"json:{path}")[1] == first.to_json()
    second = Topology.from_json(run("topology", "--kind", str(path), "--gateways", "0.5", "--seed", "3")[1])
    assert len(second.gateways) == 15
    assert second.links == first.links
    assert ["source" in b.roles for b in second.brokers] == ["source" in b.roles for b in first.brokers]


def test_a_graphml_file_is_imported_and_what_was_dropped_is_said(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "net.graphml"
    path.write_text(NETWORKX)
    code, text, err = run("topology", "--kind", str(path))
    assert code == 0
    assert Topology.from_json(text).ids([0, 1, 2]) == ["n0", "n1", "n10"]
    assert "1 links between nodes that were linked already were dropped" in err
    path.write_text(NETWORKX.replace('<edge source="n10" target="n1"/>', ""))
    code, _, err = run("topology", "--kind", f"graphml:{path}")
    assert code == 1
    assert "--largest-component keeps that one" in err
    code, text, err = run("topology", "--kind", f"graphml:{path}", "--largest-component")
    assert len(Topology.from_json(text).brokers) == 2
    assert "1 nodes outside the largest connected part were dropped" in err


def test_real_networks_come_by_name_and_names_can_be_listed(run: Run) -> None:
    assert "topozoo/Abilene\n" in run("topology", "--list")[1]
    found = Topology.from_json(run("topology", "--kind", "topohub:topozoo/Abilene", "--gateways", "1")[1])
    assert len(found.gateways) == 11
    code, _, err = run("topology", "--kind", "topohub:topozoo/Abilen")
    assert code == 1
    assert "did you mean" in err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "give --kind: random, waxman"),
        (["--kind", "mesh"], "there is no kind of topology 'mesh'"),
        (["--kind", "waxman"], "--kind waxman needs --brokers"),
        (["--kind", "topohub:"], "needs a name after the colon; --list names them"),
        (["--kind", "graphml"], "needs a name after the colon"),
        (["--kind", "random", "--brokers", "9", "--alpha", "0.5"], "--alpha is for waxman, not for random"),
        (["--kind", "waxman", "--brokers", "9", "--stubs", "3"], "--stubs is for transit-stub, not for waxman"),
        (["--kind", "topohub:topozoo/Abilene", "--brokers", "9"], "--brokers is for random, waxman"),
        (["--kind", "json:none.json", "--degree", "3"], "--degree is for random"),
        (["--kind", "json:none.json"], "none.json: no such file"),
        (["--kind", "none.graphml"], "none.graphml: no such file"),
        (["--kind", "waxman", "--brokers", "0"], "at least one broker, not 0"),
        (["--kind", "waxman", "--brokers", "9", "--degree", "0"], "not 0"),
        (["--kind", "waxman", "--brokers", "9", "--gateways", "0"], "above 0 and at most 1, not 0"),
        (["--kind", "waxman", "--brokers", "9", "--sources", "10"], "10 sources among 9 brokers"),
        (["--kind", "waxman", "--brokers", "9", "--json"], "give --out"),
        (["--kind", "waxman", "--brokers", "9", "--out", "no/t.json"], "no: no such folder"),
        (["--kind", "waxman", "--brokers", "9", "--draw", "t.gif"], "a drawing ends in .svg or .png"),
        (["--kind", "waxman", "--brokers", "9", "--out", "."], ".: is a directory"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    run: Run, words: list[str], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run("topology", *words)
    assert (code, out) == (1, "")
    assert what in err.partition("error: ")[2]
    assert list(tmp_path.iterdir()) == []


def test_help_names_every_kind(run: Run) -> None:
    told = " ".join(run("topology", "--help")[1].split())
    for word in (
        "random",
        "waxman",
        "transit-stub",
        "power-law",
        "topohub:",
        "graphml:",
        "json:",
        "--largest-component",
    ):
        assert word in told
