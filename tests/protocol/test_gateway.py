"""Where messages leave: the ways to be live, and what a gateway asks for and acknowledges."""

from __future__ import annotations

from semcast.protocol.contract import Continue, Continued
from semcast.protocol.node import Node
from semcast.protocol.wire.frames import (
    Ack,
    Attached,
    AttachMany,
    Beat,
    Caught,
    Deliver,
    Detach,
    Detached,
    Fetch,
    GatewayChanges,
    Heartbeat,
    Noted,
    Progress,
    ProtocolError,
    Repair,
    Taken,
    Wish,
)
from tests.protocol.gateways import AGAIN, BASE, asked, attach, delivered, joined, live
from tests.protocol.playbook import (
    KEY,
    OTHER,
    body,
    data,
    entry,
    frames,
    gateway_node,
    install,
    only,
    play,
    sends,
    tally,
    tick,
    topic,
)

# --- becoming live


def test_a_subscription_is_pending_until_the_coordinator_says_that_it_is_live() -> None:
    node = joined()
    commands = play(node, ("sub", attach()))
    assert sends(commands, Beat) == [("sub", Beat(0.0))]
    assert sends(commands, GatewayChanges) == [("c", GatewayChanges("g0", 1, 1, (Wish(topic("a")),), 0))]
    assert sends(play(node, ("c", live(at=12))), Attached) == [
        ("sub", Attached("x", 0, (("s", 12),), BASE, None, (("s", 12),)))
    ]


def test_changes_are_said_again_until_they_are_stored_and_asked_for_until_they_are_live() -> None:
    node = joined()
    said = only(play(node, ("sub", attach()), at=1.0), GatewayChanges)
    assert frames(tick(node, 1 + AGAIN / 2), GatewayChanges) == []
    assert frames(tick(node, 1 + AGAIN), GatewayChanges) == [said]
    play(node, ("c", Noted(1, 1, 1)), at=2.0)
    assert frames(tick(node, 1 + 2 * AGAIN), GatewayChanges) == [GatewayChanges("g0", 1, 2, (), 0)]
    play(node, ("c", live()))
    assert frames(tick(node, 9), GatewayChanges) == []


def test_what_a_new_leader_has_not_stored_is_said_to_it_again() -> None:
    node = joined()
    play(node, ("sub", attach()), ("c", Noted(1, 1, 1)), ("sub", attach("y", topic("b"))))
    commands = play(node, ("d", Noted(2, 1, 1)))
    assert sends(commands, GatewayChanges) == [("c", GatewayChanges("g0", 1, 2, (Wish(topic("b")),), 0))]


def test_what_was_left_out_is_said_again_when_it_is_asked_for() -> None:
    node = joined()
    play(node, ("sub", attach()), ("c", Noted(1, 1, 0)), ("sub", attach("y", topic("b"))))
    changes = only(play(node, ("c", Noted(1, 1, 0, again=True))), GatewayChanges)
    assert [wish.profile for wish in changes.changes] == [topic("a"), topic("b")]


def test_what_arrives_before_a_subscription_is_live_counts_from_its_position_on() -> None:
    node = joined()
    play(node, ("sub", attach()))
    assert delivered(play(node, ("m", data(11, 12, 13)))) == []
    assert delivered(play(node, ("c", live(at=11)))) == [12, 13]
    assert delivered(play(node, ("m", data(14)))) == [14]


def test_what_went_by_before_a_client_asked_is_not_promised() -> None:
    node = joined()
    play(node, ("m", data(11, 12)))
    play(node, ("sub", attach()))
    assert only(play(node, ("c", live(at=11))), Attached).positions == (("s", 12),)
    assert delivered(play(node, ("m", data(13)))) == [13]


def test_a_live_word_for_a_former_life_of_the_gateway_is_not_heard() -> None:
    node = joined(incarnation=2)
    play(node, ("sub", attach()))
    assert play(node, ("c", live(incarnation=1))) == []
    assert len(frames(play(node, ("c", live(incarnation=2))), Attached)) == 1


def test_a_live_word_for_something_that_was_never_asked_is_not_heard() -> None:
    node = joined()
    play(node, ("sub", attach()))
    assert play(node, ("c", live(serial=2))) == []


def test_a_covered_profile_is_live_at_once_and_not_before_the_covering_one(gateway: Node) -> None:
    commands = play(gateway, ("other", attach("y", topic("a/b"))))
    assert sends(commands, Attached) == [("other", Attached("y", 0, (("s", 10),), BASE, None, (("s", 10),)))]
    assert asked(gateway, 1) == [topic("a")]
    commands = play(gateway, ("m", data(11, text="a/b")), ("m", data(12, text="a/c")))
    assert (delivered(commands, "x"), delivered(commands, "y")) == ([11, 12], [11])


