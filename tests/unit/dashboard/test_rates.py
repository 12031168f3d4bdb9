"""From counters to rates."""

from __future__ import annotations

import pytest

from semcast.dashboard.rates import Rates


def test_a_rate_is_the_growth_over_the_window_by_name_and_by_kind() -> None:
    rates = Rates(window_s=10)
    rates.take(100, {("sent", "a"): 5, ("sent", "b"): 0})
    assert rates.per_second("sent") == 0  # one look is no rate
    rates.take(102, {("sent", "a"): 9, ("sent", "b"): 2})
    assert rates.per_second(("sent", "a")) == 2
    assert rates.per_second("sent") == 3
    assert rates.growth("sent") == 6
    assert rates.growth("never heard of") == 0


def test_a_counter_that_begins_anew_counts_from_there() -> None:
    rates = Rates(window_s=10)
    rates.take(0, {("sent", "a"): 1000})
    rates.take(1, {("sent", "a"): 4})
    assert rates.growth("sent") == 4


def test_who_is_gone_and_who_is_new_make_no_jump() -> None:
    rates = Rates(window_s=10)
    rates.take(0, {("sent", "a"): 1000, ("sent", "b"): 10})
    rates.take(1, {("sent", "b"): 12, ("sent", "c"): 500})
    assert rates.growth("sent") == 2
    rates.take(2, {("sent", "a"): 1001, ("sent", "b"): 12, ("sent", "c"): 501})
    assert rates.growth("sent") == 4


def test_what_is_older_than_the_window_counts_no_longer() -> None:
    rates = Rates(window_s=3)
    for at, value in enumerate([0, 100, 100, 100, 100, 100, 106]):
        rates.take(at, {("sent", "a"): value})
    assert rates.per_second("sent") == pytest.approx(2)
