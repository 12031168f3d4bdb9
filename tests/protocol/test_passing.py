"""Forwarding in bytes, piece by piece: what goes where, and what is left to the machine."""

from __future__ import annotations

import pytest

from semcast.protocol.broker.forwarding import ROOM, Crossing
from semcast.protocol.contract import Command, Congested, Local, Note, Passed, Received, Relieved
from semcast.protocol.node import Node
from semcast.protocol.results import MessagesShed, Result
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import AnyFrame, Data
from semcast.protocol.wire.framing import FrameError
from tests.protocol.playbook import (
    KEY,
    OTHER,
    body,
    broker_node,
    data,
    entry,
    gateway_node,
    install,
    lease,
    log_and_sync,
    planned,
    play,
    sends,
    source_node,
    switch,
    tally,
)  # fmt: skip

Found = Command | Local | Received


@pytest.fixture
def middle() -> Node:
    node = broker_node()
    play(node, ("c", install(1, entry(KEY, "s", {"s": 0, "g0": 1, "g1": 2}))))
    return node


def feed(node: Node, *frames: AnyFrame, sender: str = "s") -> list[Found]:
    return list(node.crossing.passage(sender).feed(b"".join(map(encode, frames))))


def passed(found: list[Found]) -> dict[str, list[AnyFrame]]:
    """The frames that go on, by neighbour."""
    streams = {one.to: one.data for one in found if isinstance(one, Passed)}
    return {to: split(stream) for to, stream in streams.items()}


def split(stream: bytes) -> list[AnyFrame]:
    frames = []
    while stream:
        size = 4 + int.from_bytes(stream[:4], "little")
        frames.append(decode(stream[:size]))
        stream = stream[size:]
    return frames


def test_a_run_of_frames_goes_on_in_one_piece_per_link(middle: Node) -> None:
    found = feed(middle, data(1, masks=(3,)), data(2, masks=(1,)), data(3, 4, masks=(2, 3)))
    assert [(one.to, one.frames, one.messages) for one in found if isinstance(one, Passed)] == [
        ("g0", 3, 3), ("g1", 2, 3),
    ]  # fmt: skip
    assert passed(found) == {
        "g0": [data(1, masks=(1,)), data(2, masks=(1,)), data(4, masks=(1,))],
        "g1": [data(1, masks=(2,)), data(3, 4, masks=(2, 2))],
    }


def test_gateways_that_no_link_here_leads_to_are_cut_off_a_mask() -> None:
    node = broker_node()
    play(node, ("c", install(1, entry(KEY, "s", {"g0": 1}))))
    assert passed(feed(node, data(1, masks=(1 | 1 << 100,)))) == {"g0": [data(1, masks=(1,))]}


def test_an_empty_mask_goes_nowhere(middle: Node) -> None:
    assert feed(middle, data(1, masks=(0,)), data(2, 3, masks=(0, 0))) == []


def test_a_tally_does_not_overtake_data_of_its_tree(middle: Node) -> None:
    first, second, third = feed(middle, data(1, masks=(1,)), tally(1, {0: 1}), data(2, masks=(1,)))
    assert isinstance(first, Passed)
    assert second == Received("s", tally(1, {0: 1}))
    assert isinstance(third, Passed)


def test_tables_that_come_between_data_count_for_what_comes_after_them(middle: Node) -> None:
    frames = (data(1, masks=(3,)), install(2, entry(KEY, "s", {"g1": 3})), data(2, masks=(3,)))
    seen: list[tuple[str, AnyFrame]] = []
    for found in middle.crossing.passage("s").feed(b"".join(map(encode, frames))):
        if isinstance(found, Received):
            middle.handle(found, 0.0)
        elif isinstance(found, Passed):
            seen.append((found.to, decode(found.data)))
    assert seen == [("g0", data(1, masks=(1,))), ("g1", data(1, masks=(2,))), ("g1", data(2, masks=(3,)))]


def test_a_congested_link_is_shed_once_per_run_and_its_siblings_are_not(middle: Node) -> None:
    play(middle, Congested("g0"))
    found = feed(middle, data(1, 2, masks=(3, 3)), data(3, masks=(3,)), data(4, masks=(2,)))
    assert [one for one in found if isinstance(one, Result)] == [MessagesShed("g0", 3)]
    assert list(passed(found)) == ["g1"]
    play(middle, Relieved("g0"))
    assert list(passed(feed(middle, data(5, masks=(3,))))) == ["g0", "g1"]


