"""Terms that no store has given, and clients that leave a session in order: what a machine answers."""

from __future__ import annotations

import pytest

from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.contract import EndSubscription, Tick
from semcast.protocol.node import Node
from semcast.protocol.results import SessionEnded, TermRefused
from semcast.protocol.wire.frames import Attach, Attached, Caught, Detach, Detached, Fill, Repair, Taken, Welcome
from semcast.sim.stores import MemoryNotes
from tests.protocol.gateways import BASE, attach, delivered, joined, live
from tests.protocol.playbook import SETTINGS, body, data, frames, only, play, results, sends, tick, topic

# --- terms


@pytest.mark.parametrize("first", [0, 7])
def test_a_term_that_leaps_is_refused_and_the_next_honest_one_is_heard(first: int) -> None:
    kept = MemoryNotes()
    node = joined(notes=kept)
    play(node, ("c", Welcome(first, 0.0)))
    known = node.term
    commands = play(node, ("c", Welcome(1 << 60, 0.0)))
    assert [refused.term for refused in results(commands, TermRefused)] == [1 << 60]
    assert node.term == known
    assert kept.get("term") == b"%d" % known  # nor does it come back with a restart
    play(node, ("c", Welcome(known + 1000, 0.0)))
    assert node.term == known + 1000


# --- at the gateway


def durable(node: Node) -> None:
    play(node, ("sub", attach(durable=True)), ("c", live()))


def back(node: Node, logged: range, at: float = 1.0) -> list[int]:
    """What a client is sent that comes back without a memory, where the source's log has these messages."""
    commands = play(node, ("again", attach(durable=True, life=2)), ("c", live()))
    fills = frames(commands + tick(node, at), Fill)
    for fill in fills:
        numbers = tuple(number for number in logged if number > fill.first)
        play(node, ("s", Repair("s", fill.request, numbers, (body(),) * len(numbers))))
        end = Caught("s", fill.request, 1, fill.first, logged[-1], len(numbers))
        commands += play(node, ("s", end))
    return sorted(delivered(commands))


def test_what_was_taken_above_the_cursor_is_not_sent_to_a_client_that_comes_back() -> None:
    node = joined()
    durable(node)
    assert delivered(play(node, ("m", data(11, 12, 13)))) == [11, 12, 13]
    play(node, ("sub", Taken("x", BASE + 2)))  # no progress was told: the cursor stands at 10
    assert back(node, range(11, 14)) == [13]


def test_it_is_remembered_across_a_crash_of_the_gateway() -> None:
    kept = MemoryNotes()
    node = joined(notes=kept)
    durable(node)
    play(node, ("m", data(11, 12)), ("sub", Taken("x", BASE + 1)))
    tick(node, 0.2)
    node = joined(notes=kept, incarnation=2)
    play(node, ("again", attach(durable=True)), ("c", live(incarnation=2)))
    found = delivered(play(node, ("m", data(11, 12, 13))))
    assert found == [12, 13]


def test_a_client_that_leaves_in_order_is_sent_nothing_until_it_comes_back() -> None:
    node = joined()
    durable(node)
    play(node, ("m", data(11, 12)))
    answer = play(node, ("sub", Detach("x", True, BASE + 1)))
    assert sends(answer, Detached) == [("sub", Detached("x"))]
    assert delivered(play(node, ("m", data(13)))) == []
    assert delivered(tick(node, 5.0)) == []
    assert back(node, range(11, 14), at=6.0) == [12, 13]


def test_what_another_gateway_brought_counts_too() -> None:
    node = joined()
    durable(node)
    play(node, ("m", data(11)))
    play(node, ("sub", Detach("x", True, BASE, (("s", 12),), (("s", (14,)),))))
    play(node, ("m", data(12, 13, 14, 15)))
    assert back(node, range(11, 16)) == [13, 15]


def test_a_client_that_begins_anew_under_its_name_is_not_taken_for_one_that_repeats_itself() -> None:
    node = joined()
    durable(node)
    play(node, ("m", data(11)), ("sub", Taken("x", BASE + 1)))
    answer = only(play(node, ("sub", attach(durable=True, life=2)), ("c", live())), Attached)
    assert answer.base > BASE + 1


def test_a_session_that_another_client_has_is_neither_ended_nor_confirmed_by_the_one_before() -> None:
    node = joined()
    durable(node)
    play(node, ("new", attach(durable=True)), ("c", live()))
    delivered(play(node, ("m", data(11))))
    play(node, ("sub", Taken("x", 1 << 40)), ("sub", Detach("x")))
    assert node.gateway is not None
    session = node.gateway.sessions["x"]
    assert session.client == "new"
    assert session.waiting


# --- at the client


def subscriber(**options: object) -> Subscriber:
    found = Subscriber("sub", "x", ["g0", "g1"], topic("a"), settings=SETTINGS, durable=True, confirmed=True, **options)  # type: ignore[arg-type]
    found.handle(Tick(), 0.0)
    return found


def test_a_client_that_leaves_tells_every_gateway_what_it_took_and_waits_for_all() -> None:
    client = subscriber(together=True)
    for gateway, base in (("g0", 5), ("g1", 9)):
        play(client, (gateway, Attached("x", 0, (("s", 10),), base)))
    play(client, EndSubscription(keep=True))
    told = dict(sends(tick(client, 1.0), Detach))
    assert told == {
        "g0": Detach("x", True, 5, (("s", 10),)),
        "g1": Detach("x", True, 9, (("s", 10),)),
    }
    assert results(play(client, ("g0", Detached("x"))), SessionEnded) == []
    assert len(results(play(client, ("g1", Detached("x"))), SessionEnded)) == 1


def test_lives_of_a_subscription_differ() -> None:
    asked = [only(tick(subscriber(life=life), 1.0), Attach) for life in (1, 2)]
    assert asked[0] != asked[1]


def test_a_session_that_a_crash_left_behind_is_ended_by_anybody_until_a_client_takes_it_up() -> None:
    kept = MemoryNotes()
    durable(joined(notes=kept))
    node = joined(notes=kept, incarnation=2)
    assert node.gateway is not None
    play(node, ("again", attach(durable=True)))
    play(node, ("front", Detach("x")))
    assert "x" in node.gateway.sessions
    node = joined(notes=kept, incarnation=3)
    assert node.gateway is not None
    play(node, ("front", Detach("x")))
    assert "x" not in node.gateway.sessions
