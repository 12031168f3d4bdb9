"""Forwarding: what goes over which link, and what does not."""

from __future__ import annotations

import pytest

from semcast.protocol.broker.broker import Broker, narrowed
from semcast.protocol.contract import Command, Congested, Relieved
from semcast.protocol.node import Node
from semcast.protocol.results import MessagesShed
from semcast.protocol.wire.frames import Ack, Data, Entry, Installed, Key, Leg, Tally, TreeLink
from tests.protocol.playbook import (
    KEY,
    OTHER,
    MemoryNotes,
    body,
    broker_node,
    data,
    entry,
    gateway_node,
    install,
    notes,
    only,
    play,
    results,
    sends,
    tally,
    tick,
    topic,
)

BOTH = {"g0": 0b01, "g1": 0b10}
"""The links below ``m`` with the gateways behind them."""
OPEN = {"g0": None, "g1": None}


@pytest.fixture
def middle() -> Node:
    """The broker in the middle, with one masked tree whose rendezvous point is the source."""
    node = broker_node()
    play(node, ("c", install(1, entry(KEY, "s", {**BOTH, "s": 0}, acks=True))))
    return node


def masked(frame: Data) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    return frame.numbers, frame.masks


# --- by the key alone


def test_everything_on_a_tree_without_masks_goes_to_all_children_as_it_came() -> None:
    node = broker_node()
    play(node, ("c", install(1, entry(KEY, "s", OPEN))))
    frame = data(1, 2)
    assert sends(play(node, ("s", frame)), Data) == [("g0", frame), ("g1", frame)]
    assert only(play(node, ("s", frame))[:1], Data) is frame


def test_a_frame_of_an_unknown_tree_is_dropped_and_noted(middle: Node) -> None:
    commands = play(middle, ("s", data(1, key=OTHER, masks=(3,))))
    assert sends(commands, Data) == []
    assert notes(commands, "dropped") == [{"why": "no table", "frame": "data", "source": "s"}]


def test_a_final_tally_of_a_tree_that_is_gone_is_no_loss(middle: Node) -> None:
    assert play(middle, ("s", tally(9, {}, key=OTHER, final=True))) == []
    assert len(notes(play(middle, ("s", tally(9, {}, key=OTHER))), "dropped")) == 1


# --- by masks


def test_a_link_gets_only_messages_for_gateways_behind_it_with_only_their_bits(middle: Node) -> None:
    commands = play(middle, ("s", data(1, 2, 3, masks=(0b01, 0b11, 0b10))))
    assert [(to, masked(frame)) for to, frame in sends(commands, Data)] == [
        ("g0", ((1, 2), (0b01, 0b01))),
        ("g1", ((2, 3), (0b10, 0b10))),
    ]


def test_a_frame_that_goes_on_unchanged_is_not_copied(middle: Node) -> None:
    frame = data(1, 2, masks=(0b01, 0b01))
    ((to, sent),) = sends(play(middle, ("s", frame)), Data)
    assert to == "g0"
    assert sent is frame


def test_nothing_goes_back_to_where_it_came_from() -> None:
    node = broker_node()
    play(node, ("c", install(1, entry(KEY, "s", {**BOTH, "s": 0b100}))))
    commands = play(node, ("g0", data(1, masks=(0b111,))))
    assert [(to, frame.masks) for to, frame in sends(commands, Data)] == [("g1", (0b10,)), ("s", (0b100,))]


def test_a_message_for_nobody_behind_a_link_is_never_sent_over_it(middle: Node) -> None:
    assert sends(play(middle, ("s", data(1, masks=(0,)))), Data) == []
    ((to, frame),) = sends(play(middle, ("s", data(2, 3, masks=(0b10, 0)))), Data)
    assert (to, masked(frame)) == ("g1", ((2,), (0b10,)))


def test_narrowing_drops_empty_masks_also_where_no_mask_changes() -> None:
    assert narrowed(data(1, 2, masks=(0b1, 0)), [0b1, 0]) == data(1, masks=(0b1,))
    assert narrowed(data(1, masks=(0,)), [0]) is None


