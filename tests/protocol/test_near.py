"""A subscriber within its gateway's process: batches in order, once, and what is missing is asked for again."""

from __future__ import annotations

from semcast.protocol.client.near import Begun, Declined, Given, Missed, NearSubscriber, Outcome
from semcast.protocol.contract import EndSubscription, Handed, Received, Send, Tick, TookThrough
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Attach, Attached, Deliver, Detach, Gap, Progress, ProtocolError, Taken
from tests.protocol.playbook import topic

A = topic("a")
BASE = 100


def near() -> NearSubscriber:
    """Live behind 10 of ``s``."""
    made = NearSubscriber("n", "g", A, Settings())
    assert made.handle(Tick(), 0.0) == [Send("g", Attach("n", A, ordered=True))]
    positions = (("s", 10),)
    assert made.handle(Received("g", Attached("n", 0, positions, BASE)), 0.1) == [Begun(positions)]
    return made


def handed(sequence: int, *numbers: int, through: int) -> Handed:
    return Handed("n", "n", BASE + sequence, "s", numbers, tuple(b"%d" % number for number in numbers), through)


def taken(subscriber: NearSubscriber, results: list[Outcome]) -> list[int]:
    """Have the taker take all that is given; the numbers."""
    found: list[int] = []
    for result in results:
        if isinstance(result, Given | Missed):
            subscriber.handle(TookThrough(result.source, result.through), 0.0)
        if isinstance(result, Given):
            found += result.numbers
    return found


def test_batches_are_given_once_and_move_the_cursor_when_they_are_taken() -> None:
    subscriber = near()
    results = subscriber.handle(handed(1, 11, 13, through=15), 0.2)
    assert subscriber.cursor == {"s": 10}
    assert taken(subscriber, results) == [11, 13]
    assert subscriber.cursor == {"s": 15}
    assert subscriber.handle(handed(1, 11, 13, through=15), 0.3) == []


def test_a_batch_is_given_in_pieces_and_who_leaves_in_between_has_what_was_taken() -> None:
    subscriber = near()
    large = Handed("n", "n", BASE + 1, "s", (11, 12, 13), (b"." * (1 << 20), b".", b"." * (1 << 20)), 20)
    results = [result for result in subscriber.handle(large, 0.2) if isinstance(result, Given)]
    assert [result.numbers for result in results] == [(11,), (12, 13), ()]
    subscriber.handle(TookThrough(results[0].source, results[0].through), 0.0)
    subscriber.handle(EndSubscription(), 0.0)
    assert subscriber.cursor == {"s": 11}


def test_where_a_batch_is_missing_all_behind_the_cursor_is_asked_for_again() -> None:
    subscriber = near()
    taken(subscriber, subscriber.handle(handed(1, 11, through=12), 0.2))
    assert subscriber.handle(handed(3, 15, through=16), 0.3) == [
        Send("g", Attach("n", A, ordered=True, cursor=(("s", 12),)))
    ]
    assert not subscriber.served
    assert subscriber.handle(handed(4, 17, through=18), 0.4) == []


def test_a_gateway_that_has_forgotten_it_is_asked_again() -> None:
    subscriber = near()
    (asked,) = subscriber.handle(Received("g", ProtocolError("no such session", "n", True)), 0.2)
    assert isinstance(asked, Send)
    assert isinstance(asked.frame, Attach)


def test_what_it_has_taken_is_told_each_beat() -> None:
    subscriber = near()
    taken(subscriber, subscriber.handle(handed(1, 11, through=12), 0.2))
    assert subscriber.handle(Tick(), 0.3) == []
    assert subscriber.handle(Tick(), 0.5) == [Send("g", Taken("n", BASE + 1))]


def test_what_comes_from_a_log_and_what_is_lost_is_given_as_well() -> None:
    subscriber = near()
    results = subscriber.handle(Received("g", Deliver("n", BASE + 1, "s", 11, b"x")), 0.2)
    assert taken(subscriber, results) == [11]
    assert subscriber.handle(Received("g", Gap("n", BASE + 2, "s", 5, 20)), 0.2) == [Missed("s", 11, 20)]
    subscriber.handle(TookThrough("s", 20), 0.0)
    taken(subscriber, subscriber.handle(Received("g", Progress("n", BASE + 3, "s", 30)), 0.2))
    assert subscriber.cursor == {"s": 30}


def test_a_profile_that_makes_no_sense_is_declined() -> None:
    assert near().handle(Received("g", ProtocolError("no such stream", "n")), 0.2) == [Declined("no such stream")]


def test_after_the_end_it_hears_nothing() -> None:
    subscriber = near()
    assert subscriber.handle(EndSubscription(), 0.0) == [Send("g", Detach("n"))]
    assert subscriber.handle(handed(1, 11, through=12), 0.2) == []
