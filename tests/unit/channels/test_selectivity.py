"""The selectivity matrix: windows that slide and fade."""

from __future__ import annotations

import numpy as np
import pytest

from semcast.channels.overlap import overlap
from semcast.channels.selectivity import Selectivity, Window
from tests.laws.channel_worlds import matches_of


def test_the_oldest_samples_slide_out() -> None:
    window: Window[str] = Window(3)
    window.add(0.0, ["a", "b"], matches_of([{0}, {1}]))
    window.add(1.0, ["c", "d"], matches_of([{0, 1}, set()]))
    assert [sample.body for sample in window.samples] == ["b", "c", "d"]
    assert window.selectivity(1.0).counts.tolist() == [1, 2]
    for second in range(2, 30):
        window.add(float(second), ["x"], matches_of([{0}]))
    assert window.selectivity(30.0, profiles=4).counts.tolist() == [3, 0, 0, 0]


def test_a_sample_counts_half_after_its_half_life() -> None:
    window: Window[str] = Window(10, half_life_s=5.0)
    window.add(0.0, ["old"], matches_of([{0}]))
    window.add(5.0, ["new"], matches_of([{1}]))
    found = window.selectivity(5.0)
    assert found.weights.tolist() == [0.5, 1.0]
    assert found.rates.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_sources_count_by_what_their_samples_stand_for() -> None:
    dense: Window[str] = Window(10, sampling=1.0)
    thin: Window[str] = Window(10, sampling=0.1)
    dense.add(0.0, ["a"] * 10, matches_of([{0}] * 10))
    thin.add(0.0, ["b"], matches_of([{1}]))
    merged = Selectivity.merged([dense.selectivity(0.0, 2), thin.selectivity(0.0, 2)])
    assert merged.rates.tolist() == pytest.approx([0.5, 0.5])


def test_sources_that_know_different_profiles_cannot_be_merged() -> None:
    with pytest.raises(ValueError, match="same profiles"):
        Selectivity.merged([Selectivity.of(matches_of([{0}]), 1), Selectivity.of(matches_of([{0}]), 2)])


def test_a_profile_that_comes_late_is_matched_with_the_kept_messages() -> None:
    window: Window[int] = Window(10)
    window.add(0.0, [1, 2, 3, 4], matches_of([{0}, set(), {0}, set()]))
    assert window.back_fill(1, lambda bodies: [body > 2 for body in bodies]) == 2
    assert window.selectivity(0.0).counts.tolist() == [2, 2]
    assert overlap(window.selectivity(0.0)).matrix()[0, 1] == 0.5


def test_a_window_needs_sensible_settings() -> None:
    for wrong in ({"capacity": 0}, {"capacity": 1, "half_life_s": 0.0}, {"capacity": 1, "sampling": 1.5}):
        with pytest.raises(ValueError, match="a window needs"):
            Window(**wrong)  # type: ignore[arg-type]


def test_totals_that_fade_and_grow_are_those_of_all_messages_weighted() -> None:
    rng = np.random.default_rng(3)
    old, new = ([set(rng.choice(5, rng.integers(0, 4), replace=False).tolist()) for _ in range(20)] for _ in range(2))
    before, after = (Selectivity.of(matches_of(part), 5) for part in (old, new))
    weights = np.concatenate((np.full(20, 0.25), np.ones(20)))
    whole = overlap(Selectivity(matches_of(old + new), 5, weights))
    grown = overlap(before).later(overlap(after), 0.25)
    assert np.allclose(grown.matrix(), whole.matrix())
    assert grown.counts.tolist() == whole.counts.tolist()
    assert grown.others.tolist() == whole.others.tolist()
