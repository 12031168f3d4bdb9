"""Subscribers that survive gateways."""

from __future__ import annotations

from itertools import groupby

import pytest

from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.contract import ConfirmTaken, EndSubscription, ReplaceProfile
from semcast.protocol.results import (
    Delivered,
    MessagesLost,
    SessionEnded,
    SessionUnknown,
    SubscriptionRefused,
    WentLive,
)
from semcast.protocol.wire.frames import (
    Attach,
    Attached,
    Deliver,
    Detach,
    Detached,
    Gap,
    Progress,
    ProtocolError,
    Taken,
)
from tests.protocol.playbook import SETTINGS, body, frames, only, play, results, sends, tick, topic

AGAIN = SETTINGS.resend_s + 0.01
DEAD = SETTINGS.dead_s + 0.01
BASE = 1 << 32


def subscriber(*gateways: str, together: bool = False, start: str = "latest", ordered: bool = False) -> Subscriber:
    return Subscriber(
        "sub", "x", gateways or ("g0", "g1"), topic("a"), settings=SETTINGS, together=together, start=start,
        ordered=ordered,
    )  # fmt: skip


def attached(version: int = 0, at: int = 10, base: int = BASE, behind: int | None = None) -> Attached:
    return Attached("x", version, (("s", at),), base, None, (("s", at if behind is None else behind),))


def deliver(sequence: int, number: int) -> Deliver:
    return Deliver("x", BASE + sequence, "s", number, body())


def progress(sequence: int, through: int) -> Progress:
    return Progress("x", BASE + sequence, "s", through)


def delivered(commands: list[object]) -> list[int]:
    return [result.number for result in results(commands, Delivered)]  # type: ignore[arg-type]


@pytest.fixture
def client() -> Subscriber:
    """A subscriber that is live at ``g0`` behind position 10."""
    made = subscriber()
    tick(made, 0)
    play(made, ("g0", attached()))
    return made


# --- attaching


def test_a_subscription_is_asked_for_until_it_is_live() -> None:
    client = subscriber("g0")
    asked = only(tick(client, 0), Attach)
    assert (asked.session, asked.profile, asked.cursor, asked.base) == ("x", topic("a"), (), None)
    assert frames(tick(client, SETTINGS.resend_s / 2), Attach) == []
    assert frames(tick(client, AGAIN), Attach) == [asked]
    live = WentLive(0, {"s": 10}, None)
    assert results(play(client, ("g0", attached())), WentLive) == [live]
    assert frames(tick(client, 9), Attach) == []


def test_live_is_said_once_however_often_it_is_heard(client: Subscriber) -> None:
    assert results(play(client, ("g0", attached())), WentLive) == []


def test_what_does_not_come_from_its_gateway_is_not_heard(client: Subscriber) -> None:
    assert play(client, ("g1", deliver(1, 11))) == []


# --- go back n


def test_frames_are_taken_in_sequence_and_what_was_left_out_is_waited_for(client: Subscriber) -> None:
    assert delivered(play(client, ("g0", deliver(1, 11)))) == [11]
    assert delivered(play(client, ("g0", deliver(3, 13)))) == []
    assert only(tick(client, 1), Taken) == Taken("x", BASE + 1)
    said_again = [("g0", deliver(n, 10 + n)) for n in (2, 3)]
    assert delivered(play(client, *said_again)) == [12, 13]
    assert only(tick(client, 2), Taken) == Taken("x", BASE + 3)


def test_a_frame_that_comes_twice_counts_once(client: Subscriber) -> None:
    assert delivered(play(client, ("g0", deliver(1, 11)), ("g0", deliver(1, 11)))) == [11]


def test_news_are_acknowledged_at_the_next_tick_and_else_now_and_then(client: Subscriber) -> None:
    assert sends(tick(client, 0.1), Taken) == [("g0", Taken("x", BASE))]
    assert sends(tick(client, 0.2), Taken) == []
    play(client, ("g0", deliver(1, 11)))
    assert sends(tick(client, 0.3), Taken) == [("g0", Taken("x", BASE + 1))]
    assert sends(tick(client, 0.4), Taken) == []
    assert sends(tick(client, 0.4 + SETTINGS.beat_s), Taken) == [("g0", Taken("x", BASE + 1))]