def test_the_gateway_here_gets_its_own_bit_alone() -> None:
    broker = Broker("g0")
    broker.install(install(1, entry(KEY, "m", {"m": 0b10}, bit=0)), 1)
    forwarded = broker.forward(data(1, 2, masks=(0b11, 0b10)), "m")
    assert forwarded.commands == []
    assert forwarded.local == [data(1, masks=(0b01,))]


# --- tables


def test_an_older_revision_does_not_roll_tables_back(middle: Node) -> None:
    play(middle, ("c", install(3, entry(OTHER, "s", OPEN))))
    play(middle, ("c", install(2, entry(KEY, "s", OPEN))))
    assert set(middle.broker.tables) == {OTHER}


def test_an_older_term_is_not_heard_whatever_its_revision(middle: Node) -> None:
    play(middle, ("c", install(1, entry(OTHER, "s", OPEN), term=2)))
    assert play(middle, ("old", install(9, entry(KEY, "s", OPEN), term=1))) == []
    assert set(middle.broker.tables) == {OTHER}


def test_the_newest_term_is_remembered_across_a_crash() -> None:
    held = MemoryNotes()
    play(broker_node(notes=held), ("c", install(1, term=4)))
    again = broker_node(notes=held, incarnation=2)
    assert play(again, ("old", install(9, entry(), term=3))) == []
    assert again.broker.tables == {}


def test_tables_that_are_neither_given_nor_kept_go(middle: Node) -> None:
    play(middle, ("c", install(2, entry(OTHER, "s", OPEN), keep=(KEY,))))
    assert set(middle.broker.tables) == {KEY, OTHER}
    play(middle, ("c", install(3, keep=(OTHER,))))
    assert set(middle.broker.tables) == {OTHER}


def test_a_broker_says_which_tables_it_should_have_kept_and_has_not(middle: Node) -> None:
    assert only(play(middle, ("c", install(2, keep=(KEY, OTHER)))), Installed) == Installed("m", 1, 1, 2, (OTHER,))
    assert only(play(middle, ("c", install(2, keep=(KEY, OTHER)))), Installed).missing == (OTHER,)


# --- legs


A, B = ("a", 1), ("b", 1)


def leg(*numbers: int, keys: tuple[Key, ...] = (A, B), rendezvous: str = "m") -> Leg:
    return Leg(rendezvous, 1, "s", numbers, (keys,) * len(numbers), (body(),) * len(numbers))


@pytest.fixture
def rendezvous() -> Node:
    node = broker_node()
    play(node, ("c", install(1, entry(A, None, {"g0": None}), entry(B, None, {"g0": None, "g1": None}))))
    return node


def test_a_leg_becomes_one_copy_per_tree_at_the_rendezvous_point(rendezvous: Node) -> None:
    commands = play(rendezvous, ("s", leg(1, 2)))
    assert sends(commands, Data) == [("g0", data(1, 2, key=A)), ("g0", data(1, 2, key=B)), ("g1", data(1, 2, key=B))]


def test_a_leg_carries_each_message_to_its_own_trees(rendezvous: Node) -> None:
    frame = Leg("m", 1, "s", (1, 2), ((A,), (A, B)), (body(), body()))
    assert sends(play(rendezvous, ("s", frame)), Data) == [
        ("g0", data(1, 2, key=A)), ("g0", data(2, key=B)), ("g1", data(2, key=B)),
    ]  # fmt: skip


def test_what_comes_to_a_rendezvous_point_twice_goes_on_once_per_tree(rendezvous: Node) -> None:
    play(rendezvous, ("s", leg(1, keys=(A,))))
    commands = play(rendezvous, ("s", leg(1, 2)))
    assert sends(commands, Data) == [("g0", data(2, key=A)), ("g0", data(1, 2, key=B)), ("g1", data(1, 2, key=B))]
    assert sends(play(rendezvous, ("s", leg(1, 2))), Data) == []


def test_a_leg_goes_up_towards_its_rendezvous_point_as_it_came() -> None:
    node = broker_node()
    play(node, ("c", install(1, entry(A, None, ups=(("s", "g1"),)))))
    frame = leg(1, keys=(A,), rendezvous="g1")
    assert sends(play(node, ("s", frame)), Leg) == [("g1", frame)]
    commands = play(node, ("s", Leg("g1", 1, "other", (1,), ((A,),), (body(),))))
    assert notes(commands, "dropped") == [{"why": "no table", "frame": "leg", "source": "other"}]


