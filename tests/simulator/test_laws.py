"""The judge is judged: each law has a run in which it is broken, beside one in which it holds."""

from __future__ import annotations

import pytest

from semcast.model.message import Message, ProfileText, packed
from semcast.protocol.stores import Record
from semcast.sim.laws import judged
from semcast.sim.witness import Violation, Witness


def topic(text: str) -> ProfileText:
    return ProfileText("news", "topic", text)


class Run:
    """A session on one source: messages are published a second apart, acknowledged half a second later."""

    def __init__(self, profile: str = "a", *, ordered: bool = False, live_at: float | None = 0.0) -> None:
        self.witness = Witness()
        self.log: list[Record] = []
        self.time = 0.0
        self.witness.subscribed("s", topic(profile), 0.0, ordered=ordered)
        if live_at is not None:
            self.witness.live("s", 0, {"b0": 0}, live_at)

    def publish(self, *topics: str, ack: bool = True) -> None:
        for text in topics:
            self.time += 1.0
            number = len(self.log) + 1
            body = packed(Message("news", b"", topic=text, key=str(number)))
            self.log.append(Record(number, "p", number - 1, 1, (), body))
            self.witness.published("p", number - 1, self.time)
            if ack:
                self.witness.acknowledged("p", number - 1, self.time + 0.5)

    def deliver(self, *numbers: int) -> None:
        for number in numbers:
            self.witness.delivered("s", "b0", number, self.log[number - 1].body, self.time + 0.7)

    def broken(self, settle_s: float | None = None) -> list[str]:
        return [found.law for found in self.judge(settle_s)]

    def judge(self, settle_s: float | None = None) -> list[Violation]:
        return judged(self.witness, {"b0": self.log}, settle_s)


def test_a_run_in_which_everything_is_right_breaks_no_law() -> None:
    run = Run(ordered=True)
    run.publish("a", "b", "a/x", "c/a")
    run.deliver(1, 3)
    assert run.judge() == []


def test_a_message_that_matches_and_never_comes_is_missed() -> None:
    run = Run()
    run.publish("a", "b", "a/x")
    run.deliver(1)
    (found,) = run.judge()
    assert (found.law, found.who) == ("nothing is missed", "s")
    assert "b0:3" in found.what


def test_a_message_in_the_log_is_owed_though_its_publisher_was_never_told() -> None:
    run = Run()
    run.publish("a", ack=False)
    assert run.broken() == ["everything is acked", "nothing is missed"]


def test_what_was_published_before_the_subscription_went_live_is_not_owed_but_welcome() -> None:
    run = Run(live_at=None)
    run.publish("a", "a", "a")
    run.witness.live("s", 0, {"b0": 2}, 2.5)
    run.deliver(1, 3)
    assert run.judge() == []


def test_a_number_behind_the_live_position_is_owed_though_it_was_published_before() -> None:
    run = Run(live_at=None)
    run.publish("a", "a")
    run.witness.live("s", 0, {"b0": 1}, 9.0)
    assert run.broken() == ["nothing is missed"]


def test_what_is_published_after_live_must_be_behind_the_live_position() -> None:
    run = Run(live_at=None)
    run.witness.live("s", 0, {"b0": 5}, 0.5)
    run.publish("a")
    assert run.broken() == ["live positions", "nothing is missed"]


def test_a_source_that_the_client_was_told_nothing_of_owes_what_is_published_after_live() -> None:
    run = Run(live_at=None)
    run.publish("a")
    run.witness.live("s", 0, {}, 1.5)
    assert run.broken() == []
    run.publish("a")
    assert run.broken() == ["nothing is missed"]


def test_a_subscription_that_never_goes_live_breaks_a_law() -> None:
    assert Run(live_at=None).broken() == ["everybody goes live"]


def test_nothing_is_delivered_twice() -> None:
    run = Run()
    run.publish("a")
    run.deliver(1, 1)
    assert run.broken() == ["once"]


def test_nothing_is_delivered_that_does_not_match() -> None:
    run = Run()
    run.publish("b")
    run.deliver(1)
    assert run.broken() == ["only what matches"]


@pytest.mark.parametrize(("number", "body"), [(1, b"other"), (7, b"any")])
def test_nothing_is_delivered_that_is_not_so_in_the_log(number: int, body: bytes) -> None:
    run = Run()
    run.publish("b")
    run.witness.delivered("s", "b0", number, body, 3.0)
    assert run.broken() == ["nothing made up"]


def test_order_is_owed_to_those_who_asked_for_it() -> None:
    for ordered, laws in ((False, []), (True, ["order"])):
        run = Run(ordered=ordered)
        run.publish("a", "a")
        run.deliver(2, 1)
        assert run.broken() == laws


def test_sources_have_no_order_among_each_other() -> None:
    run = Run(ordered=True)
    run.publish("a", "a")
    other = Record(1, "q", 0, 1, (), packed(Message("news", b"", topic="a")))
    run.deliver(1, 2)
    run.witness.delivered("s", "b9", 1, other.body, 5.0)
    assert judged(run.witness, {"b0": run.log, "b9": [other]}) == []