def test_sequence_numbers_of_another_life_of_the_session_are_not_mixed_up(client: Subscriber) -> None:
    play(client, ("g0", deliver(1, 11)))
    play(client, ("g0", attached(base=2 * BASE)))
    assert delivered(play(client, ("g0", deliver(2, 12)))) == []
    assert delivered(play(client, ("g0", Deliver("x", 2 * BASE + 1, "s", 12, body())))) == [12]


# --- failing over


def test_a_silent_gateway_is_left_for_the_next_with_cursor_and_what_is_above_it(client: Subscriber) -> None:
    play(client, ("g0", deliver(1, 11)), ("g0", progress(2, 12)), ("g0", deliver(3, 15)), at=1.0)
    assert sends(tick(client, 1.0 + SETTINGS.dead_s - 0.1), Attach) == []
    ((to, asked),) = sends(tick(client, 1.0 + DEAD), Attach)
    assert to == "g1"
    assert (asked.cursor, asked.have, asked.base) == ((("s", 12),), (("s", (15,)),), None)


def test_after_a_failover_nothing_is_delivered_twice(client: Subscriber) -> None:
    play(client, ("g0", deliver(1, 11)), ("g0", progress(2, 12)), ("g0", deliver(3, 15)), at=1.0)
    tick(client, 1.0 + DEAD)
    play(client, ("g1", attached(at=20, behind=12)), at=5.0)
    again = [("g1", deliver(n, number)) for n, number in enumerate((11, 12, 14, 15, 16), 1)]
    assert delivered(play(client, *again, at=5.0)) == [14, 16]


def test_the_last_gateway_is_followed_by_the_first() -> None:
    client = subscriber("g0", "g1")
    asked = [to for at in range(12) for to, _ in sends(tick(client, at), Attach)]
    assert [to for to, _ in groupby(asked)] == ["g0", "g1", "g0", "g1"]


def test_who_has_one_gateway_stays_with_it(client: Subscriber) -> None:
    alone = subscriber("g0")
    assert [to for at in (0, DEAD) for to, _ in sends(tick(alone, at), Attach)] == ["g0", "g0"]


def test_a_gateway_that_does_not_know_the_session_any_more_is_asked_anew(client: Subscriber) -> None:
    play(client, ("g0", deliver(1, 11)), ("g0", progress(2, 12)), at=1.0)
    assert results(
        play(client, ("g0", ProtocolError("the session is not known here", "x", unknown=True)), at=1.0), SessionUnknown
    )
    assert delivered(play(client, ("g0", deliver(3, 13)), at=1.0)) == []  # from before, not in sequence with what comes
    asked = only(tick(client, 1.1), Attach)
    assert (asked.base, asked.cursor) == (None, (("s", 12),))


# --- progress and gaps


def test_progress_moves_the_cursor_and_never_back(client: Subscriber) -> None:
    play(client, ("g0", progress(1, 20)), ("g0", progress(2, 15)))
    assert client.cursor == {"s": 20}


def test_a_gap_is_told_once_and_only_for_what_the_client_lacks(client: Subscriber) -> None:
    play(client, ("g0", progress(1, 20)))
    commands = play(client, ("g0", Gap("x", BASE + 2, "s", 15, 30)), ("g0", Gap("x", BASE + 3, "s", 15, 30)))
    assert results(commands, MessagesLost) == [MessagesLost("s", 20, 30)]
    assert client.cursor == {"s": 30}


def test_who_begins_at_the_earliest_has_a_cursor_from_when_it_is_live() -> None:
    """Without one, a gateway that does not know it would take it for one that was never live."""
    client = subscriber("g0", start="earliest")
    assert only(tick(client, 0), Attach).cursor == ()
    play(client, ("g0", attached(at=10, behind=0)))
    assert client.cursor == {"s": 0}
    assert delivered(play(client, ("g0", deliver(1, 3)))) == [3]
    play(client, ("g0", ProtocolError("not known here")))
    again = only(tick(client, 1), Attach)
    assert (again.cursor, again.have) == ((("s", 0),), (("s", (3,)),))


