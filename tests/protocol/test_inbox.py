"""How a gateway knows that nothing of one source is missing."""

from __future__ import annotations

import pytest

from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.wire.frames import Caught, Key
from tests.protocol.playbook import KEY, OTHER, SETTINGS, tally

BIT = 0
PLAN = {1: frozenset({KEY})}
NEXT = PLAN | {2: frozenset({OTHER})}


def caught(through: int, *counts: tuple[Key, int], first: int = 0, epoch: int = 1, since: int = 0, more: bool = False,
           incarnation: int = 1) -> Caught:  # fmt: skip
    return Caught("s", 1, incarnation, first, through, 0, 0, more, epoch, since, counts)


def missing(inbox: Inbox, now: float = 0.0) -> bool:
    return inbox.missing(now, SETTINGS.grace_s, SETTINGS.silence_s)


@pytest.fixture
def inbox() -> Inbox:
    """Everything through 10 is there; five of it came over the tree of plan 1."""
    made = Inbox("s", window=4)
    made.caught(caught(10, (KEY, 5)))
    return made


# --- silence


def test_a_source_is_silent_only_for_whom_it_had_the_time_to_speak_to(inbox: Inbox) -> None:
    apart = Inbox("s", window=4)
    apart.caught(caught(10))
    for each in (apart, inbox):
        each.heard_at = 0.0
        each.expect(1.9)  # trees are laid to here: for one of the two they are the first
    assert missing(inbox, SETTINGS.silence_s + 0.1)
    assert not missing(apart, SETTINGS.silence_s + 0.1)
    assert missing(apart, SETTINGS.silence_s + 2.0)


# --- counting


def test_nothing_counts_before_the_source_has_said_where_it_stands() -> None:
    made = Inbox("s", window=4)
    assert missing(made)
    assert not made.arrived(KEY, 3)
    made.tally(tally(9, {BIT: 1}), BIT, PLAN, 0)
    assert made.frontier == 0


def test_when_as_many_have_come_as_were_sent_nothing_is_missing(inbox: Inbox) -> None:
    assert inbox.arrived(KEY, 12)
    assert inbox.arrived(KEY, 15)
    inbox.tally(tally(15, {BIT: 7, 1: 99}), BIT, PLAN, 0)
    assert inbox.frontier == 15
    assert inbox.held == 0
    assert not missing(inbox)


def test_when_fewer_have_come_the_frontier_stays_and_the_log_is_asked(inbox: Inbox) -> None:
    inbox.arrived(KEY, 15)
    inbox.tally(tally(15, {BIT: 7}), BIT, PLAN, 0)
    assert (inbox.frontier, inbox.have, inbox.through) == (10, (15,), None)
    assert missing(inbox)


def test_what_came_behind_a_tally_does_not_stand_for_what_is_missing_before_it(inbox: Inbox) -> None:
    inbox.arrived(KEY, 17)
    inbox.tally(tally(15, {BIT: 6}), BIT, PLAN, 0)
    assert inbox.frontier == 10
    assert missing(inbox)


def test_a_message_that_comes_twice_counts_once(inbox: Inbox) -> None:
    assert inbox.arrived(KEY, 12)
    assert not inbox.arrived(KEY, 12)
    inbox.tally(tally(15, {BIT: 7}), BIT, PLAN, 0)
    assert missing(inbox)


def test_a_message_that_comes_over_two_trees_is_new_once_and_counts_on_both() -> None:
    made = Inbox("s", window=4)
    made.caught(caught(10, (KEY, 5), (OTHER, 0)))
    assert made.arrived(KEY, 12)
    assert not made.arrived(OTHER, 12)
    both = {1: frozenset({KEY, OTHER})}
    made.tally(tally(15, {BIT: 6}), BIT, both, 0)
    assert made.frontier == 10  # the other tree has not spoken
    made.tally(tally(14, {BIT: 1}, key=OTHER), BIT, both, 0)
    assert made.frontier == 14
    assert not made.arrived(KEY, 12)


def test_a_tally_from_before_does_not_take_anything_back(inbox: Inbox) -> None:
    inbox.arrived(KEY, 12)
    inbox.tally(tally(15, {BIT: 6}), BIT, PLAN, 0)
    inbox.tally(tally(11, {BIT: 5}), BIT, PLAN, 0)
    assert inbox.frontier == 15
    assert not missing(inbox)


def test_no_more_than_a_window_is_held_above_what_is_missing(inbox: Inbox) -> None:
    assert [inbox.arrived(KEY, number) for number in range(20, 26)] == [True] * 4 + [False] * 2
    assert inbox.held == 4
    inbox.tally(tally(25, {BIT: 11}), BIT, PLAN, 0)  # all six came; two were not taken in
    assert inbox.frontier == 10
    assert missing(inbox)
    assert inbox.arrived(None, 24)  # what the log brings is always taken in


