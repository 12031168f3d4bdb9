"""Clients that come back, stay away, lag, change their minds, or find a source cut off."""

from __future__ import annotations

import msgspec

from semcast.protocol.node import Node
from semcast.protocol.results import SessionExpired
from semcast.protocol.wire.frames import (
    Attached,
    Beat,
    Caught,
    Detach,
    Fetch,
    Fill,
    Gap,
    GatewayChanges,
    Progress,
    ProtocolError,
    Repair,
    Taken,
)
from semcast.sim.stores import MemoryNotes
from tests.protocol.gateways import AGAIN, BASE, asked, attach, delivered, joined, live
from tests.protocol.playbook import (
    KEY,
    SETTINGS,
    body,
    data,
    frames,
    gateway_node,
    install,
    only,
    play,
    results,
    sends,
    tally,
    tick,
    topic,
)

# --- clients that come back, stay away, or never were


def test_a_taken_from_an_unknown_session_is_an_error_to_its_client(gateway: Node) -> None:
    assert sends(play(gateway, ("who", Taken("y", 1))), ProtocolError)[0][0] == "who"


def test_idle_clients_are_answered(gateway: Node) -> None:
    assert sends(play(gateway, ("sub", Taken("x", BASE))), Beat) == [("sub", Beat(0.0))]


def test_what_is_not_taken_is_said_again(gateway: Node) -> None:
    play(gateway, ("m", data(11, 12)))
    assert delivered(tick(gateway, AGAIN)) == [11, 12]
    play(gateway, ("sub", Taken("x", BASE + 1)), at=AGAIN)
    assert delivered(tick(gateway, 3 * AGAIN)) == [12]


def test_a_session_ends_when_its_client_is_silent_for_too_long(gateway: Node) -> None:
    play(gateway, ("other", attach("y", durable=True, expiry_s=100.0)))
    commands = tick(gateway, 4 * SETTINGS.dead_s + 0.1)
    assert results(commands, SessionExpired) == [SessionExpired("x")]
    assert results(tick(gateway, 99), SessionExpired) == []
    assert results(tick(gateway, 101), SessionExpired) == [SessionExpired("y")]
    assert asked(gateway, 102) == []
    assert only(play(gateway, ("sub", Taken("x", BASE))), ProtocolError)


def test_a_durable_session_is_saved_before_its_client_hears_that_it_is_live() -> None:
    held = MemoryNotes()
    node = joined(notes=held)
    play(node, ("sub", attach(durable=True)))
    assert held.items("session/") == []
    assert frames(play(node, ("c", live(at=12))), Attached)
    assert [name for name, _ in held.items("session/")] == ["session/x"]


def test_a_durable_session_comes_back_after_a_crash_and_goes_on_behind_its_cursor() -> None:
    held = MemoryNotes()
    node = joined(notes=held)
    play(node, ("sub", attach(durable=True)), ("c", live()), ("m", data(11)), ("m", tally(15, {0: 1})))
    told = only(tick(node, 1), Progress)
    play(node, ("sub", Taken("x", told.sequence)), at=1.0)
    tick(node, 1.1)

    again = joined(notes=held, incarnation=2, at=30)
    assert asked(again, 1) == [topic("a")]
    (answer,) = sends(play(again, ("c", live(at=20, incarnation=2))), Attached)
    assert answer == ("sub", Attached("x", 0, (("s", 20),), 2 * BASE, None, (("s", 15),)))
    fill = only(tick(again, 2), Fill)
    assert (fill.profile, fill.first) == (topic("a"), 15)
    play(again, ("s", Repair("s", fill.request, (17, 25), (body(), body()))))
    commands = play(again, ("s", Caught("s", fill.request, 1, 15, 31, 2)))
    assert delivered(commands) == [17, 25]
    assert only(commands, Progress).through == 31
    assert delivered(play(again, ("m", data(32)))) == [32]


def test_a_client_that_missed_the_word_of_its_sessions_new_life_is_told_again() -> None:
    held = MemoryNotes()
    play(joined(notes=held), ("sub", attach(durable=True)), ("c", live()))
    again = joined(notes=held, incarnation=2)
    assert frames(play(again, ("sub", Taken("x", BASE))), Attached) == []  # not live yet
    play(again, ("c", live(incarnation=2)))  # and this is lost
    assert only(play(again, ("sub", Taken("x", BASE))), Attached).base == 2 * BASE
    assert frames(play(again, ("sub", Taken("x", 2 * BASE))), Attached) == []


