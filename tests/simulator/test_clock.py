from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.sim.clock import Agenda, Chance, Clock, chances


def test_what_falls_on_one_moment_happens_in_the_order_it_was_put_in() -> None:
    agenda = Agenda()
    seen: list[str] = []
    for name in ("first", "second", "third"):
        agenda.put(1.0, seen.append, name)
    agenda.put(0.5, seen.append, "earlier")
    agenda.run(2.0)
    assert seen == ["earlier", "first", "second", "third"]
    assert agenda.now == 2.0


def test_the_past_is_now_and_what_is_put_in_meanwhile_happens_too() -> None:
    agenda = Agenda()
    seen: list[float] = []
    agenda.put(1.0, lambda _: agenda.put(0.2, lambda _: seen.append(agenda.now)))
    agenda.put(3.0, lambda _: seen.append(agenda.now))
    agenda.run(2.0)
    assert seen == [1.0]
    agenda.run(3.0)
    assert seen == [1.0, 3.0]


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0.5, 2), st.floats(-5, 5)), max_size=8))
def test_a_clock_never_goes_back_whatever_is_done_to_it(skews: list[tuple[float, float, float]]) -> None:
    clock = Clock(7.0)
    true = 0.0
    last = clock.read(true)
    for wait, rate, jump in skews:
        true += wait
        for at in (true, true):
            assert clock.read(at) >= last
            last = clock.read(at)
            clock.skew(true, rate, jump)


def test_a_slow_clock_waits_longer_in_true_time() -> None:
    clock = Clock(100.0, 0.5)
    assert clock.wait(1.0) == 2.0
    assert clock.read(clock.wait(1.0)) == pytest.approx(101.0)


def test_concerns_draw_apart_from_each_other() -> None:
    both, alone = chances(3, "a", "b"), chances(3, "b")
    Chance(both["a"]).between(0, 1)
    assert both["b"].random() == alone["b"].random()
    assert chances(3, "a")["a"].random() != chances(3, "b")["b"].random()
    assert chances(3, "a")["a"].random() != chances(4, "a")["a"].random()


def test_certainty_draws_nothing() -> None:
    chance = Chance(chances(1, "a")["a"])
    same = Chance(chances(1, "a")["a"])
    assert not chance.happens(0.0)
    assert chance.happens(1.0)
    assert chance() == same()