def test_data_of_a_leg_may_go_back_over_the_link_that_the_leg_came_by() -> None:
    node = broker_node()
    play(node, ("c", install(1, entry(A, None, {"s": None, "g0": None}))))
    assert [to for to, _ in sends(play(node, ("s", leg(1, keys=(A,)))), Data)] == ["s", "g0"]


# --- tallies


def test_a_tally_is_cut_to_the_gateways_behind_each_link(middle: Node) -> None:
    commands = play(middle, ("s", tally(9, {0: 4, 1: 7})))
    assert [(to, frame.counts) for to, frame in sends(commands, Tally)] == [("g0", {0: 4}), ("g1", {1: 7})]


def test_a_tally_goes_to_gateways_that_were_sent_nothing(middle: Node) -> None:
    commands = play(middle, ("s", tally(9, {0: 4})))
    assert [(to, frame.counts) for to, frame in sends(commands, Tally)] == [("g0", {0: 4}), ("g1", {})]


def test_a_tally_goes_up_to_the_rendezvous_point_and_turns_there() -> None:
    said = Tally(A, 1, 0, 0, "s", 1, 9, {0: 4}, False, "g1")
    on_the_way = broker_node()
    play(on_the_way, ("c", install(1, entry(A, "g1", {"g0": None}, ups=(("s", "g1"),)))))
    assert sends(play(on_the_way, ("s", said)), Tally) == [("g1", said)]

    root = broker_node("g1")
    play(root, ("c", install(1, entry(A, None, {"m": None}))))
    ((to, turned),) = sends(play(root, ("m", said)), Tally)
    assert to == "m"  # where it came from: the tree begins with the last link of the leg
    assert (turned.rendezvous, turned.counts) == (None, {0: 4})


def test_a_tally_does_not_go_where_no_gateway_is() -> None:
    node = broker_node()
    play(node, ("c", install(1, entry(KEY, "s", {"g0": 0b1, "g1": 0}))))
    assert [to for to, _ in sends(play(node, ("s", tally(9, {0: 1}))), Tally)] == ["g0"]


# --- a child that cannot keep up


def test_a_congested_child_is_shed_and_its_siblings_are_not(middle: Node) -> None:
    play(middle, Congested("g0"))
    commands = play(middle, ("s", data(1, 2, masks=(3, 3))))
    assert [to for to, _ in sends(commands, Data)] == ["g1"]
    assert results(commands, MessagesShed) == [MessagesShed("g0", 2)]
    play(middle, Relieved("g0"))
    assert [to for to, _ in sends(play(middle, ("s", data(3, masks=(3,)))), Data)] == ["g0", "g1"]


def test_a_congested_child_still_hears_tallies(middle: Node) -> None:
    play(middle, Congested("g0"))
    assert [to for to, _ in sends(play(middle, ("s", tally(9, {0: 1}))), Tally)] == ["g0", "g1"]


# --- by content


def filtering(me: str, links: dict[str, tuple[int, ...]], bit: int | None = None) -> Node:
    made = tuple(TreeLink(to, None, places) for to, places in links.items())
    held = Entry(KEY, "s", made, (), bit, False, (topic("a/b"), topic("c")))
    node = broker_node(me) if bit is None else gateway_node(me)
    play(node, ("c", install(1, held, members={1: (KEY,)}, bit=bit)))
    return node


def test_content_filtering_sends_over_a_link_what_is_wanted_behind_it() -> None:
    node = filtering("m", {"g0": (0,), "g1": (0, 1)})
    frame = Data(KEY, 1, "s", (1, 2, 3), None, (body("a/b"), body("c"), body("d")))
    assert [(to, part.numbers) for to, part in sends(play(node, ("s", frame)), Data)] == [("g0", (1,)), ("g1", (1, 2))]


def test_content_filtering_passes_a_frame_on_whole_where_all_is_wanted() -> None:
    node = filtering("m", {"g0": (0,), "g1": (1,)})
    frame = data(1, 2, text="a/b")
    ((to, sent),) = sends(play(node, ("s", frame)), Data)
    assert to == "g0"
    assert sent is frame


