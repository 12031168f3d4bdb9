"""One subscription: pending, filling, following; bounded in everything."""

from __future__ import annotations

import pytest

from semcast.protocol.contract import Command
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.sessions import Session
from semcast.protocol.wire.frames import Attach, Caught, Deliver, Gap, Progress
from tests.protocol.playbook import body, frames, only, sends, topic

A, B = topic("a"), topic("b")


def inbox(at: int = 10) -> Inbox:
    made = Inbox("s", 64)
    made.caught(Caught("s", 1, 1, at, at, 0, epoch=1))
    return made


def session(*, room: int = 4, base: int = 0, **options: object) -> Session:
    return Session(Attach("x", A, **options), "sub", base, room, 60.0, 0.0)  # type: ignore[arg-type]


def offer(held: Session, *numbers: int) -> list[int]:
    commands: list[Command] = []
    for number in numbers:
        commands += held.offer("s", number, body(), {A})
    return delivered(commands)


def delivered(commands: list[Command]) -> list[int]:
    return [frame.number for frame in frames(commands, Deliver)]


@pytest.fixture
def following() -> Session:
    """Live behind 10, with room for four."""
    made = session()
    made.go_live({"s": 10}, {"s": inbox()}, {})
    return made


# --- pending


def test_while_pending_a_bounded_number_waits_and_the_rest_is_filled_in() -> None:
    held = session(room=2)
    assert offer(held, 11, 12, 13) == []
    assert held.waiting == 2
    held.go_live({"s": 10}, {"s": inbox()}, {})
    assert held.to_fill("s") == (A, 10)  # 13 had no room
    assert delivered(held.filled("s", {11: b"", 12: b"", 13: b""}, 13, 0)) == [11, 12]
    held.taken(2, 1.0)
    assert delivered(held.filled("s", {11: b"", 12: b"", 13: b""}, 13, 0)) == [13]


def test_what_waited_is_released_when_the_position_is_known() -> None:
    held = session()
    offer(held, 9, 11, 12)
    held.go_live({"s": 10}, {"s": inbox()}, {})
    assert delivered(held.release("s", 10)) == [11, 12]


def test_a_session_from_the_past_is_filled_before_it_follows() -> None:
    held = session(start="earliest")
    held.go_live({"s": 10}, {"s": inbox()}, {})
    assert held.to_fill("s") == (A, 0)
    assert offer(held, 11) == []
    assert delivered(held.filled("s", {3: b"", 7: b""}, 8, 0)) == [3, 7]
    assert not held.caught_up(inbox())  # 9 and 10 are to come
    held.taken(99, 1.0)
    assert delivered(held.filled("s", {9: b"", 11: b""}, 11, 0)) == [9, 11]
    assert held.caught_up(inbox())
    assert held.release("s", 10) == []  # 11 was among them
    assert offer(held, 12) == [12]


def test_a_source_that_appears_later_is_followed_from_its_beginning(following: Session) -> None:
    late = Inbox("t", 64)
    late.caught(Caught("t", 1, 1, 0, 0, 0))
    following.meet(late)
    assert following.positions == {"s": 10, "t": 0}
    assert delivered(following.offer("t", 1, b"", {A})) == [1]


# --- following, and not keeping up


def test_what_matches_is_sent_with_the_next_sequence_number(following: Session) -> None:
    assert sends(following.offer("s", 11, b"x", {A}), Deliver) == [("sub", Deliver("x", 1, "s", 11, b"x"))]
    assert following.offer("s", 12, b"x", {B}) == []
    assert sends(following.offer("s", 13, b"x", {A, B}), Deliver) == [("sub", Deliver("x", 2, "s", 13, b"x"))]


def test_a_client_that_takes_nothing_gets_no_more_than_it_has_room_for(following: Session) -> None:
    assert offer(following, 11, 12, 13, 14, 15, 16) == [11, 12, 13, 14]
    assert following.waiting == 5  # four that it has not taken, and one that came after it fell behind
    assert following.to_fill("s") is None  # no room: the log is not asked in vain
    following.taken(2, 1.0)
    assert following.to_fill("s") == (A, 10)
    assert delivered(following.filled("s", dict.fromkeys(range(11, 17), b""), 16, 0)) == [15, 16]


def test_after_a_fill_has_caught_up_arrivals_are_followed_again(following: Session) -> None:
    offer(following, 11, 12, 13, 14, 15)
    following.taken(4, 1.0)
    assert offer(following, 16) == []
    following.filled("s", {}, 14, 0)
    assert not following.caught_up(inbox())  # 15 had no room
    following.filled("s", {15: b""}, 15, 0)
    assert following.caught_up(inbox())
    following.taken(99, 1.0)
    assert delivered(following.release("s", 10)) == [16]
    assert offer(following, 17) == [17]


def test_an_ordered_session_holds_a_bounded_number_and_fills_in_the_rest() -> None:
    held = session(room=2, ordered=True)
    held.go_live({"s": 10}, {"s": inbox()}, {})
    assert offer(held, 12, 13, 14) == []
    assert held.waiting == 0
    assert held.to_fill("s") == (A, 10)
    assert delivered(held.filled("s", {11: b"", 12: b""}, 12, 0)) == [11, 12]