# --- several gateways together


def test_several_gateways_together_deliver_each_message_once() -> None:
    client = subscriber("g0", "g1", together=True)
    assert [to for to, _ in sends(tick(client, 0), Attach)] == ["g0", "g1"]
    play(client, ("g0", attached()), ("g1", attached()))
    assert delivered(play(client, ("g0", deliver(1, 11)), ("g1", deliver(1, 11)), ("g1", deliver(2, 12)))) == [11, 12]
    assert sends(tick(client, 1), Taken) == [("g0", Taken("x", BASE + 1)), ("g1", Taken("x", BASE + 2))]


def test_a_gateway_that_begins_later_than_the_first_is_asked_to_begin_where_that_one_did() -> None:
    """What it says of its progress would else hide what only the first gateway was to bring."""
    client = subscriber("g0", "g1", together=True)
    tick(client, 0)
    play(client, ("g0", attached(at=10)), ("g1", attached(at=15)))
    play(client, ("g1", progress(1, 20)))
    assert delivered(play(client, ("g0", deliver(1, 12)))) == [12]
    ((to, asked),) = sends(tick(client, AGAIN), Attach)
    assert (to, asked.cursor, asked.base) == ("g1", (("s", 10),), None)
    play(client, ("g1", attached(at=15, base=2 * BASE, behind=10)))
    play(client, ("g1", Progress("x", 2 * BASE + 1, "s", 20)))
    assert client.cursor == {"s": 20}


# --- replacing and leaving


def test_a_replacement_is_asked_for_where_the_client_is_attached(client: Subscriber) -> None:
    play(client, ReplaceProfile(topic("b")))
    asked = only(tick(client, 1), Attach)
    assert (asked.profile, asked.version, asked.before, asked.until, asked.base) == (
        topic("b"), 1, topic("a"), (), BASE,
    )  # fmt: skip
    assert results(play(client, ("g0", attached(0))), WentLive) == []
    (live,) = results(play(client, ("g0", attached(1, at=30, behind=10))), WentLive)
    assert (live.version, live.positions) == (1, {"s": 30})


def test_a_client_that_moves_after_a_replacement_says_where_the_earlier_profile_ended(client: Subscriber) -> None:
    play(client, ReplaceProfile(topic("b")))
    tick(client, 1)
    play(client, ("g0", attached(1, at=30, behind=10)), at=1.0)
    asked = only(tick(client, 1.0 + DEAD), Attach)
    assert (asked.profile, asked.before, asked.until) == (topic("b"), topic("a"), (("s", 30),))


def test_the_earlier_profile_is_forgotten_when_the_cursor_has_passed_its_end(client: Subscriber) -> None:
    play(client, ReplaceProfile(topic("b")))
    tick(client, 1)
    play(client, ("g0", attached(1, at=30, behind=10)), ("g0", progress(1, 30)), at=1.0)
    asked = only(tick(client, 1.0 + DEAD), Attach)
    assert (asked.before, asked.until) == (None, ())


def test_a_second_replacement_is_asked_for_when_the_first_is_over(client: Subscriber) -> None:
    """A gateway is told of one earlier profile; where both were pending, what the first counted for would be lost."""
    play(client, ReplaceProfile(topic("b")))
    play(client, ReplaceProfile(topic("c")))
    play(client, ReplaceProfile(topic("d")))
    assert only(tick(client, 1), Attach).profile == topic("b")
    play(client, ("g0", attached(1, at=30, behind=10)))
    assert frames(tick(client, 2), Attach) == []
    play(client, ("g0", progress(1, 30)))
    asked = only(tick(client, 3), Attach)
    assert (asked.profile, asked.version, asked.before, asked.until) == (topic("d"), 3, topic("b"), ())


def test_what_was_never_live_is_replaced_at_once_and_nothing_is_owed_for_it() -> None:
    client = subscriber("g0")
    tick(client, 0)
    play(client, ReplaceProfile(topic("b")))
    asked = only(tick(client, AGAIN), Attach)
    assert (asked.profile, asked.version, asked.before) == (topic("b"), 1, None)