def progressed(node: Node) -> None:
    """A live durable session ``x`` whose client has everything through 15."""
    play(node, ("sub", attach(durable=True)), ("c", live()), ("m", data(11)), ("m", tally(15, {0: 1})))
    told = only(tick(node, 1), Progress)
    play(node, ("sub", Taken("x", told.sequence)), at=1.0)
    tick(node, 1.1)


def test_a_client_that_comes_back_without_a_memory_goes_on_where_its_durable_session_stands() -> None:
    node = joined()
    progressed(node)
    (answer,) = sends(play(node, ("sub2", attach(durable=True))), Attached)
    assert (answer[0], answer[1].behind) == ("sub2", (("s", 15),))
    (repeated,) = sends(play(node, ("sub2", attach(durable=True))), Attached)
    assert repeated == answer
    assert [to for to, _ in sends(play(node, ("sub2", attach(durable=True, base=answer[1].base))), Attached)] == [
        "sub2"
    ]


def test_it_does_so_after_a_crash_of_the_gateway_and_after_another() -> None:
    held = MemoryNotes()
    progressed(joined(notes=held))
    for incarnation in (2, 3):
        node = joined(notes=held, incarnation=incarnation)
        play(node, ("c", live(incarnation=incarnation)))
        (answer,) = sends(play(node, (f"sub{incarnation}", attach(durable=True))), Attached)
        assert (answer[0], answer[1].behind) == (f"sub{incarnation}", (("s", 15),))


def test_with_another_profile_a_durable_session_begins_anew() -> None:
    node = joined()
    progressed(node)
    play(node, ("sub2", attach(profile=topic("b"), durable=True)))
    (answer,) = sends(play(node, ("c", live(2, at=40))), Attached)
    assert answer[1].behind == (("s", 40),)


def test_a_session_that_ends_for_good_is_forgotten_for_good() -> None:
    held = MemoryNotes()
    node = joined(notes=held)
    play(node, ("sub", attach(durable=True)), ("c", live()), ("sub", Detach("x")))
    assert held.items("session/") == []


def test_a_client_that_comes_from_elsewhere_goes_on_where_it_was(gateway: Node) -> None:
    moved = attach("y", cursor=(("s", 4),), have=(("s", (6,)),))
    assert only(play(gateway, ("other", moved)), Attached).behind == (("s", 4),)
    fill = only(tick(gateway, 1), Fill)
    assert fill.first == 4
    play(gateway, ("s", Repair("s", fill.request, (5, 6, 7), (body(),) * 3)))
    commands = play(gateway, ("s", Caught("s", fill.request, 1, 4, 12, 3)))
    assert delivered(commands, "y") == [5, 7]
    assert only(commands, Progress).through == 12


def test_what_was_given_up_is_told_as_a_gap() -> None:
    node = joined()
    play(node, ("sub", attach(cursor=(("s", 4),))), ("c", live()))
    fill = only(tick(node, 1), Fill)
    commands = play(node, ("s", Caught("s", fill.request, 1, 4, 12, 0, lost=8)))
    assert only(commands, Gap) == Gap("x", BASE + 1, "s", 4, 8)
    assert only(commands, Progress).through == 12


def test_what_the_gateway_itself_has_lost_is_a_gap_for_all_its_sessions(gateway: Node) -> None:
    play(gateway, ("other", attach("y")), ("m", tally(40, {0: 9})))
    fetch = only(tick(gateway, 1), Fetch)
    commands = play(gateway, ("s", Caught("s", fetch.request, 1, 10, 40, 0, 30, epoch=1, counts=((KEY, 9),))))
    assert [(gap.session, gap.first, gap.through) for gap in frames(commands, Gap)] == [("x", 10, 30), ("y", 10, 30)]


def test_a_gap_does_not_name_what_was_delivered_and_complete() -> None:
    node = joined(held=1)
    play(node, ("sub", attach()), ("c", live()), ("m", data(11)), ("m", tally(20, {0: 1})), ("m", tally(40, {0: 9})))
    fetch = only(tick(node, 0.1), Fetch)  # and no word of progress: there is no room for one
    answer = Caught("s", fetch.request, 1, 20, 40, 0, 30, epoch=1, counts=((KEY, 9),))
    assert only(play(node, ("s", answer)), Gap) == Gap("x", BASE + 2, "s", 20, 30)