def test_content_filtering_counts_each_message_that_it_looks_into_once(middle: Node) -> None:
    node = filtering("m", {"g0": (0,), "g1": (1,)})
    play(node, ("s", data(1, 2)), ("s", data(3)))
    assert node.broker.evaluations == 3
    play(middle, ("s", data(1, 2, masks=(3, 3))))
    assert middle.broker.evaluations == 0


def test_content_filtering_lets_the_gateway_here_have_only_what_it_wants() -> None:
    broker = Broker("g0")
    held = Entry(KEY, "m", (TreeLink("g0", None, (0,)),), (), 0, False, (topic("a/b"),))
    broker.install(install(1, held), 1)
    frame = Data(KEY, 1, "s", (1, 2), None, (body("x"), body("a/b")))
    assert broker.forward(frame, "m") == ([], [data(2, text="a/b")])


# --- acks


def acks(node: Node, at: float) -> list[tuple[str, Ack]]:
    return sends(tick(node, at), Ack)


def test_a_broker_says_nothing_upwards_until_all_children_have_spoken(middle: Node) -> None:
    play(middle, ("g0", Ack(KEY, {"s": 5})))
    assert acks(middle, 1) == []
    play(middle, ("g1", Ack(KEY, {"s": 3})))
    assert acks(middle, 2) == [("s", Ack(KEY, {"s": 3}))]


def test_acks_go_up_as_the_least_of_all_children_per_source(middle: Node) -> None:
    play(middle, ("g0", Ack(KEY, {"s": 5, "t": 2, "u": 1})), ("g1", Ack(KEY, {"s": 3, "t": 7})))
    assert acks(middle, 1) == [("s", Ack(KEY, {"s": 3, "t": 2}))]
    play(middle, ("g1", Ack(KEY, {"s": 9, "t": 9, "u": 9})))
    assert acks(middle, 2) == [("s", Ack(KEY, {"s": 5, "t": 2, "u": 1}))]


def test_after_a_restart_a_broker_is_silent_until_all_children_have_spoken_again(middle: Node) -> None:
    play(middle, ("g0", Ack(KEY, {"s": 5})), ("g1", Ack(KEY, {"s": 3})))
    fallen = broker_node()
    assert acks(fallen, 1) == []
    play(fallen, ("c", install(1, entry(KEY, "s", {**BOTH, "s": 0}, acks=True))), ("g1", Ack(KEY, {"s": 9})))
    assert acks(fallen, 2) == []
    play(fallen, ("g0", Ack(KEY, {"s": 5})))
    assert acks(fallen, 3) == [("s", Ack(KEY, {"s": 5}))]


def test_acks_leave_the_tree_at_its_root_for_each_source() -> None:
    node = broker_node()
    play(node, ("c", install(1, entry(KEY, None, {"g0": 1}, acks=True))), ("g0", Ack(KEY, {"s": 5, "t": 2})))
    assert acks(node, 1) == [("s", Ack(KEY, {"s": 5}, True)), ("t", Ack(KEY, {"t": 2}, True))]


def test_links_without_gateways_and_trees_without_acks_are_not_waited_for(middle: Node) -> None:
    play(middle, ("c", install(2, entry(KEY, "s", {"g0": 1, "g1": 0}, acks=True), entry(OTHER, "s", OPEN))))
    play(middle, ("g0", Ack(KEY, {"s": 5})), ("g0", Ack(OTHER, {"s": 5})), ("g1", Ack(OTHER, {"s": 5})))
    assert acks(middle, 1) == [("s", Ack(KEY, {"s": 5}))]


def test_a_tree_that_was_given_up_and_comes_back_is_acked_anew(middle: Node) -> None:
    play(middle, ("g0", Ack(KEY, {"s": 5})), ("g1", Ack(KEY, {"s": 3})))
    play(middle, ("c", install(2)), ("c", install(3, entry(KEY, "s", {**BOTH, "s": 0}, acks=True))))
    assert acks(middle, 1) == []


def test_acks_of_trees_that_are_not_known_are_not_remembered(middle: Node) -> None:
    commands: list[Command] = play(middle, ("g0", Ack(OTHER, {"s": 5})))
    play(middle, ("c", install(2, entry(OTHER, "s", {"g0": 1}, acks=True))))
    assert commands == []
    assert acks(middle, 1) == []
