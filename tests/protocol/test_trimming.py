"""What a source may forget: acks, and who is away."""

from __future__ import annotations

from dataclasses import replace

from semcast.protocol.node import Node
from semcast.protocol.wire.frames import Ack
from tests.protocol.playbook import (
    KEY,
    OTHER,
    SETTINGS,
    lease,
    log_and_sync,
    notes,
    planned,
    play,
    source_node,
    switch,
    tick,
)


def trimmed(node: Node) -> int:
    assert node.source is not None
    return node.source.log.trimmed


def test_the_log_is_trimmed_at_the_least_ack_of_the_acking_trees_when_all_have_spoken(source: Node) -> None:
    play(source, ("c", switch(2, planned(), planned(OTHER), planned(("c2", 2), acks=False))), ("c", lease(2)))
    log_and_sync(source, 0, "a", "a", "a", "a")
    assert play(source, ("m", Ack(KEY, {"s": 3}, True))) == []
    assert trimmed(source) == 0
    assert notes(play(source, ("m", Ack(OTHER, {"s": 2}, True))), "trimmed") == [{"through": 2}]
    play(source, ("m", Ack(OTHER, {"s": 4}, True)))
    assert trimmed(source) == 3


def test_a_new_acking_tree_has_to_speak_before_more_is_trimmed(source: Node) -> None:
    log_and_sync(source, 0, "a", "a")
    play(source, ("m", Ack(KEY, {"s": 1}, True)))
    play(source, ("c", switch(2, planned(), planned(OTHER))))
    play(source, ("m", Ack(KEY, {"s": 2}, True)))
    assert trimmed(source) == 1
    play(source, ("m", Ack(OTHER, {"s": 2}, True)))
    assert trimmed(source) == 2


def test_acks_of_trees_that_the_plan_has_not_are_not_counted(source: Node) -> None:
    log_and_sync(source, 0, "a")
    play(source, ("m", Ack(OTHER, {"s": 1}, True)))
    assert trimmed(source) == 0


def test_what_the_coordinator_has_not_heard_of_stays_since_others_may_be_live_behind_what_it_knows() -> None:
    node = source_node()
    play(node, ("c", switch(1, planned())), ("c", lease(1, position=0)))
    log_and_sync(node, 0, "a", "a", "a")
    play(node, ("m", Ack(KEY, {"s": 3}, True)))
    assert trimmed(node) == 0
    play(node, ("c", lease(1, position=2)), ("m", Ack(KEY, {"s": 3}, True)))
    assert trimmed(node) == 2
    play(node, ("c", lease(1, position=1)), ("m", Ack(KEY, {"s": 3}, True)), ("c", lease(1, position=3)))
    assert notes(tick(node, 9.0), "trimmed") == [{"through": 3}]


def test_every_change_of_plan_waits_for_new_acks() -> None:
    """What gateways of the old plan had says nothing of those that are new on the trees."""
    node = source_node()
    play(node, ("c", switch(1, planned())), ("c", lease(1, position=0)))
    log_and_sync(node, 0, "a", "a", "a")
    play(node, ("m", Ack(KEY, {"s": 3}, True)))
    play(node, ("c", switch(2, planned(OTHER))), ("c", lease(2, position=3)), ("m", Ack(OTHER, {"s": 1}, True)))
    assert trimmed(node) == 1


def test_what_is_retained_stays_although_everybody_has_it() -> None:
    node = source_node(settings=replace(SETTINGS, retain=2))
    play(node, ("c", switch(1, planned())), ("c", lease(1)))
    log_and_sync(node, 0, "a", "a", "a")
    play(node, ("m", Ack(KEY, {"s": 3}, True)))
    assert trimmed(node) == 1


def test_the_log_is_kept_for_absent_gateways_up_to_what_is_retained_for_them() -> None:
    node = source_node(settings=replace(SETTINGS, retain_absent=3))
    play(node, ("c", switch(1, planned())), ("c", lease(1)))
    log_and_sync(node, 0, "a", "a")
    play(node, ("m", Ack(KEY, {"s": 1}, True)))
    play(node, ("c", switch(2, planned(OTHER, (0,)), absent=("g1",))), ("c", lease(2)))
    log_and_sync(node, 2, "a", "a")
    play(node, ("m", Ack(OTHER, {"s": 4}, True)))
    assert trimmed(node) == 1  # g1 had no more when it went
    log_and_sync(node, 4, "a", "a")
    play(node, ("m", Ack(OTHER, {"s": 6}, True)))
    assert trimmed(node) == 3  # it has been away for too long


def test_what_is_young_stays_although_everybody_has_it_up_to_as_much_as_for_the_absent() -> None:
    node = source_node(settings=replace(SETTINGS, retain_s=4.0, retain_absent=3))
    play(node, ("c", switch(1, planned())), ("c", lease(1)))
    log_and_sync(node, 0, "a", "a")
    tick(node, 10.0)
    log_and_sync(node, 2, "a")
    play(node, ("m", Ack(KEY, {"s": 3}, True)))
    tick(node, 12.0)
    assert trimmed(node) == 0
    tick(node, 14.0)
    assert trimmed(node) == 2  # what came after ten seconds is not four seconds old
    tick(node, 16.0)
    assert trimmed(node) == 3
    log_and_sync(node, 3, "a", "a", "a", "a", "a")
    play(node, ("m", Ack(KEY, {"s": 8}, True)))
    assert trimmed(node) == 5


def test_when_an_absent_gateway_is_back_its_own_acks_count(source: Node) -> None:
    log_and_sync(source, 0, "a", "a")
    play(source, ("c", switch(2, planned(OTHER, (0,)), absent=("g1",))), ("m", Ack(OTHER, {"s": 2}, True)))
    assert trimmed(source) == 0
    back = ("c2", 3)
    play(source, ("c", switch(3, planned(back))))
    assert trimmed(source) == 0
    play(source, ("m", Ack(back, {"s": 1}, True)))
    assert trimmed(source) == 1  # whatever the others had while it was away
    play(source, ("m", Ack(back, {"s": 2}, True)))
    assert trimmed(source) == 2
