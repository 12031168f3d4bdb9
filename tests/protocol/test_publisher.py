"""Publishers that survive sources."""

from __future__ import annotations

from dataclasses import replace

from semcast.model.message import Message
from semcast.protocol.client.publisher import Publisher
from semcast.protocol.contract import PublishMessages
from semcast.protocol.results import MessageRefused, MessagesPublished
from semcast.protocol.wire.frames import Publish, Published, Refused
from semcast.protocol.wire.framing import FRAME_BYTES
from tests.protocol.playbook import SETTINGS, frames, message, play, results, tick

AGAIN = SETTINGS.resend_s + 0.01


def publisher(batch: int = 256) -> Publisher:
    return Publisher("p", "s", settings=replace(SETTINGS, batch=batch))


def sent(commands: list[object]) -> list[tuple[int, list[str | None]]]:
    return [(frame.first, [m.topic for m in frame.messages]) for frame in frames(commands, Publish)]  # type: ignore[arg-type]


def test_messages_are_sent_at_once_and_again_until_they_are_published() -> None:
    made = publisher()
    assert sent(play(made, PublishMessages([message("a"), message("b")]))) == [(0, ["a", "b"])]
    assert sent(tick(made, SETTINGS.resend_s / 2)) == []
    assert sent(tick(made, AGAIN)) == [(0, ["a", "b"])]
    commands = play(made, ("s", Published("p", 1, 7)))
    assert results(commands, MessagesPublished) == [MessagesPublished(0, 1, 7, 1)]
    assert made.waiting == 0
    assert tick(made, 9) == []


def test_what_is_published_later_goes_out_behind_what_is_under_way() -> None:
    made = publisher()
    play(made, PublishMessages([message("a")]))
    assert sent(play(made, PublishMessages([message("b")]))) == [(1, ["b"])]
    assert sent(tick(made, AGAIN)) == [(0, ["a", "b"])]


def test_part_of_what_waits_may_be_published_and_is_not_sent_again() -> None:
    made = publisher()
    play(made, PublishMessages([message("a"), message("b"), message("c")]))
    published = results(play(made, ("s", Published("p", 1, 7))), MessagesPublished)
    assert published == [MessagesPublished(0, 1, 7, 1)]
    assert results(play(made, ("s", Published("p", 1, 7))), MessagesPublished) == []
    assert sent(tick(made, AGAIN)) == [(2, ["c"])]


def test_a_refusal_makes_the_publisher_begin_with_the_first_that_waits() -> None:
    made = publisher()
    play(made, PublishMessages([message("a")]))
    play(made, PublishMessages([message("b")]))
    play(made, ("s", Refused("p", 1, "message 0 of 'p' has not come", 0)))
    assert sent(play(made, PublishMessages([message("c")]))) == [(0, ["a", "b", "c"])]


def test_more_than_a_batch_goes_out_batch_by_batch_as_fast_as_it_is_acknowledged() -> None:
    made = publisher(batch=2)
    assert sent(play(made, PublishMessages([message(t) for t in "abcde"]))) == [(0, ["a", "b"])]
    assert sent(play(made, ("s", Published("p", 1, 2)))) == [(2, ["c", "d"])]
    assert sent(play(made, ("s", Published("p", 3, 4)))) == [(4, ["e"])]
    assert sent(play(made, ("s", Published("p", 4, 5)))) == []


def test_words_for_another_publisher_are_not_heard() -> None:
    made = publisher()
    play(made, PublishMessages([message("a")]))
    assert play(made, ("s", Published("q", 0, 1))) == []
    assert made.waiting == 1


def test_what_will_never_be_taken_is_given_up_and_those_behind_it_take_its_number() -> None:
    made = publisher()
    play(made, PublishMessages([message("a"), message("b"), message("c")]))
    commands = play(made, ("s", Refused("p", 0, "no topic", unfit=1)))
    assert results(commands, MessageRefused) == [MessageRefused(1, "no topic")]
    assert sent(commands) == [(0, ["a", "c"])]
    assert play(made, ("s", Refused("p", 0, "no topic", unfit=7))) == []
    assert sent(tick(made, AGAIN)) == [(0, ["a", "c"])]


def test_a_batch_holds_at_most_so_many_bytes_but_one_message_at_least() -> None:
    made = publisher()
    large = Message("news", bytes(FRAME_BYTES * 2 // 3), "a")
    assert sent(play(made, PublishMessages([large, large, message("b")]))) == [(0, ["a"])]
    assert sent(play(made, ("s", Published("p", 0, 1)))) == [(1, ["a", "b"])]


def test_a_refusal_that_comes_twice_gives_up_one_message() -> None:
    made = publisher()
    play(made, PublishMessages([message("a"), message("unfit"), message("b")]))
    tick(made, AGAIN)  # the same frame again, so the source refuses it twice
    refusal = Refused("p", 0, "no topic", unfit=1)
    assert sent(play(made, ("s", refusal))) == [(0, ["a", "b"])]
    assert play(made, ("s", refusal)) == []
    again = frames(tick(made, 2 * AGAIN), Publish)[0]
    assert ([m.topic for m in again.messages], again.attempt) == (["a", "b"], 1)
