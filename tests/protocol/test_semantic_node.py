"""A broker of a semantic network, one event at a time: the line ``s`` — ``m`` — ``g``, with a source and a gateway."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semcast.model.message import Message, ProfileText, packed, unpacked
from semcast.profiles.semantic import parse
from semcast.protocol.contract import Command, Congested, Relieved, Synced, Tick
from semcast.protocol.node import Node
from semcast.protocol.results import MessagesShed
from semcast.protocol.semnet.node import semantic_node
from semcast.protocol.semnet.outlet import body_of
from semcast.protocol.settings import Settings
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.wire.frames import (
    Append,
    Attach,
    Attached,
    Beat,
    Deliver,
    Detach,
    Gap,
    Progress,
    Publish,
    Published,
    Refused,
    Taken,
)
from semcast.protocol.wire.frames.semantic import Interest, Packet
from semcast.sim.stores import MemoryLog, MemoryNotes
from semcast.trees.topology import Broker, Link, Topology
from tests.protocol.playbook import frames, only, play, results, sends, tick
from tests.protocol.semantic_network import packet

LINE = Topology.of(
    [Broker("s", roles=("source",)), Broker("m"), Broker("g", roles=("gateway",))], [Link("s", "m"), Link("m", "g")]
)
STREAMS = Streams({"news": Stream(language="semantic"), "other": Stream(language="semantic")})
SETTINGS = Settings(held=4)


def made(name: str, *, incarnation: int = 1, **parts: object) -> Node:
    near = {"s": ["m"], "m": ["s", "g"], "g": ["m"]}[name]
    parts = {"settings": SETTINGS, "notes": MemoryNotes(), "gateway": name == "g", **parts}
    return semantic_node(
        name,
        topology=LINE,
        neighbours=near,
        streams=STREAMS,
        incarnation=incarnation,
        **parts,  # type: ignore[arg-type]
    )


def profile(text: str, stream: str = "news") -> ProfileText:
    return ProfileText(stream, "semantic", str(parse(text)))


def wants(node: Node, text: str, session: str = "x", at: float = 0.0, **options: object) -> list[Command]:
    return play(node, ("client", Attach(session, profile(text), **options)), at=at)  # type: ignore[arg-type]


def comes(node: Node, number: int, name: str = "A", *, by: str = "m", stream: str = "news") -> list[Command]:
    """A packet of the source comes by a neighbour."""
    rest = packed(Message(stream, b"", key=f"k{number}"))
    return play(node, (by, Packet(stream, "s", 1, number, packet(name).encode(), rest)))


def delivered(commands: list[Command], session: str = "x") -> list[int]:
    return [frame.number for frame in frames(commands, Deliver) if frame.session == session]


# --- publishing


def published(node: Node, first: int, *names: str) -> list[Command]:
    messages = tuple(Message("news", packet(name).encode()) for name in names)
    commands = play(node, ("pub", Publish("o", first, messages)))
    assert node.source is not None
    log = node.source.log
    assert isinstance(log, MemoryLog)
    log.sync(log.end)
    return commands + play(node, Synced(log.end))


def test_what_is_published_leaves_when_it_is_durable_and_where_it_is_wanted() -> None:
    node = made("s", log=MemoryLog())
    play(node, ("m", Interest("news", 1, 1, str(parse("A")))))
    message = Message("news", packet("A").encode(), key="k", time_ms=7, headers=(("h", "1"),))
    assert not frames(play(node, ("pub", Publish("o", 0, (message,)))), Packet)
    assert isinstance(node.source and node.source.log, MemoryLog)
    node.source.log.sync(1)  # type: ignore[union-attr]
    commands = play(node, Synced(1))
    ((to, sent),) = sends(commands, Packet)
    assert (to, sent.tree, sent.source, sent.number) == ("m", "news", "s", 1)
    assert unpacked(body_of(sent)) == message
    assert only(commands, Published).position == 1
    assert not frames(published(node, 1, "B"), Packet), "nobody wants it"
    assert node.broker.evaluations == 2


def test_what_a_publisher_repeats_is_sent_once_and_numbers_are_never_used_again() -> None:
    log = MemoryLog()
    node = made("s", log=log)
    play(node, ("m", Interest("news", 1, 1, str(parse("A")))))
    assert len(frames(published(node, 0, "A", "A"), Packet)) == 2
    again = published(node, 0, "A", "A")
    assert not frames(again, Packet)
    assert only(again, Published).through == 1
    tick(node, 10.0)
    assert log.trimmed == 2, "a log keeps nothing that was sent"
    node = made("s", log=log, incarnation=2)
    play(node, ("m", Interest("news", 1, 1, str(parse("A")))))
    assert not frames(published(node, 0, "A", "A"), Packet)
    assert [sent.number for sent in frames(published(node, 2, "A"), Packet)] == [3]


def test_only_sources_take_messages_in_and_only_such_as_fit() -> None:
    message = Message("news", packet("A").encode())
    assert only(play(made("m"), ("pub", Publish("o", 0, (message,)))), Refused).reason == "m is no source"
    refused = only(play(made("s", log=MemoryLog()), ("pub", Publish("o", 0, (Message("news", b"<a"),)))), Refused)
    assert refused.unfit == 0


def test_a_neighbour_that_cannot_keep_up_is_spared_and_that_is_counted() -> None:
    node = made("m")
    play(node, ("g", Interest("news", 1, 1, str(parse("A")))))
    assert [to for to, _ in sends(comes(node, 1, by="s"), Packet)] == ["g"]
    play(node, Congested("g"))
    second = comes(node, 2, by="s")
    assert not frames(second, Packet)
    assert [one.messages for one in results(second, MessagesShed)] == [1]
    play(node, Relieved("g"))
    assert frames(comes(node, 3, by="s"), Packet)


def test_what_was_routed_elsewhere_is_refused() -> None:
    appended = Append("o", 0, 0, 1, (b"",), (), ((),), b"\x00\x00")
    refused = only(play(made("s", log=MemoryLog()), ("pipeline", appended)), Refused)
    assert "publish messages instead" in refused.reason


def test_clients_of_the_source_s_own_router_get_what_never_leaves_it() -> None:
    node = made("s", log=MemoryLog(), gateway=True)
    wants(node, "A")
    commands = published(node, 0, "A", "B", "A")
    assert delivered(commands) == [1, 3]
    assert not frames(commands, Packet)


# --- clients


def test_a_client_is_live_at_once_and_its_router_says_what_it_wants() -> None:
    node = made("g")
    commands = wants(node, "A {x}")
    assert only(commands, Attached).session == "x"
    ((to, said),) = sends(commands, Interest)
    assert (to, said.tree, said.profile) == ("m", "news", str(parse("A {x}")))
    assert not frames(wants(node, "A {x; y}", "y"), Interest), "its neighbour knows that this is wanted"
    assert delivered(comes(node, 5)) == []
    inner = packet("A").replace("<A/>", "<A><x/></A>")
    commands = play(node, ("m", Packet("news", "s", 1, 6, inner.encode(), packed(Message("news", b"")))))
    assert delivered(commands) == [6]
    assert unpacked(only(commands, Deliver).body).payload == inner.encode()
    commands = play(node, ("client", Detach("x")), ("client", Detach("y")))
    commands += play(node, Tick(), at=1.0)
    assert [parse(said.profile) for said in frames(commands, Interest)][-1] == parse("nothing")


def test_streams_are_apart() -> None:
    node = made("g")
    wants(node, "A")
    play(node, ("client", Attach("y", profile("A", "other"))))
    assert delivered(comes(node, 1)) == [1]
    commands = comes(node, 2, stream="other")
    assert (delivered(commands), delivered(commands, "y")) == ([], [2])


@pytest.mark.parametrize("ordered", [False, True])
def test_messages_come_in_order_and_once_and_progress_follows(ordered: bool) -> None:
    node = made("g")
    wants(node, "A", ordered=ordered)
    found = [number for number in (1, 3, 3, 2, 7) for number in delivered(comes(node, number))]
    assert found == [1, 3, 7]
    assert {(p.source, p.through) for p in frames(tick(node, 0.1), Progress)} == {("s", 7)}


def test_a_slow_client_is_served_from_memory_and_told_of_what_memory_could_not_hold() -> None:
    node = made("g", settings=replace(SETTINGS, recent_bytes=400))
    base = only(wants(node, "A"), Attached).base
    got = [n for number in range(1, 7) for n in delivered(comes(node, number))]
    assert got == [1, 2, 3, 4], "so many may be under way"
    assert delivered(play(node, ("client", Taken("x", base + 4)))) == [5, 6]
    for number in range(7, 20):
        comes(node, number)
    commands = play(node, ("client", Taken("x", base + 7))) + tick(node, 0.2)
    gap = only(commands, Gap)
    assert (gap.source, gap.first, gap.through) == ("s", 6, 19)
    assert not set(delivered(commands)) & set(range(7, 20))
    assert delivered(comes(node, 20)) == [20]


def test_a_client_that_comes_back_gets_what_waited_or_hears_what_it_missed() -> None:
    node = made("g")
    wants(node, "A")
    for number in (1, 2, 3):
        comes(node, number)
    back = wants(node, "A", cursor=(("s", 1),)) + tick(node, 0.1)
    assert delivered(back) == [2, 3]
    elsewhere = made("g")
    wants(elsewhere, "A", "y")
    comes(elsewhere, 9)
    commands = wants(elsewhere, "A", cursor=(("s", 1),)) + tick(elsewhere, 0.1)
    assert not delivered(commands)
    gap = only(commands, Gap)
    assert (gap.first, gap.through) == (1, 9)


def test_who_asks_for_the_earliest_gets_what_comes_next_and_nothing_is_called_lost() -> None:
    node = made("g")
    wants(node, "A", "y")
    comes(node, 4)
    wants(node, "A", start="earliest")
    commands = tick(node, 0.1) + comes(node, 5)
    assert delivered(commands) == [5]
    assert not [gap for gap in frames(commands, Gap) if gap.session == "x"]


def test_a_profile_is_replaced_and_the_old_one_is_wanted_no_more() -> None:
    node = made("g")
    base = only(wants(node, "A"), Attached).base
    comes(node, 1, "A")
    commands = wants(node, "B", version=1, base=base)
    assert only(commands, Attached).version == 1
    commands += tick(node, 0.1)
    assert delivered(comes(node, 2, "A")) == []
    assert delivered(comes(node, 3, "B")) == [3]
    assert parse([said.profile for said in frames(commands, Interest)][-1]) == parse("B")


def test_a_durable_session_is_wanted_again_when_its_router_has_fallen() -> None:
    kept = MemoryNotes()
    node = made("g", notes=kept)
    wants(node, "A", durable=True)
    comes(node, 1)
    node = made("g", notes=kept, incarnation=2)
    said = frames(tick(node, 0.0), Interest)
    assert [parse(one.profile) for one in said] == [parse("A")]
    assert delivered(comes(node, 5)) == [5]


def test_whatever_a_fallen_router_hears_first_it_says_what_its_durable_sessions_want() -> None:
    kept = MemoryNotes()
    wants(made("g", notes=kept), "A", durable=True)
    for first in (("m", Beat(0.0)), Congested("m")):
        said = frames(play(made("g", notes=kept, incarnation=2), first), Interest)
        assert [parse(one.profile) for one in said] == [parse("A")]


def test_nobody_but_neighbours_can_say_what_routers_say() -> None:
    node = made("m")
    assert play(node, ("client", Interest("news", 1, 1, str(parse("A"))))) == []
    assert node.router is not None
    assert not node.router.trees["news"].wanted