def test_what_is_released_beyond_the_room_is_filled_in_later() -> None:
    held = session(room=3, ordered=True)
    held.go_live({"s": 10}, {"s": inbox()}, {})
    offer(held, 11, 12)
    assert delivered(held.release("s", 12)) == [11, 12]
    offer(held, 13, 14)
    assert delivered(held.release("s", 14)) == [13]
    assert held.to_fill("s") is None
    held.taken(3, 1.0)
    assert delivered(held.filled("s", dict.fromkeys((11, 12, 13, 14), b""), 14, 0)) == [14]


def test_siblings_do_not_wait(following: Session) -> None:
    slow = session(room=1)
    slow.go_live({"s": 10}, {"s": inbox()}, {})
    assert [offer(held, 11, 12) for held in (slow, following)] == [[11], [11, 12]]


# --- progress and what was taken


def test_progress_is_told_once_and_counts_when_it_is_taken(following: Session) -> None:
    offer(following, 11)
    assert only(following.progress("s", 12), Progress) == Progress("x", 2, "s", 12)
    assert following.progress("s", 12) == []
    assert following.needed("s", 20) == 10
    following.taken(1, 1.0)
    assert following.needed("s", 20) == 10
    following.taken(2, 1.0)
    assert following.needed("s", 20) == 12
    assert following.needed("s", 11) == 11


def test_a_message_that_was_sent_or_passed_is_not_sent_again(following: Session) -> None:
    assert offer(following, 11, 13) == [11, 13]
    following.progress("s", 12)
    assert offer(following, 11, 12, 13) == []


def test_what_is_not_taken_is_said_again_in_order(following: Session) -> None:
    offer(following, 11, 12)
    following.progress("s", 12)
    following.taken(1, 1.0)
    again = following.resend(2.0, 0.5)
    assert [frame.sequence for frame in frames(again, object)] == [2, 3]  # type: ignore[attr-defined]
    assert following.resend(2.1, 0.5) == []


def test_a_gap_drops_what_waits_for_what_will_never_come() -> None:
    held = session(ordered=True)
    held.go_live({"s": 10}, {"s": inbox()}, {})
    offer(held, 15, 25)
    assert only(held.gap("s", 20, 10), Gap) == Gap("x", 1, "s", 10, 20)
    assert delivered(held.release("s", 30)) == [25]
    assert held.gap("s", 20, 10) == []


# --- replacing


def ask_instead(held: Session, text: str) -> None:
    held.next = Attach("x", topic(text), version=held.attach.version + 1, ordered=held.attach.ordered)


def test_a_replacement_counts_behind_its_position_and_the_old_profile_before(following: Session) -> None:
    ask_instead(following, "b")
    assert delivered(following.offer("s", 14, b"", {B})) == []
    following.go_live({"s": 12}, {"s": inbox()}, {})
    assert (following.profile, following.positions) == (B, {"s": 12})
    assert following.profiles() == [B, A]
    assert delivered(following.release("s", 10)) == [14]
    assert delivered(following.offer("s", 11, b"", {A})) == [11]
    assert following.offer("s", 12, b"", {B}) == []
    assert following.offer("s", 13, b"", {A}) == []
    assert delivered(following.offer("s", 13, b"", {A, B})) == [13]


def test_the_old_profile_is_forgotten_when_nothing_can_come_that_it_counts_for(following: Session) -> None:
    ask_instead(following, "b")
    following.go_live({"s": 12}, {"s": inbox()}, {})
    following.progress("s", 11)
    assert not following.settle({"s": 30})
    following.progress("s", 12)
    assert not following.settle({"s": 11})
    assert following.settle({"s": 12})
    assert following.profiles() == [B]


def test_the_old_profile_of_who_comes_from_elsewhere_counts_until_the_session_is_live_here_and_beyond_it() -> None:
    held = session(cursor=(("s", 11),), before=B, until=(("s", 14),), ordered=True)
    assert not held.settle({"s": 30})  # whatever the gateway has: nothing of it was sent yet
    held.go_live({"s": 20}, {"s": inbox(30)}, {})
    assert held.to_fill("s") == (B, 11)
    held.filled("s", {13: b""}, 20, 0)
    assert held.settle({"s": 30})


def test_a_fill_does_not_mix_the_profiles_of_before_and_after() -> None:
    held = session(start="earliest", room=9)
    held.go_live({"s": 10}, {"s": inbox()}, {})
    ask_instead(held, "b")
    held.go_live({"s": 12}, {"s": inbox()}, {})
    assert held.to_fill("s") == (A, 0)
    commands = held.filled("s", {11: b"", 15: b""}, 20, 0)
    assert delivered(commands) == [11]
    assert only(commands, Progress).through == 12
    assert held.to_fill("s") == (B, 12)


def test_a_second_replacement_waits_until_the_client_has_what_the_first_one_ended() -> None:
    held = session(start="earliest", room=9)
    held.go_live({"s": 10}, {"s": inbox()}, {})
    ask_instead(held, "b")
    held.go_live({"s": 12}, {"s": inbox()}, {})
    ask_instead(held, "c")
    assert held.asked is None
    assert delivered(held.filled("s", {3: b"", 12: b""}, 12, 0)) == [3, 12]
    assert held.asked is held.next


def test_a_pending_profile_can_be_replaced_before_it_was_ever_live() -> None:
    held = session()
    ask_instead(held, "b")
    assert held.asked is held.next
    held.go_live({"s": 10}, {"s": inbox()}, {})
    assert (held.profile, held.next, held.before) == (B, None, None)
