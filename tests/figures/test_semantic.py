"""The shape of the figures of semantic routers: what is counted; what is timed is only looked at for being there."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from semcast_experiments.figures.semantic import load, network, ports, rates, selectivity, setup, table2
from semcast_experiments.figures.trials import Run


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_every_figure_of_the_thesis_has_its_points_and_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "QUICK", setup.Scale(3, 1, (1, 2, 4), 10, 1))
    monkeypatch.setattr(setup, "SUBREGIONS", (1, 90))
    monkeypatch.setattr(setup, "DEPTHS", (0, 6))
    run = Run(True, 1, tmp_path)
    for make in (selectivity.selectivity, rates.rates, table2.table2, ports.ports):
        found = make(run)
        assert {Path(file).suffix for file in found["files"]} == {".csv", ".svg", ".png"}
        assert found["claims"]
    windows = _rows(tmp_path / "semantic-load.csv")
    assert len(windows) == 10 * 3 * 3 * 3, "figures, windows, ways, seeds"
    by_way: dict[str, list[tuple[str, str]]] = {}
    for row in windows:
        by_way.setdefault(row["matching"], []).append((row["packets_per_second"], row["selectivity"]))
    assert by_way["each"] == by_way["prefilter"] == by_way["shared"], "the same packets, and the same go out"
    fits = _rows(tmp_path / "semantic-table2.csv")
    assert len(fits) == 10 * 3
    assert [fit["thesis_m"] for fit in fits if fit["figure"] == "5.11"] == ["0.1138"] * 3


def test_figures_of_the_thesis_are_numbered_as_its_list_has_them() -> None:
    assert setup.BY_RATE["5.10"] == ("same", 1)
    assert setup.BY_RATE["5.13"] == ("different", 2)
    assert list(setup.BY_RATE) == [f"5.{number}" for number in range(10, 20)]
    assert setup.BY_RATE["5.19"] == setup.BY_SELECTIVITY["5.9"] == ("different", 5)


def test_what_goes_out_depends_on_interests_and_depth_and_never_on_the_way_of_matching() -> None:
    values = {"ports": (1, 3), "selectivity": (1, 10, 90), "leakage": (0, 2, 4, 6)}
    found = {
        what: [row for value in every for row in load.per_packet(load.Setting(what, value, 40, 1, 1))]
        for what, every in values.items()
    }
    for costs in found.values():
        for x in {cost.x for cost in costs}:
            assert len({cost.forwarded for cost in costs if cost.x == x}) == 1
        assert all(cost.us_per_packet > 0 for cost in costs)
    out = {cost.x: cost.forwarded for cost in found["selectivity"]}
    assert out[1.0] == 2
    assert list(out.values()) == sorted(out.values())
    leaked = {cost.x: cost.forwarded for cost in found["leakage"]}
    assert [leaked[depth] for depth in (0, 2, 4, 6)] == sorted(leaked.values(), reverse=True)
    assert leaked[0] == 4 > leaked[6]


def test_users_that_come_late_bring_fewer_updates() -> None:
    changes, delays = network.network(network.Coming(12, 40, 0.5, 2))
    assert [change.users for change in changes] == list(range(1, 41))
    first, last = changes[:10], changes[-10:]
    assert sum(change.updates for change in first) > sum(change.updates for change in last)
    assert all(change.settled_ms < 500 for change in changes), "virtual time"
    assert [delay.hops for delay in delays] == sorted(delay.hops for delay in delays)
    assert delays[0].mean_ms < delays[-1].mean_ms
