"""Answers from a source's log: what a gateway misses, and what a profile matched before it was subscribed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from semcast.protocol.contract import Synced
from semcast.protocol.node import Node
from semcast.protocol.stores import Record
from semcast.protocol.wire.frames import Ack, Caught, Data, Fetch, Fill, Repair
from tests.protocol.playbook import (
    KEY,
    OTHER,
    SETTINGS,
    MemoryLog,
    MemoryNotes,
    body,
    entry,
    frames,
    install,
    lease,
    log_and_sync,
    only,
    planned,
    play,
    publish,
    sends,
    source_node,
    switch,
    topic,
)


@pytest.fixture
def source() -> Node:
    """A source with six messages: 1, 3 and 5 are for ``g0``, 2 for ``g1``, 4 for both, 6 for nobody."""
    node = source_node()
    profiles = {"a": ("g0",), "b": ("g1",), "c": ("g0", "g1")}
    tables = install(1, entry(KEY, None, {"m": 3}), entry(OTHER, None, {"m": 3}))
    play(node, ("c", tables), ("c", switch(1, planned(), profiles=profiles)), ("c", lease(1)))
    log_and_sync(node, 0, "a", "b", "a", "c", "a", "x")
    return node


def ask(node: Node, first: int | None, *, have: tuple[int, ...] = (), credit: int = 9, through: int | None = None,
        gateway: str = "g0") -> tuple[list[int], Caught]:  # fmt: skip
    """Fetch; the numbers that come, and the end of the answer."""
    commands = play(node, (gateway, Fetch(gateway, 7, first, have, credit, through)))
    assert {to for to, _ in sends(commands, object)} == {gateway}
    return [number for repair in frames(commands, Repair) for number in repair.numbers], only(commands, Caught)


# --- fetch


def test_a_fetch_is_answered_with_exactly_what_was_for_the_gateway(source: Node) -> None:
    numbers, caught = ask(source, 0)
    assert numbers == [1, 3, 4, 5]
    assert (caught.request, caught.first, caught.through, caught.sent, caught.more) == (7, 0, 6, 4, False)
    assert (caught.epoch, caught.since, caught.counts) == (1, 0, ((KEY, 4),))
    assert ask(source, 0, gateway="g1")[0] == [2, 4]


def test_a_repair_has_the_bodies_that_were_logged(source: Node) -> None:
    commands = play(source, ("g0", Fetch("g0", 7, 3, (), 9)))
    assert only(commands, Repair) == Repair("s", 7, (4, 5), (body("c"), body("a")))


def test_what_the_gateway_has_is_left_out_and_not_counted(source: Node) -> None:
    numbers, caught = ask(source, 1, have=(3, 5))
    assert numbers == [4]
    assert (caught.first, caught.through, caught.sent) == (1, 6, 1)


def test_credit_bounds_an_answer_and_says_that_there_is_more(source: Node) -> None:
    numbers, caught = ask(source, 0, credit=2)
    assert numbers == [1, 3]
    assert (caught.through, caught.sent, caught.more, caught.counts) == (3, 2, True, ())
    numbers, caught = ask(source, 3, credit=2)
    assert numbers == [4, 5]
    assert (caught.through, caught.more, caught.counts) == (6, False, ((KEY, 4),))


def test_an_answer_that_finds_little_ends_after_a_bounded_search() -> None:
    node = source_node()
    play(node, ("c", switch(1, planned())), ("c", lease(1)))
    log_and_sync(node, 0, *["x"] * 40, "a")
    numbers, caught = ask(node, 0, credit=1)
    assert numbers == []
    assert 1 <= caught.through < 40
    assert caught.more


def test_nothing_beyond_what_is_asked_for_is_sent_and_no_counts_either(source: Node) -> None:
    numbers, caught = ask(source, 0, through=3)
    assert numbers == [1, 3]
    assert (caught.through, caught.more, caught.counts) == (3, True, ())


def test_what_is_not_synced_is_not_in_an_answer(source: Node) -> None:
    play(source, ("pub", publish(6, "a")))
    numbers, caught = ask(source, 4)
    assert numbers == [5]
    assert (caught.through, caught.counts) == (6, ((KEY, 4),))


def test_a_gateway_that_knows_nothing_is_told_where_the_source_stands(source: Node) -> None:
    numbers, caught = ask(source, None)
    assert numbers == []
    assert (caught.first, caught.through, caught.lost, caught.counts) == (6, 6, 0, ((KEY, 4),))


def test_a_source_without_a_plan_answers_only_where_it_stands() -> None:
    node = source_node()
    assert ask(node, None)[1] == Caught("s", 7, 1, 0, 0, 0)
    assert play(node, ("g0", Fetch("g0", 7, 0))) == []


def test_what_was_trimmed_is_named_as_lost(source: Node) -> None:
    play(source, ("m", Ack(KEY, {"s": 3}, True)))
    numbers, caught = ask(source, 1)
    assert numbers == [4, 5]
    assert (caught.first, caught.through, caught.lost) == (1, 6, 3)
    assert ask(source, 3)[1].lost == 0


def test_counts_are_of_trees_that_may_still_bring_something_to_this_gateway(source: Node) -> None:
    third = ("c2", 2)
    play(source, ("pub", publish(6, "a")))
    play(source, ("c", switch(2, planned(OTHER), planned(third, (1,)))))
    assert ask(source, 0)[1].counts == ((OTHER, 0), (KEY, 4))  # 7 will go over the old tree
    play(source, Synced(7))
    assert ask(source, 0)[1].counts == ((OTHER, 0),)


def test_an_unknown_gateway_gets_no_answer(source: Node) -> None:
    assert play(source, ("g9", Fetch("g9", 7, 0))) == []


def test_answers_are_cut_into_batches() -> None:
    node = source_node(settings=replace(SETTINGS, batch=2))
    play(node, ("c", switch(1, planned())), ("c", lease(1)))
    log_and_sync(node, 0, "a", "a", "a")
    commands = play(node, ("g0", Fetch("g0", 7, 0)))
    assert [repair.numbers for repair in frames(commands, Repair)] == [(1, 2), (3,)]


# --- gateways that are away


def back_on_a_tree(source: Node) -> None:
    """``g1`` was away, message 7 was for it, and it is back before that is durable."""
    profiles = {"a": ("g0",), "b": ("g1",)}
    play(source, ("c", switch(2, planned(OTHER, (0,)), profiles=profiles, absent=("g1",))), ("c", lease(2)))
    play(source, ("pub", publish(6, "b")))
    play(source, ("c", switch(3, planned(("c2", 3)), profiles=profiles)), ("c", lease(3)))


def test_a_gateway_gets_no_counts_before_what_it_is_owed_off_all_trees_is_durable(source: Node) -> None:
    """By counts it would be through with all trees, and take what no tree carries for nothing."""
    back_on_a_tree(source)
    numbers, caught = ask(source, 0, gateway="g1")
    assert numbers == [2, 4]
    assert (caught.through, caught.more, caught.counts) == (6, True, ())
    assert ask(source, 0)[1].counts, "g0 was on trees all the time"
    log_and_sync(source, 7)
    numbers, caught = ask(source, 6, gateway="g1")
    assert numbers == [7]
    assert (caught.through, caught.more, caught.counts) == (7, False, ((("c2", 3), 0),))


def test_a_gateway_that_knows_nothing_begins_behind_what_it_is_owed_off_all_trees(source: Node) -> None:
    back_on_a_tree(source)
    assert play(source, ("g1", Fetch("g1", 7, None))) == []
    log_and_sync(source, 7)
    assert ask(source, None, gateway="g1")[1].through == 7


def test_messages_on_a_tree_that_was_given_up_before_they_were_durable_are_fetched(source: Node) -> None:
    play(source, ("pub", publish(6, "a")))
    play(source, ("c", switch(2, planned(OTHER), profiles={"a": ("g0",)})), ("c", lease(2)))
    play(source, ("c", install(2, entry(OTHER, None, {"m": 3}))))  # the first tree is gone
    assert ask(source, 6)[1].counts == ()
    log_and_sync(source, 7)
    numbers, caught = ask(source, 6)
    assert numbers == [7]
    assert caught.counts == ((OTHER, 0),)


def test_what_an_absent_gateway_is_owed_is_logged_and_fetched_later(source: Node) -> None:
    profiles = {"a": ("g0",), "b": ("g1",)}
    play(source, ("c", switch(2, planned(OTHER, (0,)), profiles=profiles, absent=("g1",))), ("c", lease(2)))
    sent = frames(log_and_sync(source, 6, "b", "a"), Data)
    assert [(frame.numbers, frame.masks) for frame in sent] == [((8,), (0b01,))]  # 7 is sent to nobody
    assert ask(source, 6, gateway="g1")[0] == [7]


def test_what_a_gateway_that_was_never_known_did_not_ask_for_is_lost_to_it() -> None:
    log, notes = MemoryLog(), MemoryNotes()
    node = source_node(log, notes=notes)
    alone = switch(1, planned(KEY, (0,)), profiles={"a": ("g0",)}, gateways=("g0",))
    play(node, ("c", alone), ("c", lease(1)))
    log_and_sync(node, 0, "a", "b")
    play(node, ("c", switch(2, planned(OTHER))), ("c", lease(2)))
    log_and_sync(node, 2, "b")
    numbers, caught = ask(node, 0, gateway="g1")
    assert (numbers, caught.lost) == ([3], 2)

    again = source_node(log, notes=notes, incarnation=2)  # and that is remembered
    play(again, ("c", switch(2, planned(OTHER))))
    numbers, caught = ask(again, 0, gateway="g1")
    assert (numbers, caught.lost) == ([3], 2)
    assert ask(again, 0)[1].lost == 0


def test_a_restarted_source_answers_from_its_log_under_its_new_incarnation() -> None:
    log, notes = MemoryLog(), MemoryNotes()
    node = source_node(log, notes=notes)
    play(node, ("c", switch(1, planned())), ("c", lease(1)), ("pub", publish(0, "a", "b", "a")))
    again = source_node(log, notes=notes, incarnation=2)
    play(again, ("c", switch(1, planned())))
    numbers, caught = ask(again, 0)
    assert numbers == [1, 3]
    assert (caught.incarnation, caught.through, caught.counts) == (2, 3, ((KEY, 0),))


# --- fill


def fill(node: Node, text: str, first: int, credit: int = 9) -> tuple[list[int], Caught]:
    commands = play(node, ("g1", Fill("g1", 8, topic(text), first, credit)))
    return [number for repair in frames(commands, Repair) for number in repair.numbers], only(commands, Caught)


def test_a_fill_finds_what_a_profile_matches_whoever_it_was_sent_to(source: Node) -> None:
    numbers, caught = fill(source, "a", 0)
    assert numbers == [1, 3, 5]
    assert (caught.request, caught.first, caught.through, caught.sent, caught.counts) == (8, 0, 6, 3, ())
    assert fill(source, "x", 0)[0] == [6]


def test_a_fill_begins_behind_its_position_and_ends_with_its_credit(source: Node) -> None:
    numbers, caught = fill(source, "a", 1, credit=1)
    assert numbers == [3]
    assert (caught.through, caught.more) == (4, True)
    assert fill(source, "a", 4)[0] == [5]


def test_a_fill_names_what_was_trimmed(source: Node) -> None:
    play(source, ("m", Ack(KEY, {"s": 3}, True)))
    numbers, caught = fill(source, "a", 0)
    assert (numbers, caught.lost) == ([5], 3)


# --- damage


class HoledLog(MemoryLog):
    """A log of which some records could not be read any more and were given up."""

    hole = range(0)

    def read(self, first: int, through: int, limit: int) -> list[Record]:
        there = super().read(first, through, self.end)
        return [record for record in there if record.number not in self.hole][:limit]


@pytest.fixture
def holed() -> Node:
    """A source with seven messages for ``g0``, of which 3 and 4 are gone."""
    log = HoledLog()
    node = source_node(log)
    play(node, ("c", switch(1, planned())), ("c", lease(1)))
    log_and_sync(node, 0, *"aaaaaaa")
    log.hole = range(3, 5)
    return node


@pytest.mark.parametrize("asks", [ask, lambda node, first: fill(node, "a", first)])
def test_an_answer_ends_before_a_hole_and_the_next_names_it_as_lost(
    holed: Node, asks: Callable[[Node, int], tuple[list[int], Caught]]
) -> None:
    numbers, caught = asks(holed, 0)
    assert numbers == [1, 2]
    assert (caught.through, caught.more, caught.lost, caught.counts) == (2, True, 0, ())
    numbers, caught = asks(holed, 2)
    assert numbers == [5, 6, 7]
    assert (caught.through, caught.more, caught.lost) == (7, False, 4)
    assert asks(holed, 3)[1].lost == 4
    assert asks(holed, 4)[1].lost == 0


def test_a_hole_at_the_end_of_the_log_is_lost_too(holed: Node) -> None:
    holed.source.log.hole = range(6, 8)  # type: ignore[union-attr]
    assert ask(holed, 2)[1].through == 5
    numbers, caught = ask(holed, 5)
    assert (numbers, caught.through, caught.lost, caught.more) == ([], 7, 7, False)