def test_who_asks_for_the_earliest_misses_nothing_that_was_there_no_more() -> None:
    node = joined()
    play(node, ("sub", attach(start="earliest")), ("c", live()))
    fill = only(tick(node, 1), Fill)
    assert fill.first == 0
    play(node, ("s", Repair("s", fill.request, (9,), (body(),))))
    commands = play(node, ("s", Caught("s", fill.request, 1, 0, 10, 1, lost=8)))
    assert (frames(commands, Gap), delivered(commands), only(commands, Progress).through) == ([], [9], 10)


def test_who_asks_for_the_earliest_is_told_of_what_is_gone_behind_where_it_was_live() -> None:
    node = joined()
    play(node, ("sub", attach(start="earliest")), ("c", live(at=10, unsure=("s",))))
    fill = only(tick(node, 1), Fill)
    commands = play(node, ("s", Caught("s", fill.request, 1, 0, 40, 0, lost=30)))
    assert only(commands, Gap) == Gap("x", BASE + 1, "s", 10, 30)


def test_who_asked_for_the_earliest_is_told_of_what_is_lost_later() -> None:
    node = joined(held=2)
    play(node, ("sub", attach(start="earliest")), ("c", live()))
    fill = only(tick(node, 1), Fill)
    told = only(play(node, ("s", Caught("s", fill.request, 1, 0, 10, 0)), at=1.0), Progress)
    play(node, ("m", data(11, 12)), at=1.0)  # more than it has room for
    play(node, ("sub", Taken("x", told.sequence + 1)), at=1.0)
    fill = only(tick(node, 2), Fill)
    assert fill.first == 10
    commands = play(node, ("s", Caught("s", fill.request, 1, 10, 40, 0, lost=30)), at=2.0)
    assert only(commands, Gap) == Gap("x", BASE + 3, "s", 10, 30)


# --- bounds


def test_a_gateway_asks_for_the_strictest_bound_of_the_clients_that_share_a_profile() -> None:
    node = joined()
    said = [
        only(play(node, ("sub", attach(n, max_delay_ms=bound))), GatewayChanges)
        for n, bound in (("x", 50.0), ("y", 20.0))
    ]
    play(node, ("sub", attach("z")))
    assert [wish.max_delay_ms for frame in said for wish in frame.changes][-1] == 20.0


def test_or_for_their_median_where_it_is_set_so() -> None:
    node = joined(bound="median")
    bounds = (("x", 50.0), ("y", 20.0), ("z", 30.0))
    said = [only(play(node, ("sub", attach(n, max_delay_ms=bound))), GatewayChanges) for n, bound in bounds]
    assert [wish.max_delay_ms for frame in said for wish in frame.changes] == [50.0, 20.0, 30.0]


def test_who_cannot_be_served_within_its_bound_is_told_what_to_expect() -> None:
    node = joined()
    play(node, ("sub", attach("x", topic("a"), max_delay_ms=1.0)), ("sub", attach("y", topic("b"))))
    answers = frames(play(node, ("c", live(2, late=((1, 7.5),)))), Attached)
    assert {answer.session: answer.expected_delay_ms for answer in answers} == {"x": 7.5, "y": None}


# --- sources that were cut off


def test_from_an_unsure_source_a_session_is_filled_until_it_follows_the_plan() -> None:
    node = joined()
    play(node, ("sub", attach()), ("c", live(version=2, unsure=("s",))))
    assert delivered(play(node, ("m", data(11)))) == []  # waits: 10 … may lack what nobody matched for it
    fill = only(tick(node, 1), Fill)
    play(node, ("s", Repair("s", fill.request, (11,), (body(),))))
    assert delivered(play(node, ("s", Caught("s", fill.request, 1, 10, 12, 1)))) == [11]
    assert sends(tick(node, 2), Fill) != []  # as long as it follows the old plan

    play(node, ("c", install(2, keep=(KEY,), members={1: (KEY,), 2: (KEY,)}, bit=0)))
    play(node, ("m", data(13)), ("m", tally(16, {0: 2}, epoch=2, previous=1, since=14, version=2)), at=2.0)
    fill = only(tick(node, 3), Fill)
    assert fill.first == 12
    play(node, ("s", Repair("s", fill.request, (13,), (body(),))))
    assert delivered(play(node, ("s", Caught("s", fill.request, 1, 12, 16, 1)))) == [13]
    assert delivered(play(node, ("m", data(17)))) == [17]  # it follows now
    assert sends(tick(node, 4), Fill) == []


