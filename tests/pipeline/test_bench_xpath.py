"""`semcast bench xpath`, small: what it measures, and that it fails where lxml disagrees."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import semcast
from semcast.demo.xml import workload
from semcast.model import SemcastError
from semcast_experiments.bench import xpath
from semcast_experiments.bench.race import Mismatch
from semcast_experiments.bench.xpath_peers import LxmlPerProfile, compared
from semcast_experiments.cli.bench import bench


@pytest.fixture(autouse=True)
def _small_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_PILOT", 300)


language = semcast.language("xpath")


def test_all_contenders_are_measured_on_both_schemas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(xpath, "QUICK", xpath.Scale((20, 60), 10, 20, 1, 0.02))
    bench(["xpath"], quick=True, out=tmp_path / "x.json")
    told = capsys.readouterr()
    assert "all match sets equal" in told.err
    assert "growth at equal matches" in told.out
    report = json.loads((tmp_path / "x.json").read_text())
    assert set(report["schemas"]) == {"news", "auction"}
    for found in report["schemas"].values():
        assert [race["profiles"] for race in found["races"]] == [20, 60]
        assert len(found["races"][0]["us_per_document"]) == 7
        assert all(value > 0 for race in found["races"] for value in race["us_per_document"].values())
        assert len({grown["matches_per_document"] for grown in found["growth"]}) == 1
        assert any(race["compared"]["pairs"] > 0 for race in found["races"])


def test_numbers_of_profiles_and_schemas_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xpath, "QUICK", xpath.Scale((20, 60), 5, 10, 1, 0.02))
    bench(["xpath"], only=["auction"], profiles=[30], quick=True, out=tmp_path / "x.json")
    schemas = json.loads((tmp_path / "x.json").read_text())["schemas"]
    assert [race["profiles"] for race in schemas.pop("auction")["races"]] == [30]
    assert not schemas
    with pytest.raises(SemcastError, match=r"no workload 'nwes'; there is news, auction"):
        bench(["xpath"], only=["nwes"], quick=True, out=tmp_path / "x.json")


def test_a_difference_to_lxml_ends_the_benchmark() -> None:
    documents = pa.RecordBatch.from_pydict({"payload": ["<a><b/></a>", "<a/>", "<c/>"]})
    right, wrong = (language.parse(text) for text in ("/a/b", "/a"))
    peer = LxmlPerProfile([right], documents, 0.01)
    assert compared(language.matcher([right]), peer, documents, 1) == 1
    with pytest.raises(Mismatch, match="first document 1 with profile 0"):
        compared(language.matcher([wrong]), peer, documents, 1)
