"""What a gateway asks the coordinator for, and what that lets it promise."""

from __future__ import annotations

import pytest

from semcast.protocol.gateway import interests as module
from semcast.protocol.gateway.interests import InterestSet
from semcast.protocol.profile_texts import covers
from semcast.protocol.wire.frames import Live
from tests.protocol.playbook import topic

WIDE, NARROW, APART = topic("a"), topic("a/b"), topic("z")


def live(serial: int, at: int = 10, unsure: tuple[str, ...] = ()) -> Live:
    return Live(1, 1, serial, serial, (("s", at),), unsure)


def ask(interests: InterestSet, *profiles: object) -> bool:
    return interests.settle(dict.fromkeys(profiles))  # type: ignore[misc]


@pytest.fixture
def interests() -> InterestSet:
    """``a`` is live behind 10."""
    made = InterestSet()
    ask(made, WIDE)
    made.confirm(live(1))
    return made


def test_a_profile_serves_nobody_before_it_is_live() -> None:
    made = InterestSet()
    assert ask(made, WIDE)
    assert (made.serial, made.profiles, made.pending) == (1, (WIDE,), True)
    assert made.serves(WIDE) is None
    made.confirm(live(1))
    assert not made.pending
    assert made.serves(WIDE) == {"s": 10}


def test_what_a_live_profile_covers_is_served_at_once_and_not_asked_for(interests: InterestSet) -> None:
    assert not ask(interests, WIDE, NARROW)
    assert interests.profiles == (WIDE,)
    assert interests.serves(NARROW) == {"s": 10}


def test_what_a_profile_covers_that_is_not_live_yet_is_asked_for() -> None:
    made = InterestSet()
    ask(made, WIDE)
    assert ask(made, WIDE, NARROW)
    assert set(made.profiles) == {WIDE, NARROW}
    assert made.serves(NARROW) is None


def test_what_nobody_needs_any_more_is_given_up(interests: InterestSet) -> None:
    ask(interests, WIDE, APART)
    interests.confirm(live(2, 20))
    assert ask(interests, APART)
    assert interests.profiles == (APART,)
    assert interests.serves(WIDE) is None
    assert interests.serves(APART) == {"s": 20}


def test_a_covering_profile_stays_until_those_that_lived_on_it_are_live_by_themselves(interests: InterestSet) -> None:
    ask(interests, WIDE, NARROW)
    assert ask(interests, NARROW)
    assert set(interests.profiles) == {WIDE, NARROW}
    assert interests.serves(NARROW) == {"s": 10}
    interests.confirm(live(2, 20))
    assert ask(interests, NARROW)
    assert interests.profiles == (NARROW,)
    assert interests.serves(NARROW) == {"s": 20}


def test_positions_of_what_was_live_before_stay_as_they_were(interests: InterestSet) -> None:
    ask(interests, WIDE, APART)
    interests.confirm(live(2, 20))
    assert interests.serves(WIDE) == {"s": 10}
    assert interests.serves(APART) == {"s": 20}


def test_a_profile_that_is_to_leave_promises_nothing_more(interests: InterestSet) -> None:
    ask(interests, APART)
    assert interests.serves(WIDE) is None
    assert interests.serves(NARROW) is None


def test_a_profile_that_was_given_up_and_comes_back_is_live_from_where_it_came_back(interests: InterestSet) -> None:
    ask(interests, APART)
    ask(interests, WIDE)
    assert interests.serves(WIDE) is None  # the coordinator may have let it go in between
    interests.confirm(live(3, 30))
    assert interests.serves(WIDE) == {"s": 30}


def test_word_of_an_older_serial_confirms_nothing_newer(interests: InterestSet) -> None:
    ask(interests, WIDE, APART)
    interests.confirm(live(1, 99))
    assert interests.pending
    assert interests.serves(APART) is None
    interests.confirm(live(7, 99))  # never said
    assert interests.serves(APART) is None


def test_sources_that_may_not_have_known_are_named_with_the_plan_they_have_to_follow() -> None:
    made = InterestSet()
    ask(made, WIDE)
    made.confirm(live(1, unsure=("s",)))
    assert made.unsure(NARROW) == {"s": 1}
    assert made.unsure(APART) == {}


def test_another_bound_is_news_to_the_coordinator(interests: InterestSet) -> None:
    assert interests.settle({WIDE: 50.0})
    assert (interests.profiles, interests.bounds) == ((WIDE,), (50.0,))
    assert not interests.settle({WIDE: 50.0})


def test_what_covers_a_profile_is_sought_once_and_again_when_it_leaves(
    interests: InterestSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    sought: list[object] = []
    monkeypatch.setattr(module, "covers", lambda wide, narrow: sought.append(wide) or covers(wide, narrow))
    ask(interests, WIDE, NARROW)
    assert sought == [WIDE]
    ask(interests, WIDE, NARROW, APART)
    interests.confirm(live(2, 20))
    assert sought == [WIDE, WIDE]  # whether it covers the one that came
    ask(interests, WIDE, NARROW, APART)
    assert sought == [WIDE, WIDE]
    assert ask(interests, NARROW, APART)
    assert set(interests.profiles) == {WIDE, NARROW, APART}