# --- replacing


def test_a_profile_is_replaced_at_one_position() -> None:
    node = joined()
    play(node, ("sub", attach(ordered=True)), ("c", live()))
    play(node, ("sub", attach(profile=topic("b"), ordered=True, version=1, base=BASE)))
    assert asked(node, 1) == [topic("a"), topic("b")]
    play(node, ("m", data(11)), ("m", data(12, text="b")), ("m", data(14)), ("m", data(15, text="b")), at=1.0)
    answer = only(play(node, ("c", live(2, at=13)), at=1.0), Attached)
    assert (answer.version, answer.positions) == (1, (("s", 13),))
    assert delivered(play(node, ("m", tally(16, {0: 4})), at=1.0)) == [11, 15]
    assert asked(node, 2) == [topic("b")]


def test_what_went_out_under_the_old_profile_is_never_behind_the_position_of_the_new_one(gateway: Node) -> None:
    play(gateway, ("sub", attach(profile=topic("b"), version=1, base=BASE)))
    assert delivered(play(gateway, ("m", data(14)), ("m", data(15, text="b")))) == [14]
    commands = play(gateway, ("c", live(2, at=12)))
    assert only(commands, Attached).positions == (("s", 14),)
    assert delivered(commands) == [15]
    assert delivered(play(gateway, ("m", data(13)), ("m", data(11, text="b")), ("m", data(16, text="b")))) == [13, 16]


def test_until_the_new_profile_is_live_the_old_one_counts(gateway: Node) -> None:
    play(gateway, ("sub", attach(profile=topic("b"), version=1, base=BASE)))
    assert delivered(play(gateway, ("m", data(11)), ("m", data(12, text="b")))) == [11]


def test_who_changes_his_mind_before_he_hears_that_he_is_live_goes_on_with_the_session_that_is(gateway: Node) -> None:
    """What was sent by the first profile is on its way, and moves the client's cursor past where the new one began."""
    play(gateway, ("m", data(11, 14)))
    (told,) = sends(play(gateway, ("sub", attach(profile=topic("a/b"), version=1))), Attached)
    assert (told[1].version, told[1].base, told[1].positions) == (1, BASE, (("s", 14),))
    (again,) = sends(play(gateway, ("sub", attach(profile=topic("a/b"), version=1))), Attached)
    assert again == told


def test_who_has_forgotten_the_session_that_is_live_gets_another(gateway: Node) -> None:
    play(gateway, ("m", data(11, 14)))
    for said in (attach(profile=topic("a/b")), attach(profile=topic("a/b"), version=1, cursor=(("s", 10),))):
        told = only(play(gateway, ("sub", said)), Attached)
        assert told.base > BASE


def test_a_replacement_that_is_covered_is_live_at_once_behind_what_went_by(gateway: Node) -> None:
    play(gateway, ("m", data(12)))
    commands = play(gateway, ("sub", attach(profile=topic("a/b"), version=1, base=BASE)))
    assert (only(commands, Attached).version, only(commands, Attached).positions) == (1, (("s", 12),))
    assert delivered(play(gateway, ("m", data(11)), ("m", data(13)), ("m", data(14, text="a/b")))) == [11, 14]


def test_a_client_that_comes_in_the_middle_of_a_replacement_begins_with_the_earlier_profile(gateway: Node) -> None:
    moved = attach("y", topic("b"), cursor=(("s", 10),), version=1, before=topic("a"))
    assert only(play(gateway, ("other", moved)), Attached).version == 0
    assert delivered(play(gateway, ("m", data(11))), "y") == [11]
    assert asked(gateway, 1) == [topic("a"), topic("b")]
    answer = only(play(gateway, ("c", live(2, at=20))), Attached)
    assert (answer.session, answer.version, answer.positions) == ("y", 1, (("s", 20),))


def test_frames_of_attach_survive_their_notes() -> None:
    """What is saved of a session is what is opened after a crash, but for the cursor."""
    held = MemoryNotes()
    node = joined(notes=held)
    said = attach(durable=True, ordered=True, expiry_s=7.0)
    play(node, ("sub", said), ("c", live()))
    again = gateway_node(notes=held, incarnation=2).gateway
    assert again is not None
    assert again.sessions["x"].attach == msgspec.structs.replace(said, cursor=(("s", 10),))
    assert (again.sessions["x"].client, again.sessions["x"].expiry_s) == ("sub", 7.0)
