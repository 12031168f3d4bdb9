"""The evaluation of the topics paper: small, but all of it, through the command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from semcast.model import SemcastError
from semcast_experiments.cli.bench import bench
from semcast_experiments.cli.figures import figures
from semcast_experiments.figures.topics import costs, fig7, fig9, setup
from semcast_experiments.figures.topics.costs import Cost
from semcast_experiments.figures.trials import Run


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "QUICK", setup.Scale((2, 4, 7), (100, 400), 5_000))
    monkeypatch.setattr(Run, "seeds", lambda self, full, quick: range(self.seed, self.seed + 2))


def test_every_figure_of_the_paper_is_drawn_from_the_same_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures(["topics-fig4"], quick=True, out=tmp_path, json=True)
    capsys.readouterr()
    monkeypatch.setattr(costs, "changing", None)  # what Figures 4 to 6 measured, the others find
    figures(["topics-fig7", "topics-fig8", "topics-fig9"], quick=True, out=tmp_path, json=True)
    results = json.loads(capsys.readouterr().out)
    page = (tmp_path / "index.html").read_text()
    for name in ("topics-fig4", "topics-fig7", "topics-fig8", "topics-fig9"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert f"{name}.svg" in page
    with (tmp_path / "topics-fig4.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["engine"] for row in rows} == {"compact", "hashing", "tree", "regex", "naive"}
    assert len(rows) == 5 * 3 * 2 * 2, "engines, attributes, sizes, seeds"
    assert all(float(row["compute_us"]) > 0 for row in rows)
    with (tmp_path / "topics-memory.csv").open() as file:
        memory = {(row["engine"], row["attributes"]): float(row["bytes_each"]) for row in csv.DictReader(file)}
    assert memory["hashing", "7"] < memory["tree", "7"] / 4, "Figure 8: the tree takes by far the most"
    assert results["topics-fig8"]["edges"]["50"] == pytest.approx(763_000, rel=0.01)


def _cost(engine: str, compute: float, add: float, remove: float) -> Cost:
    return Cost(engine, 7, 1_000, 1, compute, add, remove, 0, 0)


def test_verdicts_follow_from_the_order_of_the_engines() -> None:
    as_said = [_cost("tree", 1, 9, 9), _cost("hashing", 2, 2, 2), _cost("regex", 900, 1, 1), _cost("compact", 1, 1, 1)]
    assert [claim.verdict for claim in fig7.claims(as_said)] == ["agrees"]
    assert [claim.verdict for claim in fig9.claims(as_said)] == ["agrees", "agrees"]
    other = [_cost("tree", 3, 9, 9), _cost("hashing", 2, 2, 2), _cost("regex", 90, 99, 5), _cost("compact", 1, 1, 1)]
    assert [claim.verdict for claim in fig7.claims(other)] == ["in part"]
    assert [claim.verdict for claim in fig9.claims(other)] == ["differs", "in part"]


def test_bench_topics_reports_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    bench(["topics"], quick=True)
    printed = capsys.readouterr()
    assert "Default engine (compact)" in printed.out
    report = json.loads((tmp_path / "build" / "bench" / "topics.json").read_text())
    assert [target["met"] for target in report["targets"]] == [None, None]
    assert report["targets"][0]["measured"] > 1


def test_an_unknown_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SemcastError, match="there is no figure 'fig'; there is 2005-fig3, "):
        figures(["fig"], out=tmp_path)
