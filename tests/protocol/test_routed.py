"""Messages that were matched and routed elsewhere: taken in under the plan that is followed, and under no other."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.model.message import Message, ProfileText, packed, unpacked
from semcast.protocol.client.appender import Appender
from semcast.protocol.contract import AppendFrame, Command, Received, ResumeAppending, Send, Sync, Synced, Tick
from semcast.protocol.filters import Filter
from semcast.protocol.node import Node
from semcast.protocol.results import PlanStale
from semcast.protocol.source.followed_plan import PlanFollowing
from semcast.protocol.source.routing import append_frame
from semcast.protocol.stores import AWAY
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import Ack, Append, Data, Fill, Ingested, Publish, Published, Refused, Repair, Switch
from tests.protocol.playbook import (
    BOTH,
    KEY,
    OTHER,
    SETTINGS,
    entry,
    frames,
    install,
    lease,
    only,
    planned,
    play,
    results,
    source_node,
    switch,
)

PROFILES = {"a": ("g0",), "b": ("g1",), "a/b": ("g1",)}


def routed(told: Switch, first: int, *topics: str, since: int = 0) -> Append:
    """As a task makes a frame: matched and routed by the plan that it was told."""
    messages = [Message("news", b"%d" % (first + at), topic) for at, topic in enumerate(topics)]
    ways = PlanFollowing(told, "s", Filter()).route(messages)
    bodies = [packed(message) for message in messages]
    return append_frame("q", first, since, told.epoch, bodies, [way.routes for way in ways], [ways[0].profiles])


def plan(epoch: int, absent: tuple[str, ...] = ()) -> Switch:
    there = tuple(bit for bit, gateway in enumerate(("g0", "g1")) if gateway not in absent)
    return switch(epoch, planned(KEY if epoch % 2 else OTHER, there), profiles=PROFILES, absent=absent)


def following(epoch: int = 1, absent: tuple[str, ...] = ()) -> Node:
    node = source_node()
    tables = install(1, entry(KEY, None, BOTH, acks=True), entry(OTHER, None, BOTH, acks=True))
    play(node, ("c", tables), ("c", plan(epoch, absent)), ("c", lease(epoch, lease_s=1e9)))
    return node


def records(node: Node) -> list[object]:
    assert node.source is not None
    return list(node.source.log.read(0, node.source.log.end, 1000))


def test_what_was_routed_elsewhere_is_logged_and_sent_as_if_it_was_routed_here() -> None:
    node = following()
    frame = decode(encode(routed(plan(1), 0, "a", "b", "z", "a/b")))
    assert play(node, ("task", frame)) == [Sync(4)]
    commands = play(node, Synced(4))
    assert only(commands, Published) == Published("q", 3, 4, 4)
    sent = only(commands, Data)
    assert (sent.key, sent.numbers, sent.masks) == (KEY, (1, 2, 4), (0b01, 0b10, 0b11))


@pytest.mark.parametrize("epoch", [1, 3])
def test_what_was_routed_by_another_plan_is_refused_with_the_one_that_counts(epoch: int) -> None:
    refused = only(play(following(2), ("task", routed(plan(epoch), 0, "a"))), Refused)
    assert (refused.epoch, refused.unfit, refused.expected) == (2, None, None)


def test_what_is_in_the_log_is_acknowledged_whatever_plan_is_followed_by_now() -> None:
    node = following(1)
    frame = routed(plan(1), 0, "a", "b")
    play(node, ("task", frame), Synced(2), ("c", plan(2)), ("c", lease(2)))
    assert only(play(node, ("task", frame)), Published).through == 1


def test_what_is_owed_to_who_is_away_is_logged_for_him() -> None:
    node = following(1, ("g1",))
    play(node, ("task", routed(plan(1, ("g1",)), 0, "b")))
    assert records(node)[0].routes[-1] == (AWAY, 0b10)  # type: ignore[attr-defined]


def test_of_a_frame_that_overlaps_only_the_rest_is_logged() -> None:
    node = following()
    play(node, ("task", routed(plan(1), 0, "a", "b")), ("task", routed(plan(1), 1, "b", "a")))
    assert [unpacked(record.body).payload for record in records(node)] == [b"0", b"1", b"2"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trees": (("x", 9),)}, "no tree x 9"),
        ({"ways": (((0, b"\xff"),),)}, "no tree c0 1 for these gateways"),
        ({"ways": (((5, b"\x01"),),)}, "no tree"),
        ({"ways": ()}, "a way that is not there"),
        ({"taken": b"\x00"}, "1 messages with 0 ways"),
        ({"bodies": (b"\xc1",)}, "no message"),
        ({"bodies": (packed(Message("other", b"", "a")),)}, "there is no stream 'other'"),
    ],
)
def test_what_makes_no_sense_gets_no_further(change: dict[str, object], reason: str) -> None:
    node = source_node(streams=Streams({"news": Stream(language="topic")}))
    play(node, ("c", install(1, entry(KEY, None, BOTH))), ("c", plan(1)), ("c", lease(1)))
    broken = msgspec.structs.replace(routed(plan(1), 0, "a"), **change)
    refused = only(play(node, ("task", broken)), Refused)
    assert reason in refused.reason
    assert refused.unfit == 0
    assert records(node) == []


# --- an appender whose messages have to be routed anew


def appender() -> Appender:
    return Appender("q", "s", settings=SETTINGS)


def test_routed_by_an_old_plan_it_stops_and_goes_on_with_what_was_routed_anew() -> None:
    machine = appender()
    machine.handle(AppendFrame(routed(plan(1), 0, "a")), 0.0)
    commands = play(machine, ("s", Refused("q", 0, "old", epoch=2)))
    assert results(commands, PlanStale) == [PlanStale(2)]
    assert machine.handle(Tick(), 99.0) == []
    again = machine.handle(ResumeAppending([routed(plan(2), 0, "a")]), 0.0)
    assert [frame.epoch for frame in frames(again, Append)] == [2]
    assert play(machine, ("s", Refused("q", 0, "old", epoch=2))) == []  # an answer to what was said before


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8),
    switches=st.lists(st.booleans(), max_size=40),
    lost=st.lists(st.booleans(), max_size=40),
)
def test_every_message_is_logged_once_by_the_plan_that_counts_where_it_stands(
    sizes: list[int], switches: list[bool], lost: list[bool]
) -> None:
    """While plans change and frames are lost between a task and its source."""
    node, machine, told, epoch, now = following(1), appender(), plan(1), 1, 0.0
    topics, turns, losses = ("a", "b", "z", "a/b"), list(switches), list(lost)
    todo: list[Command] = []
    first = 0
    for size in sizes:
        todo += machine.handle(AppendFrame(routed(told, first, *topics[:size])), now)
        first += size
    while machine.waiting:
        if not todo:
            now += SETTINGS.resend_s
            todo = machine.handle(Tick(), now)
            continue
        command = todo.pop(0)
        if isinstance(command, PlanStale):
            told = plan(epoch)
            anew = [routed(told, old.first, *_topics(old)) for old in machine.frames if isinstance(old, Append)]
            todo += machine.handle(ResumeAppending(anew), now)
        if not isinstance(command, Send):
            continue
        if turns and turns.pop(0):
            epoch += 1
            play(node, ("c", plan(epoch)), ("c", lease(epoch, lease_s=1e9)))
        if losses and losses.pop(0):
            continue
        assert node.source is not None
        answers = play(node, ("task", command.frame)) + play(node, Synced(node.source.log.end))
        for answer in [*frames(answers, Published), *frames(answers, Refused)]:
            todo += machine.handle(Received("s", answer), now)
    logged = records(node)
    assert [record.sequence for record in logged] == list(range(first))  # type: ignore[attr-defined]
    for record in logged:
        (way,) = PlanFollowing(plan(record.epoch), "s", Filter()).route([unpacked(record.body)])  # type: ignore[attr-defined]
        assert record.routes == way.routes  # type: ignore[attr-defined]
    epochs = [record.epoch for record in logged]  # type: ignore[attr-defined]
    assert epochs == sorted(epochs)


def _topics(frame: Append) -> list[str]:
    return [unpacked(body).topic or "" for body in frame.bodies]


# --- what waits for a pipeline

LATER = Streams({"news": Stream(language="topic", mode="spark"), "now": Stream(language="topic")})


def waiting_source() -> Node:
    node = source_node(streams=LATER)
    tables = install(1, entry(KEY, None, BOTH, acks=True))
    play(node, ("c", tables), ("c", switch(1, planned(), profiles={"a": ("g0",)})), ("c", lease(1, lease_s=1e9)))
    return node


def test_what_is_published_on_a_stream_of_mode_spark_waits_in_the_log_and_is_sent_to_nobody() -> None:
    node = waiting_source()
    play(node, ("pub", Publish("p", 0, (Message("news", b"0", "a"), Message("now", b"1", "a")))))
    commands = play(node, Synced(2))
    assert only(commands, Published).through == 1
    assert [record.epoch for record in records(node)] == [0, 1]  # type: ignore[attr-defined]
    filled = play(node, ("g0", Fill("g0", 1, ProfileText("news", "topic", "a"), 0)))
    assert frames(filled, Repair) == []


def test_the_log_keeps_what_waits_until_a_pipeline_is_through_with_it() -> None:
    node = waiting_source()
    play(node, ("pub", Publish("p", 0, (Message("news", b"0", "a"), Message("now", b"1", "z")))), Synced(2))
    assert node.source is not None
    node.source.log.sync(2)  # type: ignore[attr-defined]
    play(node, ("m", Ack(KEY, {"s": 2}, True)))
    assert node.source.log.trimmed == 0
    play(node, ("pipe", Ingested(1)))
    assert node.source.log.trimmed == 1
