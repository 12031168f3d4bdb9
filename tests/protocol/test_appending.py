"""An appender beside a real source: frames that are lost, repeated and said again by another run are logged once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semcast.model.message import Message, unpacked
from semcast.protocol.client.appender import Appender
from semcast.protocol.contract import AppendFrame, Command, Received, Send, Synced, Tick
from semcast.protocol.node import Node
from semcast.protocol.results import Appended, AppendRefused, AppendTrouble
from semcast.protocol.wire.frames import Publish, Published, Refused
from tests.protocol.playbook import KEY, SETTINGS, entry, install, lease, planned, play, results, source_node, switch

BASE = 7 << 32


def frame(first: int, count: int) -> Publish:
    messages = tuple(Message("news", b"%d" % (first + place), "a") for place in range(count))
    return Publish("q/0", BASE + first, messages, BASE)


def appender() -> Appender:
    return Appender("q/0", "s", settings=SETTINGS)


def source() -> Node:
    node = source_node()
    tables = install(1, entry(KEY, None, {"m": 0b11}, acks=True))
    play(node, ("c", tables), ("c", switch(1, planned())), ("c", lease(1, lease_s=1e9)))
    return node


def said(commands: list[Command]) -> list[int]:
    return [command.frame.first - BASE for command in commands if isinstance(command, Send)]  # type: ignore[union-attr]


def test_few_frames_are_under_way_and_room_is_used_when_it_is_there() -> None:
    machine = appender()
    sent = [said(machine.handle(AppendFrame(frame(10 * number, 10)), 0.0)) for number in range(6)]
    assert sent == [[0], [10], [20], [30], [], []]
    commands = play(machine, ("s", Published("q/0", BASE + 19)))
    assert said(commands) == [40, 50]
    assert results(commands, Appended) == [Appended(BASE + 19)]
    assert machine.waiting == 4


def test_what_is_not_answered_is_said_again_ever_more_patiently() -> None:
    machine = appender()
    machine.handle(AppendFrame(frame(0, 10)), 0.0)
    once = SETTINGS.resend_s
    assert said(machine.handle(Tick(), once / 2)) == []
    assert said(machine.handle(Tick(), once)) == [0]
    assert said(machine.handle(Tick(), 2 * once)) == []
    assert said(machine.handle(Tick(), 3.1 * once)) == [0]


def test_a_message_that_is_never_taken_ends_it() -> None:
    machine = appender()
    machine.handle(AppendFrame(frame(0, 10)), 0.0)
    commands = play(machine, ("s", Refused("q/0", BASE, "no topic", unfit=BASE + 3)))
    assert results(commands, AppendRefused) == [AppendRefused(BASE + 3, "no topic")]
    assert machine.handle(AppendFrame(frame(10, 10)), 0.0) == []
    assert machine.handle(Tick(), 99.0) == []


def test_a_source_without_a_lease_is_asked_again() -> None:
    machine = appender()
    machine.handle(AppendFrame(frame(0, 10)), 0.0)
    commands = play(machine, ("s", Refused("q/0", BASE, "the source has no lease")))
    assert commands == [AppendTrouble("the source has no lease")]
    assert said(machine.handle(Tick(), SETTINGS.resend_s)) == [0]


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    again=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    fate=st.lists(st.sampled_from(["arrives", "is lost", "comes twice", "answer is lost"]), max_size=60),
    killed=st.integers(0, 30),
)
def test_a_run_that_is_killed_and_another_in_its_place_log_every_message_once(
    sizes: list[int], again: list[int], fate: list[str], killed: int
) -> None:
    """Whatever is lost or doubled, and however the second run cuts the same messages into frames."""
    node, total = source(), sum(sizes)
    _run(node, sizes, total, fate, steps=killed)
    assert _run(node, again, total, fate[::-1], steps=10_000)
    assert node.source is not None
    records = node.source.log.read(0, node.source.log.end, 1000)
    assert [unpacked(record.body).payload for record in records] == [b"%d" % number for number in range(total)]
    assert [record.sequence for record in records] == [BASE + number for number in range(total)]


def _run(node: Node, sizes: list[int], total: int, fate: list[str], steps: int) -> bool:
    """One run, for so many frames at most; was everything acknowledged?"""
    machine, now, fates = appender(), 0.0, list(fate)
    todo: list[Command] = []
    first = 0
    while first < total:
        size = min(sizes[first % len(sizes)], total - first)
        todo += machine.handle(AppendFrame(frame(first, size)), now)
        first += size
    while machine.waiting:
        if not todo:
            now += SETTINGS.resend_s
            todo = machine.handle(Tick(), now)
            continue
        command = todo.pop(0)
        if not isinstance(command, Send):
            assert isinstance(command, Appended | AppendTrouble)
            continue
        if steps == 0:
            return False
        steps -= 1
        how = fates.pop(0) if fates else "arrives"
        for _ in range({"is lost": 0, "comes twice": 2}.get(how, 1)):
            answers = play(node, ("task", command.frame), at=0.0)
            answers += play(node, Synced(node.source.log.end)) if node.source is not None else []
            for answer in answers:
                if isinstance(answer, Send) and isinstance(answer.frame, Published | Refused):
                    if how == "answer is lost":
                        continue
                    todo += machine.handle(Received("s", answer.frame), now)
    return True
