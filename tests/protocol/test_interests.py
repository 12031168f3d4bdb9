"""What a gateway asks the coordinator for, and what that lets it promise."""

from __future__ import annotations

import pytest

from semcast.model.message import ProfileText
from semcast.protocol.gateway.interests import InterestSet
from semcast.protocol.wire.frames import Live, Noted, Wish
from tests.protocol.playbook import SETTINGS, topic

WIDE, NARROW, APART = topic("a"), topic("a/b"), topic("z")


def live(serial: int, at: int = 10, unsure: tuple[str, ...] = (), late: tuple[tuple[int, float], ...] = ()) -> Live:
    return Live(1, 1, serial, serial, (("s", at),), unsure, late)


def made(*profiles: ProfileText) -> InterestSet:
    interests = InterestSet("g0", SETTINGS, 1)
    interests.need(profiles)
    return interests


def at(interests: InterestSet, profile: ProfileText) -> int | None:
    """Behind which position a profile is served."""
    found = interests.serves(profile)
    return dict(found.positions)["s"] if found is not None else None


def said(interests: InterestSet, now: float = 0.0) -> list[Wish]:
    return [wish for _, frame in interests.says(["c"], now) for wish in frame.changes]


@pytest.fixture
def interests() -> InterestSet:
    """``a`` is live behind 10."""
    found = made(WIDE)
    assert said(found) == [Wish(WIDE)]
    assert found.confirm(live(1), "c") == [WIDE]
    return found


def test_a_profile_serves_nobody_before_it_is_live() -> None:
    interests = made(WIDE)
    assert (interests.serial, list(interests.profiles)) == (1, [WIDE])
    assert interests.serves(WIDE) is None
    interests.confirm(live(1), "c")
    assert at(interests, WIDE) == 10


def test_what_a_live_profile_covers_is_served_at_once_and_not_asked_for(interests: InterestSet) -> None:
    interests.need([NARROW])
    assert said(interests) == []
    assert list(interests.profiles) == [WIDE]
    assert at(interests, NARROW) == 10


def test_what_a_profile_covers_that_is_not_live_yet_is_asked_for() -> None:
    interests = made(WIDE)
    interests.need([NARROW])
    assert list(interests.profiles) == [WIDE, NARROW]
    assert interests.serves(NARROW) is None


def test_what_nobody_needs_any_more_is_given_up(interests: InterestSet) -> None:
    interests.need([APART])
    interests.confirm(live(2, 20), "c")
    interests.drop(WIDE)
    assert said(interests) == [Wish(WIDE, False)]
    assert list(interests.profiles) == [APART]
    assert interests.serves(WIDE) is None
    assert at(interests, APART) == 20


def test_a_covering_profile_stays_until_those_that_lived_on_it_are_live_by_themselves(interests: InterestSet) -> None:
    interests.need([NARROW])
    interests.drop(WIDE)
    assert interests.unsettled
    interests.settle()
    assert said(interests) == [Wish(NARROW)]
    assert at(interests, NARROW) == 10
    interests.confirm(live(2, 20), "c")
    assert said(interests) == [Wish(WIDE, False)]
    assert list(interests.profiles) == [NARROW]
    assert at(interests, NARROW) == 20


def test_who_lived_on_a_profile_that_leaves_moves_to_another_that_is_live(interests: InterestSet) -> None:
    interests.need([topic("a/b/c")])  # which lives on the first
    interests.need([APART])
    interests.confirm(live(2, 20), "c")
    interests.drop(WIDE)
    interests.need([NARROW])  # which is asked for, since nothing that stays covers it
    interests.confirm(live(3, 30), "c")
    interests.settle()
    assert at(interests, topic("a/b/c")) == 30
    assert said(interests)[-1] == Wish(WIDE, False)


def test_a_profile_that_was_to_leave_and_is_needed_again_stays(interests: InterestSet) -> None:
    interests.need([NARROW])
    interests.drop(WIDE)
    interests.need([WIDE])
    interests.settle()
    assert said(interests) == []
    assert at(interests, WIDE) == at(interests, NARROW) == 10


def test_positions_of_what_was_live_before_stay_as_they_were(interests: InterestSet) -> None:
    interests.need([APART])
    interests.confirm(live(2, 20), "c")
    assert (at(interests, WIDE), at(interests, APART)) == (10, 20)


def test_a_profile_that_is_to_leave_promises_nothing_more(interests: InterestSet) -> None:
    interests.drop(WIDE)
    interests.need([NARROW])
    assert interests.serves(WIDE) is None
    assert interests.serves(NARROW) is None


def test_a_profile_that_was_given_up_and_comes_back_is_live_from_where_it_came_back(interests: InterestSet) -> None:
    interests.drop(WIDE)
    interests.need([WIDE])
    assert interests.serves(WIDE) is None  # the coordinator may have let it go in between
    interests.confirm(live(2, 20), "c")
    assert interests.serves(WIDE) is None
    interests.confirm(live(3, 30), "c")
    assert at(interests, WIDE) == 30


def test_word_of_an_older_serial_confirms_nothing_newer(interests: InterestSet) -> None:
    interests.need([APART])
    interests.confirm(live(1, 99), "c")
    assert interests.serves(APART) is None
    interests.confirm(live(7, 99), "c")  # never said
    assert interests.serves(APART) is None


def test_word_to_an_earlier_life_counts_for_nothing() -> None:
    interests = made(WIDE)
    interests.confirm(Live(1, 0, 1, 1, (("s", 5),)), "c")
    interests.note(Noted(1, 0, 1), "c")
    assert interests.serves(WIDE) is None
    assert said(interests) == [Wish(WIDE)]


def test_another_bound_is_news_to_the_coordinator_and_the_profile_stays_live(interests: InterestSet) -> None:
    interests.bound(WIDE, 50.0)
    interests.bound(WIDE, 50.0)
    assert said(interests) == [Wish(WIDE, True, 50.0)]
    assert at(interests, WIDE) == 10
    interests.confirm(live(2, 20, late=((2, 80.0),)), "c")
    assert (at(interests, WIDE), interests.late(WIDE)) == (10, 80.0)


def test_many_changes_travel_in_frames_of_bounded_size_and_not_all_at_once() -> None:
    interests = made(*[topic(f"t{number}") for number in range(9000)])
    frames = [frame for _, frame in interests.says(["c"], 0.0)]
    assert [frame.first for frame in frames] == list(range(1, 4001, 250))
    assert interests.says(["c"], 0.0) == []
    interests.note(Noted(1, 1, 2500), "c")
    assert [frame.first for _, frame in interests.says(["c"], 0.1)] == list(range(4001, 6501, 250))


def test_twenty_thousand_that_lived_on_one_move_some_at_a_time(interests: InterestSet) -> None:
    interests.need([topic(f"a/{number}") for number in range(200)])
    assert list(interests.profiles) == [WIDE]
    interests.drop(WIDE)
    steps = 0
    while interests.unsettled:
        interests.settle()
        steps += 1
    assert steps >= 4
    assert len(interests.profiles) == 201
    interests.confirm(live(201, 20), "c")
    assert len(interests.profiles) == 200
