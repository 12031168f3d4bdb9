"""The shape of the figures of semantic routers: what is counted; what is timed is only looked at for being there."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from semcast.experiments.semantic import load, network, semantic


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_every_figure_of_the_thesis_has_its_points_and_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "QUICK", load.Scale((1, 2), 4, (40.0, 120.0), (1, 2, 4), 20, 1))
    monkeypatch.setattr(network, "QUICK", network.Scale(10, 12, 0.5))
    found = semantic(True, 1, tmp_path, lambda _: None)
    assert {Path(file).suffix for file in found["files"]} == {".csv", ".json", ".svg", ".png"}
    assert json.loads((tmp_path / "semantic.json").read_text())["note"] == found["note"]
    assert len(found["fits"]) == 2 * 2 * 3
    windows = _rows(tmp_path / "semantic-load.csv")
    assert len(windows) == 2 * 2 * 4 * 3
    by_way: dict[str, list[tuple[str, str]]] = {}
    for row in windows:
        by_way.setdefault(row["matching"], []).append((row["packets_per_second"], row["selectivity"]))
    assert by_way["each"] == by_way["prefilter"] == by_way["shared"], "the same packets, and the same go out"


def test_what_goes_out_depends_on_interests_and_depth_and_never_on_the_way_of_matching() -> None:
    scale = load.Scale((1,), 1, (1.0, 2.0), (1, 3), 40, 1)
    ports, shares, leaks = (
        measure(scale, 1, lambda _: None) for measure in (load.by_ports, load.by_selectivity, load.by_leakage)
    )
    for costs in (ports, shares, leaks):
        for x in {cost.x for cost in costs}:
            assert len({cost.forwarded for cost in costs if cost.x == x}) == 1
        assert all(cost.us_per_packet > 0 for cost in costs)
    out = {cost.x: cost.forwarded for cost in shares}
    assert out[1.0] == 2
    assert list(out.values()) == sorted(out.values())
    leaked = {cost.x: cost.forwarded for cost in leaks}
    assert [leaked[depth] for depth in range(7)] == sorted(leaked.values(), reverse=True)
    assert leaked[0] == 4 > leaked[6]


def test_users_that_come_late_bring_fewer_updates() -> None:
    changes, delays = network.network(network.Scale(12, 40, 0.5), 2, lambda _: None)
    assert [change.users for change in changes] == list(range(1, 41))
    first, last = changes[:10], changes[-10:]
    assert sum(change.updates for change in first) > sum(change.updates for change in last)
    assert all(change.settled_ms < 500 for change in changes), "virtual time"
    assert [delay.hops for delay in delays] == sorted(delay.hops for delay in delays)
    assert delays[0].mean_ms < delays[-1].mean_ms
