"""The evaluation of the topics paper: small, but all of it, through the command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from semcast.cli.bench import bench
from semcast.cli.figures import figures
from semcast.experiments import topics
from semcast.model import SemcastError


def test_figures_draws_every_figure_and_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(topics, "_QUICK", topics._Scale([2, 4, 7], [200, 1_000], 5_000))
    figures(["topics"], quick=True, out=tmp_path, json=True)
    result = json.loads(capsys.readouterr().out)["topics"]
    page = (tmp_path / "index.html").read_text()
    for name in ("computing", "engines", "tree", "flux"):
        assert (tmp_path / f"topics-{name}.png").stat().st_size > 10_000
        assert f"topics-{name}.svg" in page
    with (tmp_path / "topics-costs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["engine"] for row in rows} == {"compact", "hashing", "tree", "regex", "naive"}
    assert all(float(row["compute_us"]) > 0 for row in rows)
    memory = {row["engine"]: row["bytes_each"] for row in result["memory"] if row["attributes"] == 7}
    assert memory["hashing"] < memory["tree"] / 4, "Figure 8: the tree takes by far the most"
    assert result["edges_of_100000_x_10_by_values"]["50"] == pytest.approx(763_000, rel=0.01)


def test_bench_topics_reports_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(topics, "_QUICK", topics._Scale([2, 4, 7], [200, 1_000], 5_000))
    bench(["topics"], quick=True)
    printed = capsys.readouterr()
    assert "Default engine (compact)" in printed.out
    report = json.loads((tmp_path / "build" / "bench" / "topics.json").read_text())
    assert [target["met"] for target in report["targets"]] == [None, None]
    assert report["targets"][0]["measured"] > 1


def test_an_unknown_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SemcastError, match="there is no figure 'fig'; there is 2005-fig3, "):
        figures(["fig"], out=tmp_path)
