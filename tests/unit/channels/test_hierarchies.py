"""Containment hierarchies: the papers' example, and what their text leaves open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semcast.channels.channelize import channelize
from semcast.channels.hierarchy import (
    candidates,
    cost_based,
    rate_based,
    representatives,
)
from semcast.channels.overlap import Overlap, overlap
from semcast.channels.selectivity import Selectivity
from tests.laws.channel_worlds import matches_of

TABLE_1 = np.array(
    [
        [1, 0, 0, 0, 1, 1, 0],
        [0, 1, 0.4, 0.5, 0, 0, 0],
        [0, 1, 1, 0.6, 0, 0, 0],
        [0, 1, 1, 1, 0, 1, 1],
        [0.8, 0, 0, 0, 1, 0, 0],
        [0.2, 0, 0, 0.4, 0, 1, 1],
        [0, 0, 0, 0.2, 0, 0.5, 1],
    ]
)
"""As both papers print it: the transpose of what their text says."""


def best_parents(overlaps: NDArray[np.float64], noise: NDArray[np.float64]) -> dict[int, int]:
    """2004's rule on a whole matrix: j = argmax O[j, i] / r_{j-i} over those with O[i, j] = 1; roots are left out.

    ``overlaps`` and ``noise`` are dense (noise[j, i] is r_{j-i}); for worked examples such as Table 1.
    """
    found: dict[int, int] = {}
    for i in range(len(overlaps)):
        above = [j for j in range(len(overlaps)) if j != i and overlaps[i, j] == 1]
        if above:
            found[i] = max(above, key=lambda j: (overlaps[j, i] / noise[j, i], -j))
    return found


def test_table_1_gives_figure_2() -> None:
    found = best_parents(TABLE_1.T, np.ones((7, 7)))
    assert {child + 1: parent + 1 for child, parent in found.items()} == {2: 4, 3: 4, 5: 1, 6: 4, 7: 6}


def _statistics(matched: list[set[int]], profiles: int) -> tuple[Selectivity, Overlap]:
    selectivity = Selectivity.of(matches_of(matched), profiles)
    return selectivity, overlap(selectivity)


def test_a_profile_hangs_below_the_one_that_fits_it_best() -> None:
    # 2 is in 1 and in 0; 1 matches little else.
    selectivity, matrix = _statistics([{0, 1, 2}, {0, 1, 2}, {0, 1}, {0}, {0}, {0}], 3)
    choices = candidates(matrix, selectivity.rates, selectivity.total)
    assert [candidate.parent for candidate in choices[2]] == [1, 0]
    (made,) = rate_based(choices, selectivity.counts, [1, 1, 1])
    assert (made.root, made.parents) == (0, {1: 0, 2: 1})


def test_profiles_that_matched_the_same_are_one_class_with_one_representative() -> None:
    selectivity, matrix = _statistics([{0, 1, 2}, {0, 1, 2}, {2}], 4)
    assert representatives(matrix).tolist() == [0, 0, 2, 3]
    choices = candidates(matrix, selectivity.rates, selectivity.total)
    assert [[c.parent for c in own] for own in choices] == [[2], [0], [], []]


def test_a_hierarchy_splits_when_a_profile_is_no_longer_covered() -> None:
    """2004 §3.2.2: P2 is covered by P4 first, then matches something of its own."""
    before = [{1, 3}, {1, 2, 3}, {2, 3}, {3}, {0}]
    after = [*before, {1}]
    roots = []
    for matched in (before, after):
        selectivity, matrix = _statistics(matched, 4)
        made = rate_based(candidates(matrix, selectivity.rates, selectivity.total), selectivity.counts, [1] * 4)
        roots.append(sorted(hierarchy.root for hierarchy in made))
    assert roots == [[0, 3], [0, 1, 3]]


def test_a_child_gets_a_channel_of_its_own_where_that_is_cheaper() -> None:
    # 1 is in 0 but rare, and its gateway is far from 0's: every message of 0 would go there.
    matched = [{0, 1}] + [{0}] * 9
    selectivity, matrix = _statistics(matched, 2)
    choices = candidates(matrix, selectivity.rates, selectivity.total)
    far = cost_based(choices, selectivity.rates, selectivity.counts, [1, 2], lambda g, _: {1: 3.0, 2: 3.0, 3: 9.0}[g])
    near = cost_based(choices, selectivity.rates, selectivity.counts, [1, 2], lambda g, _: {1: 3.0, 2: 3.0, 3: 3.1}[g])
    assert [hierarchy.profiles for hierarchy in far] == [[0], [1]]
    assert [hierarchy.profiles for hierarchy in near] == [[0, 1]]


def test_a_profile_that_matched_nothing_has_a_channel_unless_one_covers_it_and_reaches_its_gateways() -> None:
    selectivity, matrix = _statistics([{0}], 3)
    choices = candidates(matrix, selectivity.rates, selectivity.total)

    def made(covers: bool) -> list[list[int]]:
        found = cost_based(
            choices, selectivity.rates, selectivity.counts, [3, 1, 4], lambda g, _: g.bit_count(), lambda j, i: covers
        )
        return [hierarchy.profiles for hierarchy in found]

    assert made(False) == [[0], [1], [2]]
    assert made(True) == [[0, 1], [2]], "2's gateway is not reached by 0's tree"


def test_2004_merges_above_a_threshold_and_only_where_little_is_not_shared() -> None:
    from semcast.channels.channelize import Settings

    matched = [{0, 1}] * 6 + [{0}] * 2 + [{1}] * 2 + [{2}]
    selectivity = Selectivity.of(matches_of(matched), 3)

    def channels(threshold: float, max_noise: float) -> list[tuple[int, ...]]:
        settings = Settings(threshold=threshold, max_noise=max_noise)
        return channelize("semcast-threshold", selectivity, [1, 2, 4], lambda g, _: 5.0, settings=settings).profiles

    assert channels(0.7, 0.5) == [(0, 1), (2,)]
    assert channels(0.8, 0.5) == [(0,), (1,), (2,)], "they share 75 %"
    assert channels(0.7, 0.3) == [(0,), (1,), (2,)], "40 % of what they match is matched by one of them"