def test_a_profile_that_goes_live_while_another_is_asked_for_counts_until_that_is_live() -> None:
    client = subscriber("g0", "g1")
    tick(client, 0)
    play(client, ReplaceProfile(topic("b")))
    assert [live.version for live in results(play(client, ("g0", attached(0))), WentLive)] == [0]
    asked = only(tick(client, 0.1 + DEAD), Attach)  # at the other gateway
    assert (asked.profile, asked.before, asked.until, asked.cursor) == (topic("b"), topic("a"), (), (("s", 10),))


def test_a_replacement_that_a_gateway_refuses_can_be_replaced(client: Subscriber) -> None:
    play(client, ReplaceProfile(topic("*")))
    tick(client, 1)
    play(client, ("g0", ProtocolError("session x: no profile")))
    play(client, ReplaceProfile(topic("b")))
    asked = only(tick(client, 2), Attach)
    assert (asked.profile, asked.version, asked.before) == (topic("b"), 2, topic("a"))


def test_leaving_is_said_to_every_gateway_until_that_one_has_heard_it(client: Subscriber) -> None:
    play(client, EndSubscription())
    assert [to for to, _ in sends(tick(client, 1), Detach)] == ["g0", "g1"]
    assert tick(client, 1.1) == []
    assert len(results(play(client, ("g0", Detached("x"))), SessionEnded)) == 1
    assert [to for to, _ in sends(tick(client, 1 + AGAIN), Detach)] == ["g1"]
    assert results(play(client, ("g1", Detached("x"))), SessionEnded) == []
    assert tick(client, 9) == []


def test_who_is_leaving_takes_nothing_more(client: Subscriber) -> None:
    play(client, EndSubscription())
    assert play(client, ("g0", deliver(1, 11))) == []


def test_who_moves_on_ends_his_session_where_he_was(client: Subscriber) -> None:
    assert sends(tick(client, DEAD), Detach) == []  # said at the next tick, when it is elsewhere
    assert [to for to, _ in sends(tick(client, DEAD + 0.1), Detach)] == ["g0"]
    assert results(play(client, ("g0", Detached("x"))), SessionEnded) == []
    assert sends(tick(client, DEAD + 2), Detach) == []


def test_a_message_counts_as_taken_when_the_client_has_done_with_it() -> None:
    made = Subscriber("sub", "x", ("g0",), topic("a"), settings=SETTINGS, confirmed=True)
    tick(made, 0)
    play(made, ("g0", attached()))
    assert delivered(play(made, ("g0", deliver(1, 11)))) == [11]
    play(made, ("g0", progress(2, 12)))
    assert [taken.sequence for taken in frames(tick(made, 1), Taken)] == [BASE]
    play(made, ConfirmTaken())
    assert [taken.sequence for taken in frames(tick(made, 2), Taken)] == [BASE + 2]


def test_who_takes_much_says_so_before_the_gateway_has_to_stop(client: Subscriber) -> None:
    room = SETTINGS.held // 4
    told = [frames(play(client, ("g0", deliver(n, 10 + n))), Taken) for n in range(1, 2 * room + 1)]
    assert [number for number, taken in enumerate(told, 1) if taken] == [room, 2 * room]
    assert told[-1][0].sequence == BASE + 2 * room


def test_a_subscription_can_start_behind_a_message_and_names_how_long_it_lasts() -> None:
    made = Subscriber("sub", "x", ("g0",), topic("a"), settings=SETTINGS, cursor={"s": 5}, expiry_s=9.0)
    attach = only(tick(made, 0), Attach)
    assert (attach.cursor, attach.expiry_s) == ((("s", 5),), 9.0)


def test_who_hears_of_a_later_beginning_than_he_knows_asks_again(client: Subscriber) -> None:
    play(client, ("g0", attached(at=20, base=BASE + 9, behind=20)))
    assert only(tick(client, AGAIN), Attach).cursor == (("s", 10),)


def test_an_error_of_another_session_is_not_heard(client: Subscriber) -> None:
    assert play(client, ("g0", ProtocolError("no profile", "y"))) == []
    assert play(client, ("g0", ProtocolError("no profile", "x"))) == [SubscriptionRefused("no profile")]
