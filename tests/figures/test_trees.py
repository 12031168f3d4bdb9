"""The shape of the figures of dissemination trees."""

from __future__ import annotations

import csv
from pathlib import Path

from semcast_experiments.figures.trees import delay_bounds, joins
from semcast_experiments.figures.trials import Run


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_joining_the_closest_broker_is_cheaper_and_flatter_than_the_closest_destination(tmp_path: Path) -> None:
    found = joins(Run(True, 1, tmp_path))
    above, deeper = found["above"], found["deeper"]
    assert 0 < above["broker"]["value"] < above["destination"]["value"] < above["shortest paths"]["value"]
    assert above["local search"]["value"] < 0
    assert deeper["shortest paths"]["value"] == 0 < deeper["broker"]["value"] < deeper["destination"]["value"]
    assert {Path(file).suffix for file in found["files"]} == {".csv", ".svg", ".png"}
    assert {row["kind"] for row in _rows(tmp_path / "trees.csv")} == {"random", "waxman"}
    again = joins(Run(True, 1, tmp_path / "again"))
    assert (found["above"], found["claims"]) == (again["above"], again["claims"]), "the same seed gives the same figure"


def test_looser_bounds_cost_less_and_are_met_by_more(tmp_path: Path) -> None:
    delay_bounds(Run(True, 1, tmp_path))
    rows = _rows(tmp_path / "delay-bounds.csv")
    bounds = sorted({int(row["bound_hops"]) for row in rows})
    for field in ("penalty", "unmet"):
        mean = [sum(float(row[field]) for row in rows if int(row["bound_hops"]) == bound) for bound in bounds]
        assert mean[0] > mean[-1]
    assert all(float(row["unmet"]) == 0 for row in rows if int(row["bound_hops"]) == bounds[-1])
