"""Who is within the gateway's process is handed batches; and a gateway beside its source waits for no tally."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semcast.protocol.contract import Command, Handed
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.taps import Tap
from semcast.protocol.node import Node
from semcast.protocol.planned_node import planned_node
from semcast.protocol.wire.frames import Attach, Attached, Caught, Deliver, Fill, Progress, Repair, Taken
from semcast.sim.stores import MemoryNotes
from tests.protocol.gateways import live
from tests.protocol.playbook import KEY, SETTINGS, body, data, entry, frames, install, only, play, tally, tick, topic

A = topic("a")


def near_node() -> Node:
    """The gateway ``g0`` with everything of ``s`` through 10, and ``tap`` within its process."""
    node = planned_node(
        "g0", neighbours=["m"], coordinators=["c"], settings=SETTINGS, notes=MemoryNotes(), gateway=True, near={"tap"}
    )
    play(node, ("c", install(1, entry(KEY, "m", bit=0, acks=True), members={1: (KEY,)}, bit=0)))
    asked = tick(node, 0)
    request = next(command.frame.request for command in asked if hasattr(getattr(command, "frame", None), "request"))
    play(node, ("s", Caught("s", request, 1, 10, 10, 0, epoch=1, counts=((KEY, 0),))))
    return node


def handed(commands: list[Command]) -> list[tuple[tuple[int, ...], int]]:
    return [(command.numbers, command.through) for command in commands if isinstance(command, Handed)]


def attached() -> Node:
    node = near_node()
    play(node, ("tap", Attach("x", A, ordered=True)))
    assert only(play(node, ("c", live(at=10))), Attached).session == "x"
    return node


def test_what_a_tally_completes_is_handed_over_in_one_piece_and_in_order() -> None:
    node = attached()
    assert handed(play(node, ("m", data(13)), ("m", data(11, 12)))) == []
    commands = play(node, ("m", tally(13, {0: 3})))
    assert handed(commands) == [((11, 12, 13), 13)]
    assert frames(commands, Deliver) == []


def test_nothing_is_said_again_and_nothing_is_acknowledged_before_it_is_taken() -> None:
    node = attached()
    (batch,) = [
        command for command in play(node, ("m", data(11)), ("m", tally(11, {0: 1}))) if isinstance(command, Handed)
    ]
    assert handed(tick(node, 5)) == []
    assert node.gateway is not None
    assert node.gateway.acks("s") == 10
    play(node, ("tap", Taken("x", batch.sequence)), at=5)
    assert node.gateway.acks("s") == 11


def test_who_comes_back_is_served_as_everybody_and_then_handed_batches_again() -> None:
    node = attached()
    play(node, ("m", data(11, 12)), ("m", tally(12, {0: 2})))
    play(node, ("tap", Attach("x", A, ordered=True, cursor=(("s", 11),))))
    fill = only(tick(node, 1), Fill)
    assert fill.first == 11
    again = play(
        node, ("s", Repair("s", fill.request, (12,), (body(),))), ("s", Caught("s", fill.request, 1, 11, 12, 1))
    )
    assert [frame.number for frame in frames(again, Deliver)] == [12]
    assert [frame.through for frame in frames(again, Progress)] == [12]
    play(node, ("m", data(13)))
    assert handed(play(node, ("m", tally(13, {0: 3})))) == [((13,), 13)]


def test_a_client_elsewhere_is_sent_messages_one_by_one() -> None:
    node = near_node()
    play(node, ("sub", Attach("x", A, ordered=True)))
    play(node, ("c", live(at=10)), ("m", data(11)))
    commands = play(node, ("m", tally(11, {0: 1})))
    assert handed(commands) == []
    assert [frame.number for frame in frames(commands, Deliver)] == [11]


@given(st.data())
def test_whatever_comes_in_whatever_order_a_tap_gets_what_is_its_own_once_and_in_order(draw: st.DataObject) -> None:
    count = draw.draw(st.integers(1, 30))
    mine = {number for number in range(1, count + 1) if draw.draw(st.booleans())}
    inbox = Inbox("s", 1 << 20)
    inbox.caught(Caught("s", 1, 1, 0, 0, 0))
    session = Tap(Attach("x", A, ordered=True), "tap", 0, draw.draw(st.sampled_from((3, 100))), 60.0, 0.0)
    session.go_live({"s": 0}, {"s": inbox}, {})
    found: list[int] = []
    arrived: set[int] = set()

    def take(commands: list[Command]) -> None:
        found.extend(number for numbers, _ in handed(commands) for number in numbers)
        found.extend(frame.number for frame in frames(commands, Deliver))

    for number in draw.draw(st.permutations(range(1, count + 1))):
        arrived.add(number)
        inbox.top = max(inbox.top, number)
        if number in mine:
            take(session.offer("s", number, b"", {A}))
        if draw.draw(st.booleans()) or len(arrived) == count:
            inbox.frontier = next(n for n in range(count + 1) if n + 1 not in arrived)
            take(session.release("s", inbox.frontier))
        wanted = session.to_fill("s")
        if wanted is not None and (draw.draw(st.booleans()) or len(arrived) == count):
            _, first = wanted
            through = max(first, inbox.frontier)
            take(session.filled("s", {n: b"" for n in mine if first < n <= through}, through, 0))
            session.caught_up(inbox)
            take(session.release("s", inbox.frontier))
    assert found == sorted(mine)
