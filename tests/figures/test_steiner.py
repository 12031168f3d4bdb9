"""The shape of the Steiner measurement: what it must show whatever the machine."""

from __future__ import annotations

from semcast_experiments.figures.steiner import ALGORITHMS, cells, tries
from tests.laws.steiner_worlds import random_graph


def test_local_search_stays_within_the_promised_distance_of_the_bound() -> None:
    graphs = [("random", random_graph(600, 1800, seed)) for seed in range(2)]
    summed = cells(tries(graphs, [40, 70], 2))
    assert [cell.algorithm for cell in summed] == [*ALGORITHMS] * 2
    assert all(cell.trees == 4 for cell in summed)
    for count, promised in ((40, 0.06), (70, 0.04)):
        gaps = {cell.algorithm: cell.mean_gap for cell in summed if cell.terminals == count}
        assert 0 <= gaps["local search"] <= promised
        assert gaps["local search"] <= gaps["local search, quick"] <= gaps["Takahashi–Matsuyama"]
        assert gaps["Takahashi–Matsuyama"] < gaps["shortest paths"]