def test_a_tree_that_is_not_known_is_left_to_the_machine(middle: Node) -> None:
    frame = data(1, key=OTHER, masks=(3,))
    (found,) = feed(middle, frame)
    assert found == Received("s", frame)
    assert isinstance(found, Received)
    assert [command.what for command in middle.handle(found, 0.0) if isinstance(command, Note)] == ["dropped"]


def test_the_gateway_here_gets_its_part_as_frames() -> None:
    node = gateway_node("g0")
    play(node, ("c", install(1, entry(KEY, "m", {"m": 2}, bit=0), members={1: (KEY,)}, bit=0)))
    found = feed(node, data(1, 2, masks=(1, 2)), data(3, masks=(3,)), sender="m")
    assert found == [Local("m", (data(1, masks=(1,)), data(3, masks=(1,))))]


def test_what_is_too_large_for_a_pass_is_split_by_itself(middle: Node) -> None:
    large = Data(KEY, 1, "s", (1, 2), (1, 3), (bytes(ROOM), b"x"))
    play(middle, Congested("g1"))
    found = feed(middle, data(0, masks=(1,)), large, data(3, masks=(1,)))
    assert passed([found[0]]) == {"g0": [data(0, masks=(1,))]}
    assert passed([found[1]]) == {"g0": [Data(KEY, 1, "s", (1, 2), (1, 1), (bytes(ROOM), b"x"))]}
    assert found[2] == MessagesShed("g1", 1)
    assert passed([found[3]]) == {"g0": [data(3, masks=(1,))]}


def test_what_came_before_nonsense_goes_on(middle: Node) -> None:
    passage = middle.crossing.passage("s")
    run = passage.feed(encode(data(1, masks=(1,))) + b"nonsense")
    assert isinstance(next(run), Passed)
    with pytest.raises(FrameError, match="cannot be"):
        next(run)
    with pytest.raises(FrameError, match="cannot be"):
        list(passage.feed(encode(data(2, masks=(1,)))))


def test_a_connection_that_ends_within_a_frame_says_so(middle: Node) -> None:
    passage = middle.crossing.passage("s")
    assert list(passage.feed(encode(data(1, masks=(1,)))[:-1])) == []
    with pytest.raises(FrameError, match="ended within a frame"):
        passage.end()


def test_more_trees_than_slots_at_first_are_all_found() -> None:
    node = broker_node()
    keys = [(f"c{number}", version) for number in range(40) for version in (1, 2)]
    play(node, ("c", install(1, *(entry(key, "s", {"g0": None}) for key in keys))))
    frames = [Data(key, 1, "s", (1,), None, (body(),)) for key in keys]
    assert passed(feed(node, *frames)) == {"g0": frames}


def test_a_source_in_bytes_sends_what_it_sends_in_frames() -> None:
    def sent(in_bytes: bool) -> list[Command]:
        node = source_node(in_bytes=in_bytes)
        play(node, ("c", install(1, entry(KEY, None, {"m": 3}))), ("c", switch(1, planned())), ("c", lease(1)))
        return log_and_sync(node, 0, "a", "b", "nobody")

    frames = sends(sent(False), Data)
    assert frames
    assert [(to, frame) for to, found in passed(list(sent(True))).items() for frame in found] == frames
    assert not sends(sent(True), Data)


def test_a_neighbour_that_a_table_has_twice_is_left_to_the_machine(middle: Node) -> None:
    held = entry(KEY, "s", {"g0": 1})
    play(middle, ("c", install(2, type(held)(held.key, held.parent, held.links * 2))))
    assert isinstance(feed(middle, data(1, masks=(1,)))[0], Received)


def test_a_crossing_needs_no_more_room_than_there_is(middle: Node) -> None:
    frames = [data(number, masks=(3,)) for number in range(50)]
    encoded = b"".join(map(encode, frames))
    found = list(Crossing(middle.broker, room=300).passage("s").feed(encoded))
    stream = b"".join(one.data for one in found if isinstance(one, Passed) and one.to == "g0")
    assert len(found) > 20
    assert split(stream) == [data(number, masks=(1,)) for number in range(50)]
