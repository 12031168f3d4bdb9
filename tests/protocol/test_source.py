"""Where messages enter: leases, the log, what is sent and what is told of it."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as replace_struct

from semcast.model.message import Message
from semcast.protocol.contract import Send, Sync, Synced
from semcast.protocol.node import Node
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import (
    Ack,
    AskSamples,
    Data,
    Fetch,
    Heartbeat,
    Leg,
    PieceTaken,
    Publish,
    Published,
    Refused,
    Repair,
    RosterChange,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
    Samples,
    Switched,
    Tally,
)
from semcast.protocol.wire.framing import FRAME_BYTES, MAX_MESSAGE
from tests.protocol.playbook import (
    BOTH,
    KEY,
    OFTEN,
    OTHER,
    SELDOM,
    SETTINGS,
    MemoryLog,
    body,
    broker_node,
    entry,
    frames,
    install,
    lease,
    log_and_sync,
    message,
    notes,
    only,
    planned,
    play,
    publish,
    roster_of,
    sends,
    source_node,
    switch,
    tick,
    topic,
)


def takes_in(node: Node, at: float = 1.0) -> bool:
    return frames(play(node, ("pub", publish(0, "a", origin=f"at {at}")), at=at), Refused) == []


# --- leases


def test_without_a_lease_nothing_is_taken_in() -> None:
    node = source_node()
    play(node, ("c", switch(1, planned())))
    refused = only(play(node, ("pub", publish(0, "a"))), Refused)
    assert (refused.expected, refused.reason) == (None, "the source has no lease from a coordinator")
    play(node, ("c", lease(1)))
    assert takes_in(node)


def test_a_lease_ends_on_the_sources_own_clock_counted_from_when_it_asked() -> None:
    node = source_node()
    play(node, ("c", switch(1, planned())), ("c", lease(1, echo=10.0, lease_s=2.0)), at=11.5)
    assert takes_in(node, 11.9)
    assert not takes_in(node, 12.0)


def test_a_lease_for_another_plan_is_none() -> None:
    node = source_node()
    play(node, ("c", switch(2, planned())), ("c", lease(1)))
    assert not takes_in(node)


def test_a_lease_of_a_coordinator_that_was_deposed_is_none() -> None:
    node = source_node()
    play(node, ("c", switch(1, planned(), term=2)), ("old", lease(1, term=1)))
    assert not takes_in(node)


def test_a_source_without_a_plan_takes_nothing_in_even_under_a_lease() -> None:
    node = source_node()
    play(node, ("c", lease(0)))
    assert not takes_in(node)


def test_a_broker_that_is_no_source_says_so() -> None:
    assert only(play(broker_node(), ("pub", publish(0, "a"))), Refused).reason == "m is no source"


def test_heartbeats_say_where_a_source_stands(source: Node) -> None:
    log_and_sync(source, 0, "a", "b")
    play(source, ("c", switch(2, planned(OTHER))))
    beat = only(tick(source, 1.0), Heartbeat)
    assert (beat.position, beat.epoch, beat.since, beat.sent_at) == (2, 2, 2, 1.0)


# --- what is synced is sent


def test_a_message_is_neither_sent_nor_acked_before_it_is_synced(source: Node) -> None:
    assert play(source, ("pub", publish(0, "a", "b"))) == [Sync(2)]
    commands = play(source, Synced(1))
    assert [(to, frame.numbers, frame.masks) for to, frame in sends(commands, Data)] == [("m", (1,), (0b01,))]
    assert frames(commands, Published) == []
    commands = play(source, Synced(2))
    assert [(to, frame.numbers, frame.masks) for to, frame in sends(commands, Data)] == [("m", (2,), (0b10,))]
    assert sends(commands, Published) == [("pub", Published("p", 1, 2, together=2))]


def test_a_message_that_nobody_wants_is_logged_and_acked_and_sent_nowhere(source: Node) -> None:
    assert log_and_sync(source, 0, "x") == [Send("pub", Published("p", 0, 1))]


def test_frames_hold_at_most_a_batch() -> None:
    node = source_node(settings=replace(SETTINGS, batch=2))
    play(node, ("c", install(1, entry(KEY, None, BOTH))), ("c", switch(1, planned())), ("c", lease(1)))
    assert [frame.numbers for frame in frames(log_and_sync(node, 0, "a", "a", "a"), Data)] == [(1, 2), (3,)]


# --- origins


def test_a_repeated_publish_is_acked_and_not_logged_twice(source: Node) -> None:
    log_and_sync(source, 0, "a", "a")
    assert source.source is not None
    assert play(source, ("pub", publish(0, "a", "a"))) == [Send("pub", Published("p", 1, 2))]
    assert source.source.log.end == 2


def test_where_a_message_stands_is_said_only_while_it_is_known(source: Node) -> None:
    log_and_sync(source, 0, "a", "a")
    assert only(play(source, ("pub", publish(0, "a"))), Published) == Published("p", 0, 0)


def test_a_message_that_does_not_fit_its_stream_keeps_its_whole_frame_out_and_is_named() -> None:
    node = source_node(streams=Streams({"news": Stream(language="topic")}))
    play(node, ("c", install(1, entry(KEY, None, BOTH))), ("c", switch(1, planned())), ("c", lease(1)))
    unfit = Publish("p", 0, (message("a"), Message("news", b""), message("a")))
    refused = only(play(node, ("pub", unfit)), Refused)
    assert (refused.unfit, refused.reason) == (1, "a message of a topic stream needs a topic")
    assert node.source is not None
    assert node.source.log.end == 0


def test_of_a_publish_that_overlaps_only_the_rest_is_logged(source: Node) -> None:
    log_and_sync(source, 0, "a", "a")
    assert play(source, ("pub", publish(1, "a", "b"))) == [Sync(3)]
    assert only(play(source, Synced(3)), Published) == Published("p", 2, 3)


def test_a_repeated_publish_waits_for_the_sync_of_the_first(source: Node) -> None:
    play(source, ("pub", publish(0, "a")))
    assert play(source, ("pub", publish(0, "a"))) == []
    assert frames(play(source, Synced(1)), Published) == [Published("p", 0, 1), Published("p", 0, 1)]


def test_a_repeated_publish_is_acked_also_without_a_lease(source: Node) -> None:
    log_and_sync(source, 0, "a")
    assert only(play(source, ("pub", publish(0, "a")), at=99.0), Published) == Published("p", 0, 1)


def test_a_left_out_number_is_refused_with_the_one_that_is_expected(source: Node) -> None:
    log_and_sync(source, 0, "a")
    assert only(play(source, ("pub", publish(2, "a"))), Refused).expected == 1
    assert source.source is not None
    assert source.source.log.end == 1


def test_an_origin_may_leave_out_numbers_that_it_is_through_with(source: Node) -> None:
    log_and_sync(source, 0, "a")
    later = replace_struct(publish(1 << 32, "a", "b"), since=1 << 32)
    assert play(source, ("pub", later)) == [Sync(3)]
    assert only(play(source, Synced(3)), Published).through == (1 << 32) + 1
    assert only(play(source, ("pub", later)), Published).through == (1 << 32) + 1
    assert source.source is not None
    assert source.source.log.end == 3


def test_behind_what_an_origin_is_through_with_no_number_may_be_left_out(source: Node) -> None:
    skipping = replace_struct(publish(12, "a"), since=10)
    assert only(play(source, ("pub", skipping)), Refused).expected == 10


def test_origins_are_numbered_each_by_itself(source: Node) -> None:
    play(source, ("pub", publish(0, "a", "a", origin="p")))
    assert play(source, ("pub", publish(0, "a", origin="q"))) == [Sync(3)]


# --- switching


def test_a_switch_takes_effect_at_the_end_of_the_log_whatever_is_synced(source: Node) -> None:
    play(source, ("pub", publish(0, "a")))
    assert frames(play(source, ("c", switch(2, planned(OTHER)))), Switched) == []  # a crash may take its position
    play(source, ("c", lease(2)), ("pub", publish(1, "a")))
    commands = play(source, Synced(2))
    confirmed, sent = only(commands, Switched), frames(commands, Data)
    assert (confirmed.epoch, confirmed.position) == (2, 1)
    assert [(frame.key, frame.epoch, frame.numbers) for frame in sent] == [(KEY, 1, (1,)), (OTHER, 2, (2,))]


def test_a_version_of_the_roster_is_confirmed_when_the_position_where_it_took_effect_is_durable(source: Node) -> None:
    play(source, ("pub", publish(0, "a")))
    change = RosterChange("n", topic("n"), (0,))
    told = RosterChanges(1, roster_of(source).version, roster_of(source).version + 1, ("g1",), (change,))
    assert (
        frames(play(source, ("c", told)), RosterFollowed) == []
    )  # a crash may take the message, and give its number again
    confirmed = only(play(source, Synced(1)), RosterFollowed)
    assert (confirmed.version, confirmed.position, confirmed.astray) == (told.version, 1, False)


def test_a_roster_that_is_not_the_coordinators_is_found_out_by_its_digest_and_replaced(source: Node) -> None:
    version = roster_of(source).version
    change = RosterChange("n", topic("n"), (0,))
    astray = only(
        play(source, ("c", RosterChanges(1, version, version + 1, ("g1",), (change,), 12345))), RosterFollowed
    )
    assert astray.astray
    assert not takes_in(source, 0.1)  # what it would match by is not known
    piece = RosterPiece(1, 7, 0, version + 5, ("g0", "g1"), (RosterChange("m", topic("m"), (1,)),), last=True)
    commands = play(source, ("c", piece))
    assert only(commands, PieceTaken).place == 0
    assert only(commands, RosterFollowed).version == version + 5
    assert [(name, held) for name, _, held in roster_of(source).profiles()] == [("m", ("g1",))]
    assert roster_of(source).astray == 1


def test_changes_that_come_twice_or_leave_some_out_change_nothing(source: Node) -> None:
    roster = roster_of(source)
    version, change = roster.version, RosterChange("n", topic("n"), (0,))
    told = RosterChanges(1, version, version + 1, ("g1",), (change,))
    play(source, ("c", told), ("c", told), ("c", RosterChanges(1, version + 7, version + 8, (), ())))
    assert (roster.version, roster.repeated) == (version + 1, 1)


def test_after_a_switch_the_old_lease_counts_no_longer_for_the_new_plan(source: Node) -> None:
    assert takes_in(source, 0.5)
    play(source, ("c", switch(2, planned(OTHER))), ("c", lease(1, echo=5.0)), at=5.0)
    assert not takes_in(source, 5.0)


def test_a_repeated_or_older_switch_is_confirmed_and_changes_nothing(source: Node) -> None:
    play(source, ("c", switch(2, planned(OTHER))))
    play(source, ("c", lease(2)), ("pub", publish(0, "a")))
    assert only(play(source, ("c", switch(2, planned(OTHER)))), Switched).position == 0
    assert only(play(source, ("c", switch(1, planned()))), Switched).epoch == 2


def test_profiles_of_a_new_plan_count_from_the_switch_on(source: Node) -> None:
    play(source, ("pub", publish(0, "b")))
    play(source, ("c", switch(2, planned(), profiles={"a": ("g0",), "b": ("g0", "g1")})), ("c", lease(2)))
    play(source, ("pub", publish(1, "b")))
    assert [frame.masks for frame in frames(play(source, Synced(2)), Data)] == [(0b10,), (0b11,)]


# --- tallies


def tallies(node: Node, at: float) -> list[Tally]:
    return frames(tick(node, at), Tally)


def test_tallies_say_how_many_each_gateway_was_sent(source: Node) -> None:
    log_and_sync(source, 0, "a", "a", "b", "x")
    (said,) = tallies(source, 1.0)
    assert (said.key, said.epoch, said.through, said.counts, said.final) == (KEY, 1, 4, {0: 2, 1: 1}, False)


def test_tallies_do_not_count_what_is_not_synced(source: Node) -> None:
    log_and_sync(source, 0, "a")
    play(source, ("pub", publish(1, "a")))
    (said,) = tallies(source, 1.0)
    assert (said.through, said.counts) == (1, {0: 1})


def test_tallies_come_often_while_somebody_lacks_something_and_seldom_when_all_have_all(source: Node) -> None:
    log_and_sync(source, 0, "a")
    assert len(tallies(source, 1.0)) == 1
    assert tallies(source, 1.0 + OFTEN / 2) == []
    assert len(tallies(source, 1.0 + OFTEN)) == 1  # nothing new, but nobody has acked
    play(source, ("m", Ack(KEY, {"s": 1}, True)))
    assert tallies(source, 1.0 + 2 * OFTEN) == []
    assert len(tallies(source, 1.0 + OFTEN + SELDOM)) == 1  # idle, but not silent


def test_news_make_tallies_come_at_their_pace_again(source: Node) -> None:
    play(source, ("m", Ack(KEY, {"s": 0}, True)))
    tallies(source, 1.0)
    log_and_sync(source, 0, "a")
    assert [said.through for said in tallies(source, 1.0 + OFTEN)] == [1]


def test_a_tree_that_closes_gets_a_final_tally_through_the_switch(source: Node) -> None:
    log_and_sync(source, 0, "a")
    play(source, ("pub", publish(1, "a")))
    play(source, ("c", switch(2, planned(OTHER))), ("c", lease(2)), ("pub", publish(2, "a", "a")))
    said = {frame.key: frame for frame in tallies(source, 1.0)}
    assert (said[KEY].through, said[KEY].final, said[KEY].counts) == (1, False, {0: 1})  # 2 is under way to the disk
    assert (said[OTHER].epoch, said[OTHER].previous, said[OTHER].since) == (2, 1, 2)
    play(source, Synced(4))
    said = {frame.key: frame for frame in tallies(source, 2.0)}
    assert (said[KEY].through, said[KEY].final, said[KEY].counts) == (2, True, {0: 2})
    assert (said[OTHER].through, said[OTHER].final, said[OTHER].counts) == (4, False, {0: 2})


def test_a_tree_that_stays_goes_on_counting_over_a_switch(source: Node) -> None:
    log_and_sync(source, 0, "a")
    play(source, ("c", switch(2, planned())), ("c", lease(2)))
    log_and_sync(source, 1, "a")
    (said,) = tallies(source, 1.0)
    assert (said.counts, said.since, said.final) == ({0: 2}, 1, False)


def test_gateways_hear_of_a_new_plan_at_the_next_tick(source: Node) -> None:
    tallies(source, 1.0)
    play(source, ("c", switch(2, planned())), at=1.01)
    assert [said.epoch for said in tallies(source, 1.02)] == [2]


def test_final_tallies_end_when_the_brokers_have_forgotten_the_tree(source: Node) -> None:
    play(source, ("c", switch(2, planned(OTHER))))
    assert {said.key for said in tallies(source, 1.0)} == {KEY, OTHER}
    assert {said.key for said in tallies(source, 2.0)} == {KEY, OTHER}  # said again: it may have got lost
    play(source, ("c", install(2, keep=(OTHER,))))
    assert {said.key for said in tallies(source, 3.0)} == {OTHER}


def test_a_tree_whose_tables_went_before_the_switch_is_closed_at_once(source: Node) -> None:
    """A source that is cut off follows its plan longer than the others, whose trees may be gone by then."""
    play(source, ("c", install(2, keep=(OTHER,))))
    play(source, ("c", switch(2, planned(OTHER))), ("m", Ack(OTHER, {"s": 0}, True)))
    assert notes(tick(source, 1.0), "dropped") == []
    assert tallies(source, 1.0 + OFTEN) == []  # nothing is closing: all is settled


# --- legs, samples, restarts


def test_legs_carry_one_copy_per_rendezvous_point_with_the_trees_that_hang_there() -> None:
    node = source_node()
    p, q, r = (
        planned(("p", 1), (0,), expression="a", rendezvous="m"),
        planned(("q", 1), (1,), expression="a|b", rendezvous="m"),
        planned(("r", 1), (1,), expression="b", rendezvous="g1"),
    )
    held = [entry(tree.key, None, ups=(("s", "m"),)) for tree in (p, q, r)]
    play(node, ("c", install(1, *held)), ("c", switch(1, p, q, r, scheme="semcast")), ("c", lease(1)))
    assert sends(log_and_sync(node, 0, "a", "b"), Leg) == [
        ("m", Leg("m", 1, "s", (1, 2), ((p.key, q.key), (q.key,)), (body("a"), body("b")))),
        ("m", Leg("g1", 1, "s", (2,), ((r.key,),), (body("b"),))),
    ]
    assert {said.key: (said.rendezvous, said.counts) for said in tallies(node, 1.0)} == {
        p.key: ("m", {0: 1}),
        q.key: ("m", {1: 2}),
        r.key: ("g1", {1: 1}),
    }


def test_samples_say_which_profiles_matched_one_message_in_so_many() -> None:
    node = source_node(settings=replace(SETTINGS, sample=2, samples=2))
    profiles = {"a": ("g0",), "a/b": ("g1",), "b": ("g1",)}
    play(node, ("c", switch(1, planned(), profiles=profiles)), ("c", lease(1)))
    play(node, ("pub", publish(0, "a", "b", "b", "a/b", "b", "x")))
    assert sends(play(node, ("c", AskSamples(1, 7))), Samples) == [("c", Samples("s", 7, 0.5, (("a", "a/b"), ())))]


def test_after_a_restart_all_that_is_in_the_log_counts_as_sent_under_another_incarnation() -> None:
    log = MemoryLog()
    node = source_node(log)
    play(node, ("c", switch(1, planned())), ("c", lease(1)), ("pub", publish(0, "a", "a")))  # never synced

    again = source_node(log, incarnation=2)
    play(again, ("c", install(1, entry(KEY, None, BOTH))))
    assert only(play(again, ("c", switch(1, planned()))), Switched) == Switched("s", 2, 1, 1, 2)
    (said,) = tallies(again, 1.0)
    assert (said.incarnation, said.through, said.counts, said.previous) == (2, 2, {}, 0)
    assert only(play(again, ("pub", publish(0, "a", "a"))), Published) == Published("p", 1, 2)
    assert frames(play(again, Synced(2)), Data) == []


def test_after_a_restart_there_is_no_lease_left() -> None:
    log = MemoryLog()
    play(source_node(log), ("c", switch(1, planned())), ("c", lease(1)))
    again = source_node(log, incarnation=2)
    play(again, ("c", switch(1, planned())))
    assert not takes_in(again)


def test_frames_hold_at_most_so_many_bytes_but_one_message_at_least(source: Node) -> None:
    large = Message("news", bytes(FRAME_BYTES * 2 // 3), "a")
    assert play(source, ("pub", Publish("p", 0, (large, large, message("a"))))) == [Sync(3)]
    assert [frame.numbers for frame in frames(play(source, Synced(3)), Data)] == [(1,), (2, 3)]
    assert source.source is not None
    answers = play(source, ("g0", Fetch("g0", 1, 0)))
    assert [frame.numbers for frame in frames(answers, Repair)] == [(1,), (2, 3)]


def test_a_message_that_no_frame_can_hold_is_refused(source: Node) -> None:
    unfit = Message("news", bytes(MAX_MESSAGE + 1), "a")
    refused = only(play(source, ("pub", Publish("p", 0, (unfit,)))), Refused)
    assert (refused.unfit, "4,194,304 are the most" in refused.reason) == (0, True)
    assert play(source, ("pub", Publish("p", 0, (Message("news", bytes(MAX_MESSAGE), "a"),)))) == [Sync(1)]
    for frame in frames(play(source, Synced(1)), Data):
        assert decode(encode(frame)) == frame