def test_a_covered_profile_survives_the_leaving_of_the_covering_one(gateway: Node) -> None:
    play(gateway, ("other", attach("y", topic("a/b"))))
    assert sends(play(gateway, ("sub", Detach("x"))), Detached) == [("sub", Detached("x"))]
    assert asked(gateway, 1) == [topic("a"), topic("a/b")]  # make before break
    play(gateway, ("c", live(2, at=20)))
    assert asked(gateway, 2) == [topic("a/b")]
    assert delivered(play(gateway, ("m", data(11, text="a/b"))), "y") == [11]


def test_a_profile_that_makes_no_sense_is_answered_with_an_error() -> None:
    node = joined()
    reason = only(play(node, ("sub", attach(profile=topic("*/a")))), ProtocolError).reason
    assert reason.startswith("the first attribute cannot be a wildcard")
    assert asked(node, 1) == []


def test_equal_profiles_in_different_words_are_asked_for_once() -> None:
    node = joined()
    play(node, ("sub", attach("x", topic("/a"))), ("sub", attach("y", topic("a"))))
    assert asked(node, 1) == [topic("a")]


def test_a_repeated_attach_is_answered_and_begins_nothing_anew(gateway: Node) -> None:
    play(gateway, ("m", data(11)))
    again = play(gateway, ("sub", attach()))
    assert only(again, Attached).base == BASE
    assert delivered(play(gateway, ("m", data(12)))) == [12]


# --- messages


def test_a_session_gets_what_its_profile_matches_once(gateway: Node) -> None:
    assert delivered(play(gateway, ("m", data(11)), ("m", data(12, text="z")), ("m", data(11)))) == [11]


def test_a_message_that_comes_over_two_channels_is_delivered_once() -> None:
    node = gateway_node()
    tables = install(1, entry(KEY, "m", bit=0), entry(OTHER, "m", bit=0), members={1: (KEY, OTHER)}, bit=0)
    play(node, ("c", tables))
    request = only(tick(node, 0), Fetch).request
    play(node, ("s", Caught("s", request, 1, 10, 10, 0, epoch=1, counts=((KEY, 0), (OTHER, 0)))))
    play(node, ("sub", attach()), ("c", live()))
    assert delivered(play(node, ("m", data(11)), ("m", data(11, key=OTHER)), ("m", data(12, key=OTHER)))) == [11, 12]


def test_an_ordered_session_gets_nothing_beyond_what_is_known_to_be_complete() -> None:
    node = joined()
    play(node, ("sub", attach(ordered=True)), ("c", live()))
    assert delivered(play(node, ("m", data(13)), ("m", data(11)))) == []
    assert delivered(play(node, ("m", tally(12, {0: 1})))) == [11]
    assert delivered(play(node, ("m", tally(14, {0: 2})))) == [13]


def test_an_ordered_session_waits_for_what_is_fetched_and_gets_it_first() -> None:
    node = joined()
    play(node, ("sub", attach(ordered=True)), ("c", live()), ("m", data(13)), ("m", tally(14, {0: 2})))
    fetch = only(tick(node, 1), Fetch)
    assert (fetch.first, fetch.have, fetch.through) == (10, (13,), None)
    assert delivered(play(node, ("s", Repair("s", fetch.request, (12,), (body(),))))) == []
    answer = Caught("s", fetch.request, 1, 10, 14, 1, epoch=1, counts=((KEY, 2),))
    assert delivered(play(node, ("s", answer))) == [12, 13]


def test_an_unordered_session_gets_what_is_fetched_as_it_comes(gateway: Node) -> None:
    play(gateway, ("m", data(13)), ("m", tally(14, {0: 2})))
    fetch = only(tick(gateway, 1), Fetch)
    assert delivered(play(gateway, ("s", Repair("s", fetch.request, (12,), (body(),))))) == [12]


# --- fetching


def test_a_fetch_is_asked_again_under_another_number_and_late_answers_do_not_count(gateway: Node) -> None:
    play(gateway, ("m", tally(14, {0: 2})))
    first = only(tick(gateway, 1), Fetch)
    assert sends(tick(gateway, 1.1), Fetch) == []
    second = only(tick(gateway, 1 + AGAIN), Fetch)
    assert second.request > first.request
    assert delivered(play(gateway, ("s", Repair("s", first.request, (12,), (body(),))))) == []
    play(gateway, ("s", Caught("s", first.request, 1, 10, 14, 1, epoch=1, counts=((KEY, 2),))))
    assert gateway.gateway is not None
    assert gateway.gateway.inboxes["s"].frontier == 10