# --- reasons to ask


def test_a_tree_that_lags_behind_another_is_waited_for_and_then_not() -> None:
    made = Inbox("s", window=4)
    made.caught(caught(10, (KEY, 5), (OTHER, 0)))
    made.tally(tally(15, {BIT: 5}), BIT, {1: frozenset({KEY, OTHER})}, 0)
    assert not missing(made, 1.0)
    assert not missing(made, 0.9 + SETTINGS.grace_s)
    assert missing(made, 1.1 + SETTINGS.grace_s)


def test_a_source_that_is_silent_for_long_is_asked(inbox: Inbox) -> None:
    inbox.tally(tally(10, {BIT: 5}), BIT, PLAN, 7.0)
    assert not missing(inbox, 7.0 + SETTINGS.silence_s)
    assert missing(inbox, 7.1 + SETTINGS.silence_s)


def test_a_source_that_has_fallen_counts_anew_and_is_asked(inbox: Inbox) -> None:
    inbox.tally(tally(20, {BIT: 5}, incarnation=2), BIT, PLAN, 0)  # other five than those that came
    assert (inbox.frontier, missing(inbox)) == (10, True)
    inbox.caught(caught(12, (KEY, 0), incarnation=2))
    assert not missing(inbox)
    inbox.tally(tally(30, {BIT: 99}, incarnation=1), BIT, PLAN, 0)  # from its former life
    assert (inbox.frontier, missing(inbox)) == (12, False)


# --- answers of the log


def test_after_a_whole_answer_counting_goes_on_from_where_the_source_stood(inbox: Inbox) -> None:
    inbox.arrived(KEY, 22)
    inbox.tally(tally(20, {BIT: 8}), BIT, PLAN, 0)
    inbox.caught(caught(21, (KEY, 8)))
    assert (inbox.frontier, inbox.have, missing(inbox)) == (21, (22,), False)
    inbox.tally(tally(25, {BIT: 9}), BIT, PLAN, 0)
    assert inbox.frontier == 25


def test_part_of_an_answer_moves_the_frontier_and_leaves_the_question_open(inbox: Inbox) -> None:
    inbox.tally(tally(20, {BIT: 8}), BIT, PLAN, 0)
    inbox.caught(caught(15, more=True))
    assert inbox.frontier == 15
    assert missing(inbox)


def test_an_answer_from_before_a_switch_that_trees_told_of_leaves_the_new_trees_open(inbox: Inbox) -> None:
    inbox.tally(tally(20, {}, key=OTHER, epoch=2, previous=1, since=20), BIT, NEXT, 0)
    inbox.caught(caught(18, (KEY, 5)))  # it was under way when the source switched
    assert inbox.open == {KEY, OTHER}
    inbox.arrived(OTHER, 25)
    inbox.tally(tally(30, {BIT: 2}, key=OTHER, epoch=2, previous=1, since=20), BIT, NEXT, 0)
    assert missing(inbox)


# --- plans


def test_a_switch_opens_new_trees_where_it_took_effect_and_keeps_old_ones_until_their_end(inbox: Inbox) -> None:
    inbox.arrived(OTHER, 22)  # data may be faster than the first tally
    inbox.tally(tally(22, {BIT: 1}, key=OTHER, epoch=2, previous=1, since=20), BIT, NEXT, 0)
    assert (inbox.epoch, inbox.since, inbox.open) == (2, 20, {KEY, OTHER})
    assert inbox.clean(NEXT) == 0
    assert inbox.frontier == 10  # the old tree may still bring something
    inbox.tally(tally(20, {BIT: 5}, epoch=2, previous=1, since=20, final=True), BIT, NEXT, 0)
    assert (inbox.open, inbox.frontier, inbox.clean(NEXT)) == ({OTHER}, 22, 2)


def test_a_gateway_that_leaves_all_trees_has_everything_through_the_switch(inbox: Inbox) -> None:
    away = PLAN | {2: frozenset[Key]()}
    inbox.tally(tally(18, {BIT: 5}, epoch=2, previous=1, since=20), BIT, away, 0)
    assert inbox.frontier == 18
    inbox.tally(tally(20, {BIT: 5}, epoch=2, previous=1, since=20, final=True), BIT, away, 0)
    assert (inbox.open, inbox.frontier, inbox.clean(away)) == (frozenset(), 20, 2)


def test_a_new_tree_of_which_something_is_missing_holds_the_frontier_at_the_switch(inbox: Inbox) -> None:
    inbox.tally(tally(30, {BIT: 1}, key=OTHER, epoch=2, previous=1, since=20), BIT, NEXT, 0)
    inbox.tally(tally(20, {BIT: 5}, epoch=2, previous=1, since=20, final=True), BIT, NEXT, 0)
    assert inbox.frontier == 20