def test_nothing_comes_after_detach_and_nothing_under_way_is_owed() -> None:
    run = Run()
    run.publish("a", "a")
    run.deliver(1)
    run.witness.left("s", 2.6)
    assert run.broken() == ["everybody may leave"]
    run.witness.detached("s", 2.8)
    assert run.broken() == []
    run.time = 3.0
    run.deliver(2)
    assert run.broken() == ["nothing after detach"]


def test_an_ordered_session_that_left_has_no_holes() -> None:
    for ordered, laws in ((False, []), (True, ["nothing is missed"])):
        run = Run(ordered=ordered)
        run.publish("a", "a", "a")
        run.deliver(1, 3)
        run.witness.left("s", 9.0)
        run.witness.detached("s", 9.1)
        assert run.broken() == laws


def test_where_nothing_fails_a_session_that_left_is_owed_what_had_time_to_come() -> None:
    run = Run()
    run.publish("a")
    run.witness.left("s", 9.0)
    run.witness.detached("s", 9.1)
    assert run.broken(settle_s=None) == []
    assert run.broken(settle_s=3.0) == ["nothing is missed"]


def test_a_gap_notice_excuses_what_it_names_and_no_more() -> None:
    run = Run()
    run.publish("a", "a", "a", "a")
    run.witness.gap("s", "b0", 1, 3, 5.0)
    found = run.judge()
    assert [violation.what.split()[0] for violation in found] == ["b0:1", "b0:4"]
    run.witness.gap("s", "b9", 0, 9, 5.0)
    assert len(run.judge()) == 2


def replaced() -> Run:
    """Asked at 2.5 s to change from a to b, live at 4.5 s: messages 3 and 4 are published in between."""
    run = Run("a")
    run.publish("x", "x")
    run.witness.replaced("s", topic("b"), 2.5)
    return run


def test_around_a_replacement_both_profiles_will_do() -> None:
    for old, new in ((True, False), (False, True)):
        run = replaced()
        run.publish("a", "b")
        run.deliver(*([3] if old else []), *([4] if new else []))
        run.witness.live("s", 1, {"b0": 4}, 4.5)
        assert run.broken() == []


def test_what_both_profiles_match_is_owed_throughout() -> None:
    run = Run("a")
    run.publish("x", "x")
    run.witness.replaced("s", topic("a/b"), 2.5)
    run.publish("a/b")
    run.witness.live("s", 1, {"b0": 3}, 4.5)
    assert run.broken() == ["nothing is missed"]


def test_the_new_profile_is_owed_from_its_own_live_on_and_the_old_one_is_over() -> None:
    run = replaced()
    run.publish("x", "x")
    run.witness.live("s", 1, {"b0": 4}, 4.5)
    run.publish("b", "a")
    run.deliver(6)
    assert run.broken() == ["only what matches", "nothing is missed"]


def test_the_new_profile_is_no_excuse_before_it_was_asked_for() -> None:
    run = Run("a")
    run.publish("b")
    run.deliver(1)
    run.witness.replaced("s", topic("b"), 9.0)
    run.witness.live("s", 1, {"b0": 1}, 9.5)
    assert run.broken() == ["only what matches"]


def test_where_nothing_fails_the_old_profile_is_owed_what_had_time_to_come() -> None:
    run = Run("a")
    run.publish("a")
    run.witness.replaced("s", topic("b"), 9.0)
    run.witness.live("s", 1, {"b0": 1}, 9.5)
    assert run.broken(settle_s=None) == []
    assert run.broken(settle_s=3.0) == ["nothing is missed"]


def test_what_was_acknowledged_is_in_a_log_for_good() -> None:
    run = Run("z")
    run.publish("a", "a")
    run.log.pop()
    assert run.broken() == ["acked is durable"]


def test_a_message_is_taken_in_once_over_all_logs() -> None:
    run = Run("z")
    run.publish("a")
    again = Record(1, "p", 0, 1, (), run.log[0].body)
    found = judged(run.witness, {"b0": run.log, "b1": [again]})
    assert [violation.law for violation in found] == ["taken in once"]


def test_relational_profiles_are_judged_by_their_own_oracle() -> None:
    witness = Witness()
    witness.subscribed("s", ProfileText("quotes", "relational", "price > 10"), 0.0)
    witness.live("s", 0, {"b0": 0}, 0.0)
    bodies = [packed(Message("quotes", b'{"price": %d}' % price)) for price in (5, 15)]
    bodies.append(packed(Message("other", b'{"price": 20}')))
    log = [Record(at + 1, "p", at, 1, (), body) for at, body in enumerate(bodies)]
    for at in range(len(log)):
        witness.published("p", at, 1.0)
    witness.acknowledged("p", len(log) - 1, 1.5)
    assert [found.what.split()[0] for found in judged(witness, {"b0": log})] == ["b0:2"]
    witness.delivered("s", "b0", 2, bodies[1], 2.0)
    assert judged(witness, {"b0": log}) == []