def test_an_answer_of_which_a_part_is_lost_does_not_count(gateway: Node) -> None:
    play(gateway, ("m", tally(14, {0: 2})))
    request = only(tick(gateway, 1), Fetch).request
    play(gateway, ("s", Repair("s", request, (12,), (body(),))))
    play(gateway, ("s", Caught("s", request, 1, 10, 14, 2, epoch=1, counts=((KEY, 2),))))
    assert gateway.gateway is not None
    assert gateway.gateway.inboxes["s"].frontier == 10
    assert only(tick(gateway, 2), Fetch).have == (12,)


def test_questions_of_a_new_life_cannot_be_answered_by_answers_to_the_old() -> None:
    old, new = gateway_node(), gateway_node(incarnation=2)
    for node in (old, new):
        play(node, ("sub", attach()), ("c", install(1, members={1: (KEY,)}, bit=0)))
    assert only(tick(new, 1), Fetch).request > only(tick(old, 1), Fetch).request + (1 << 31)


def test_a_gateway_without_clients_and_trees_asks_for_nothing() -> None:
    node = gateway_node()
    play(node, ("c", install(1, members={1: ()}, bit=0)))
    assert sends(tick(node, 1), Fetch) == []


# --- acks


def acked(node: Node, at: float) -> list[Ack]:
    return frames(tick(node, at), Ack)


def test_a_gateway_acks_the_least_of_its_frontier_and_what_its_sessions_have_taken(gateway: Node) -> None:
    play(gateway, ("other", attach("y")))
    assert acked(gateway, 1) == [Ack(KEY, {"s": 10})]
    play(gateway, ("m", data(11)), ("m", tally(15, {0: 1})))
    told = {frame.session: frame for frame in frames(tick(gateway, 2), Progress)}
    assert {name: frame.through for name, frame in told.items()} == {"x": 15, "y": 15}
    play(gateway, ("sub", Taken("x", told["x"].sequence)), at=2.0)
    assert acked(gateway, 3) == [Ack(KEY, {"s": 10})]
    play(gateway, ("other", Taken("y", told["y"].sequence)), at=3.0)
    assert acked(gateway, 4) == [Ack(KEY, {"s": 15})]


def test_a_gateway_that_does_not_know_where_a_source_stands_acks_nothing() -> None:
    node = gateway_node()
    play(node, ("c", install(1, entry(KEY, "m", bit=0, acks=True), members={1: (KEY,)}, bit=0)))
    assert acked(node, 1) == []


def test_a_session_that_is_not_live_yet_holds_the_acks(gateway: Node) -> None:
    play(gateway, ("other", attach("y", topic("z"))))  # which will be live behind what has come so far, at least
    play(gateway, ("m", data(11)), ("m", tally(12, {0: 1})), ("sub", Taken("x", BASE + 2)))
    assert acked(gateway, 1) == [Ack(KEY, {"s": 10})]


def test_heartbeats_say_of_which_plans_nothing_is_under_way(gateway: Node) -> None:
    beat = only(tick(gateway, 1), Heartbeat)
    assert (beat.clean, beat.serial, beat.position) == ((("s", 1),), 1, None)


def test_sessions_are_served_in_the_order_in_which_they_came_whoever_had_something_first() -> None:
    node = joined()
    for name, text in (("x", "a"), ("y", "z")):
        play(node, ("sub", attach(name, topic(text), ordered=True)))
    play(node, ("c", live(2)))
    play(node, ("m", data(11, text="z")), ("m", data(12, text="a")))
    assert [frame.session for frame in frames(play(node, ("m", tally(12, {0: 2}))), Deliver)] == ["x", "y"]


# --- many at once


def test_many_subscriptions_are_taken_up_some_at_a_time_and_all_of_them() -> None:
    node = joined()
    many = AttachMany(tuple(attach(f"x{number}", topic(f"t{number}")) for number in range(100)))
    commands = play(node, ("sub", many))
    assert node.gateway is not None
    assert 0 < len(node.gateway.sessions) < 100
    turns = 0
    while Continue() in commands:
        commands = play(node, Continued())
        turns += 1
    assert len(node.gateway.sessions) == 100
    assert turns >= 3


def test_who_comes_when_too_many_wait_is_told_to_try_again_and_the_others_are_served(gateway: Node) -> None:
    waiting = [AttachMany(tuple(attach(f"x{at}/{n}", topic(f"t{at}/{n}")) for n in range(4000))) for at in range(3)]
    commands = play(gateway, *(("sub", many) for many in waiting))
    shed = frames(commands, ProtocolError)
    assert gateway.gateway is not None
    assert 0 < len(shed) == gateway.gateway.shed < 4000
    assert all("try again in 10 s" in frame.reason for frame in shed)
    assert delivered(play(gateway, ("m", data(11)))) == [11]  # who was there before notices nothing