def test_a_final_tally_that_does_not_agree_keeps_the_tree_open(inbox: Inbox) -> None:
    inbox.tally(tally(20, {BIT: 6}, epoch=2, previous=1, since=20, final=True), BIT, NEXT, 0)
    assert inbox.open == {KEY, OTHER}
    assert missing(inbox)


def test_what_came_over_a_new_tree_from_before_the_switch_is_not_counted(inbox: Inbox) -> None:
    inbox.arrived(OTHER, 19)
    inbox.tally(tally(22, {}, key=OTHER, epoch=2, previous=1, since=20), BIT, NEXT, 0)
    inbox.tally(tally(20, {BIT: 5}, epoch=2, previous=1, since=20, final=True), BIT, NEXT, 0)
    assert inbox.frontier == 22


def test_a_plan_that_was_left_out_is_waited_for_and_then_the_log_is_asked(inbox: Inbox) -> None:
    later = NEXT | {3: frozenset({KEY})}
    inbox.tally(tally(30, {BIT: 5}, epoch=3, previous=2, since=25), BIT, later, 1.0)
    assert (inbox.epoch, inbox.frontier) == (1, 10)  # plan 2 may have brought something over the other tree
    assert not missing(inbox, 0.9 + SETTINGS.grace_s)
    assert missing(inbox, 1.1 + SETTINGS.grace_s)
    inbox.caught(caught(30, (KEY, 5), epoch=3, since=25))
    assert (inbox.epoch, inbox.frontier, missing(inbox, 9.0)) == (3, 30, True)


def test_a_plan_of_which_the_coordinator_has_not_told_is_not_followed(inbox: Inbox) -> None:
    inbox.tally(tally(30, {BIT: 5}, epoch=2, previous=1, since=25), BIT, PLAN, 0)
    assert (inbox.epoch, inbox.frontier) == (1, 10)


def test_a_gateway_that_joins_its_first_tree_verifies_what_came_before() -> None:
    made = Inbox("s", window=4)
    made.caught(caught(10, epoch=1))  # on no tree so far
    members: dict[int, frozenset[Key]] = {1: frozenset(), 2: frozenset({OTHER})}
    made.tally(tally(25, {}, key=OTHER, epoch=2, previous=1, since=20), BIT, members, 0)
    assert (made.frontier, made.through, missing(made)) == (10, 20, True)  # somebody may have sent it something
    made.caught(caught(15, more=True, first=10))
    assert (made.frontier, made.through) == (15, 20)
    made.caught(caught(20, more=True, first=15))
    assert (made.frontier, made.through, missing(made)) == (25, None, False)


def test_a_gateway_that_was_taken_off_the_trees_and_put_back_verifies_although_an_old_tree_is_open(
    inbox: Inbox,
) -> None:
    """Taken for dead it gets nothing; what it is owed is in the log, and no tally tells of it."""
    third = ("c2", 3)
    members: dict[int, frozenset[Key]] = PLAN | {2: frozenset(), 3: frozenset({third})}
    inbox.tally(tally(15, {BIT: 5}, epoch=2, previous=1, since=20), BIT, members, 0)
    inbox.tally(tally(20, {BIT: 5}, epoch=3, previous=2, since=30, final=True), BIT, members, 0)
    inbox.tally(tally(35, {}, key=third, epoch=3, previous=2, since=30), BIT, members, 0)
    assert (inbox.frontier, inbox.through, missing(inbox)) == (15, 30, True)
    inbox.caught(caught(30, more=True, first=15))
    assert inbox.frontier == 35


def test_a_gateway_that_was_on_a_tree_need_not_verify_when_it_changes_trees(inbox: Inbox) -> None:
    inbox.tally(tally(22, {}, key=OTHER, epoch=2, previous=1, since=20), BIT, NEXT, 0)
    assert inbox.verify is None


def test_the_epoch_is_not_clean_while_the_gateway_does_not_know_its_trees(inbox: Inbox) -> None:
    assert inbox.clean(PLAN) == 1
    assert inbox.clean({}) == 0


def test_who_is_on_no_tree_of_two_plans_in_turn_does_not_count_as_having_what_came_meanwhile(inbox: Inbox) -> None:
    """It may be away: what it is owed since the first of them waits in the log."""
    members = PLAN | {2: frozenset[Key](), 3: frozenset[Key]()}
    inbox.tally(tally(12, {BIT: 5}, epoch=2, since=12, previous=1), BIT, members, 0)
    inbox.tally(tally(12, {BIT: 5}, epoch=3, since=20, previous=2, final=True), BIT, members, 0)
    assert inbox.open == frozenset()
    assert inbox.frontier == 12
