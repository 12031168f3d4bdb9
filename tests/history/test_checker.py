"""The checker of histories: correct ones pass, and each way to be wrong is told in a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.history import checker
from tests.history.checker import check
from tests.history.records import Recorder, condition_matches, load, topic_matches
from tests.history.worlds import SPOILS, PerfectSystem


class Tale(Recorder):
    """A history told by hand: two messages of source x, published by p, for the session s that wants ``a``."""

    def __init__(self) -> None:
        self._time = 0.0
        super().__init__(self._later)
        self.matched: dict[str, list[str]] = {"a": ["m1", "m2"], "b": ["m3"]}

    def _later(self) -> float:
        self._time += 1.0
        return self._time

    def begin(self, **options: object) -> Tale:
        self.subscribe("s", "a", **options)  # type: ignore[arg-type]
        self.live("s", 0, {"x": 0})
        return self

    def sent(self, *names: str) -> Tale:
        for name in names:
            self.publish("p", name)
            self.ack("p", name, "x", int(name[1:]))
        return self

    def got(self, *names: str) -> Tale:
        for name in names:
            self.deliver("s", name, "x", int(name[1:]))
        return self

    def told(self) -> list[str]:
        for profile, names in self.matched.items():
            self.matches(profile, names)
        self.end()
        return [str(fault) for fault in check(self.records)]


def test_a_correct_history_passes() -> None:
    assert Tale().begin(ordered=True).sent("m1", "m2", "m3").got("m1", "m2").told() == []


def gap_is_not_excused_outside() -> Tale:
    tale = Tale().begin().sent("m1", "m2")
    tale.gap("s", "x", 1, 2)
    return tale


def under_way_when_it_closed() -> Tale:
    tale = Tale().begin(ordered=True).sent("m1", "m2").got("m2")
    tale.close("s")
    tale.closed("s")
    return tale


def after_close() -> Tale:
    tale = Tale().begin().sent("m1", "m2").got("m1")
    tale.close("s")
    tale.closed("s")
    return tale.got("m2")


def while_it_was_kept() -> Tale:
    tale = Tale().begin().sent("m1", "m2").got("m1")
    tale.close("s", keep=True)
    tale.got("m2").resume("s")
    return tale


def missed_while_it_was_kept() -> Tale:
    tale = Tale().begin().sent("m1").got("m1")
    tale.close("s", keep=True)
    tale.sent("m2").resume("s")
    return tale


def after_a_gap() -> Tale:
    tale = Tale().begin().sent("m1", "m2")
    tale.gap("s", "x", 0, 2)
    return tale.got("m1")


def empty_gap() -> Tale:
    tale = Tale().begin()
    tale.gap("s", "x", 2, 2)
    return tale


def gap_without_reason() -> Tale:
    tale = Tale().begin(gapless=True).sent("m1", "m2").got("m1")
    tale.gap("s", "x", 1, 2)
    return tale


def before_the_position() -> Tale:
    tale = Tale().sent("m1")
    tale.subscribe("s", "a")
    tale.live("s", 0, {"x": 1})
    return tale.got("m1").sent("m2").got("m2")


def new_profile_before_its_position() -> Tale:
    """The client first hears that its replacement is live; below that position only the profile before it counts."""
    tale = Tale()
    tale.subscribe("s", "b")
    tale.replace("s", 1, "a")
    tale.sent("m1").live("s", 1, {"x": 1})
    return tale.got("m1")


def behind_the_position() -> Tale:
    """Published before the client was told, and yet behind the position that it was told: it is owed."""
    tale = Tale().sent("m1", "m2")
    tale.subscribe("s", "a")
    tale.live("s", 0, {"x": 1})
    return tale


def position_too_high() -> Tale:
    tale = Tale()
    tale.subscribe("s", "a")
    tale.live("s", 0, {"x": 1})
    return tale.sent("m1", "m2").got("m2")


def two_places() -> Tale:
    tale = Tale().begin().sent("m1")
    tale.deliver("s", "m1", "x", 7)
    return tale


def two_messages_at_one_place() -> Tale:
    tale = Tale().begin().sent("m1").got("m1")
    tale.publish("p", "m2")
    tale.ack("p", "m2", "x", 1)
    tale.deliver("s", "m2")
    return tale


def other_content() -> Tale:
    tale = Tale().begin()
    tale.publish("p", "m1", b"as it was")
    tale.ack("p", "m1", "x", 1)
    tale.deliver("s", "m1", "x", 1, b"as it is now")
    return tale


def old_profile_after_the_new_one_is_live() -> Tale:
    tale = Tale().begin()
    tale.replace("s", 1, "b")
    tale.live("s", 1, {"x": 0})
    return tale.sent("m1").got("m1")


def new_profile_missed() -> Tale:
    tale = Tale().begin().sent("m1").got("m1")
    tale.replace("s", 1, "b")
    tale.live("s", 1, {"x": 1})
    return tale.sent("m3")


def older_version_goes_live_later() -> Tale:
    tale = Tale().begin()
    tale.replace("s", 1, "b")
    tale.replace("s", 2, "a")
    tale.live("s", 2, {})
    tale.live("s", 1, {})
    return tale


def unknown_version_is_live() -> Tale:
    tale = Tale().begin()
    tale.live("s", 1, {})
    return tale


def never_live() -> Tale:
    tale = Tale()
    tale.subscribe("s", "a")
    return tale


def never_told_that_it_left() -> Tale:
    tale = Tale().begin()
    tale.close("s")
    return tale


def never_acknowledged() -> Tale:
    tale = Tale().begin()
    tale.publish("p", "m1")
    return tale.got("m1")


def unacknowledged_and_yet_owed() -> Tale:
    """Another session was given it, so it is in a log for good."""
    tale = Tale().begin()
    tale.subscribe("t", "a")
    tale.live("t", 0, {"x": 0})
    tale.publish("p", "m1")
    tale.deliver("t", "m1", "x", 1)
    tale.ack("p", "m1")
    return tale


def acknowledged_and_in_no_log() -> Tale:
    tale = Tale().begin().sent("m1", "m2").got("m1", "m2")
    tale.logged("x", "m1", 1)
    return tale


def taken_in_twice() -> Tale:
    tale = Tale().begin().sent("m1").got("m1")
    tale.logged("x", "m1", 1)
    tale.logged("x", "m1", 2)
    return tale


def forgotten_and_never_given_again() -> Tale:
    tale = Tale().begin().sent("m1").got("m1")
    tale.forget("s", ["m1"])
    return tale


def given_again_without_a_crash() -> Tale:
    tale = Tale().begin().sent("m1", "m2").got("m1", "m2")
    tale.forget("s", ["m2"])
    return tale.got("m2", "m1")


def stranger() -> Tale:
    tale = Tale().sent("m1")
    tale.deliver("s", "m1")
    return tale


def never_asked_to_leave() -> Tale:
    tale = Tale().begin()
    tale.closed("s")
    return tale


def acknowledged_to_another() -> Tale:
    tale = Tale().begin()
    tale.publish("p", "m1")
    tale.ack("q", "m1")
    tale.ack("p", "m1")
    return tale.got("m1")


def nobody_said_what_matches() -> Tale:
    tale = Tale().begin()
    del tale.matched["a"]
    return tale


WRONG: dict[str, tuple[Callable[[], Tale], str]] = {
    "missed": (
        lambda: Tale().begin().sent("m1", "m2").got("m1"),
        "nothing is missed: s: was never given m2 (x:2), which matches 'a'",
    ),
    "twice": (lambda: Tale().begin().sent("m1").got("m1", "m1"), "once: s: was given m1 (x:1) 2 times"),
    "order": (
        lambda: Tale().begin(ordered=True).sent("m1", "m2").got("m2", "m1"),
        "order: s: was given m1 (x:1) after number 2 of x",
    ),
    "no match": (
        lambda: Tale().begin().sent("m3").got("m3"),
        "only what matches: s: was given m3 (x:3), which does not match 'a'",
    ),
    "unpublished": (
        lambda: Tale().begin().got("m1"),
        "nothing made up: s: was given m1, which nobody had published",
    ),
    "hole in an ordered session that closed": (
        under_way_when_it_closed,
        "nothing is missed: s: was never given m1 (x:1), which matches 'a'",
    ),
    "gap elsewhere": (
        gap_is_not_excused_outside,
        "nothing is missed: s: was never given m1 (x:1), which matches 'a'",
    ),
    "after close": (after_close, "nothing after close: s: was given m2 (x:2) after it had asked to leave"),
    "while kept": (while_it_was_kept, "nothing after close: s: was given m2 (x:2) while its session was closed"),
    "missed while kept": (
        missed_while_it_was_kept,
        "nothing is missed: s: was never given m2 (x:2), which matches 'a'",
    ),
    "after a gap": (after_a_gap, "gaps are final: s: was given m1 (x:1), and was told of a gap through 2"),
    "empty gap": (empty_gap, "gaps are real: s: was told of the gap (2, 2] of x, in which there is nothing"),
    "gap without reason": (
        gap_without_reason,
        "no gap without a reason: s: was told of the gap (1, 2] of x, and nothing had to be lost",
    ),
    "before the position": (
        before_the_position,
        "nothing before live: s: was given m1 (x:1), and is live behind 1 only",
    ),
    "new profile before its position": (
        new_profile_before_its_position,
        "nothing before live: s: was given m1 (x:1), which only version 1 matches, and that is live from later on",
    ),
    "behind the position": (
        behind_the_position,
        "nothing is missed: s: was never given m2 (x:2), which matches 'a'",
    ),
    "position too high": (
        position_too_high,
        "live positions: s: was told that it is live behind x:1, before m1 (x:1) was published",
    ),
    "two places": (two_places, "one place each: s: m1 (x:1) stands at x:7 too"),
    "two messages at one place": (two_messages_at_one_place, "one place each: p: x:1 is m2, and was m1 before"),
    "other content": (other_content, "nothing made up: s: has m1 (x:1) with other content than others saw"),
    "old profile": (
        old_profile_after_the_new_one_is_live,
        "only what matches: s: was given m1 (x:1), which does not match 'b'",
    ),
    "new profile": (
        new_profile_missed,
        "nothing is missed: s: was never given m3 (x:3), which matches 'a' then 'b'",
    ),
    "older version later": (
        older_version_goes_live_later,
        "live never goes back: s: version 1 is live after a later one",
    ),
    "unknown version": (
        unknown_version_is_live,
        "live is what was asked for: s: version 1 is live and was never asked for",
    ),
    "never live": (never_live, "everybody goes live: s: was never told that its last profile is live"),
    "never left": (never_told_that_it_left, "everybody may leave: s: asked to leave and was never told that it has"),
    "never acknowledged": (never_acknowledged, "everything is acknowledged: p: m1 (x:1) never was"),
    "durable since another has it": (
        unacknowledged_and_yet_owed,
        "nothing is missed: s: was never given m1 (x:1), which matches 'a'",
    ),
    "in no log": (acknowledged_and_in_no_log, "acknowledged is durable: p: m2 (x:2) is in no log"),
    "taken in twice": (taken_in_twice, "taken in once: x: its log has m1 (x:1) again, as x:2"),
    "forgotten": (
        forgotten_and_never_given_again,
        "nothing is missed: s: forgot m1 in a crash, and it never came again",
    ),
    "again without a crash": (given_again_without_a_crash, "once: s: was given m1 (x:1) 2 times"),
    "stranger": (stranger, "nothing before subscribing: s: deliver at line 3, and it never subscribed"),
    "sent away": (never_asked_to_leave, "nobody is sent away: s: was told that it has left, and never asked for that"),
    "another's message": (
        acknowledged_to_another,
        "nothing made up: q: m1 was acknowledged, and it never published that",
    ),
    "no oracle": (nobody_said_what_matches, "a history ends once: the recorder: nobody said what 'a' matches"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_history_is_told_in_a_sentence(name: str) -> None:
    tale, sentence = WRONG[name]
    assert sentence in tale().told()


RIGHT: dict[str, Callable[[], Tale]] = {
    "unordered in any order": lambda: Tale().begin().sent("m1", "m2").got("m2", "m1"),
    "at least once": lambda: Tale().begin(times="at least once").sent("m1").got("m1", "m1"),
    "at most once": lambda: Tale().begin(times="at most once").sent("m1"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_was_not_promised_may_happen(name: str) -> None:
    assert RIGHT[name]().told() == []


def test_a_gap_excuses_what_is_inside_it() -> None:
    tale = Tale().begin(ordered=True).sent("m1", "m2")
    tale.gap("s", "x", 0, 1)
    assert tale.got("m2").told() == []


def test_a_session_that_starts_at_the_earliest_may_get_what_is_older_than_live() -> None:
    tale = Tale().sent("m1")
    tale.subscribe("s", "a", start="earliest")
    tale.live("s", 0, {"x": 1})
    assert tale.got("m1").told() == []


def test_a_profile_that_was_live_unheard_before_its_replacement_explains_older_messages() -> None:
    tale = Tale()
    tale.subscribe("s", "a")
    tale.replace("s", 1, "b")
    tale.sent("m1").live("s", 1, {"x": 1})
    assert tale.got("m1").told() == []


def test_around_a_replacement_either_profile_may_count() -> None:
    for kept in (["m1"], ["m3"], ["m1", "m3"], []):
        tale = Tale().begin()
        tale.replace("s", 1, "b")
        tale.sent("m1", "m3").got(*kept).live("s", 1, {"x": 3})
        assert tale.told() == [], kept


def test_what_was_under_way_when_an_unordered_session_closed_is_its_loss_unless_there_was_time_enough() -> None:
    tale = Tale().begin().sent("m1", "m2")
    tale.close("s")
    tale.closed("s")
    assert tale.told() == []
    assert [fault.promise for fault in check(tale.records, settle_s=1.5)] == ["nothing is missed"]


def test_a_message_that_a_crash_made_a_client_forget_may_come_again() -> None:
    tale = Tale().begin(ordered=True).sent("m1", "m2").got("m1", "m2")
    tale.forget("s", ["m2"])
    assert tale.got("m2").told() == []


def test_a_history_without_an_end_is_no_proof() -> None:
    assert [str(fault) for fault in check(Tale().begin().records)] == [
        "a history ends once: the recorder: the history has no end"
    ]


def test_a_cut_history_asks_for_nothing_that_may_still_come() -> None:
    tale = Tale().begin().sent("m1")
    tale.matches("a", ["m1"])
    tale.end(complete=False)
    assert check(tale.records) == []


def test_a_history_is_checked_from_its_file_without_the_system(tmp_path: Path) -> None:
    tale = Tale().begin().sent("m1").got("m1", "m1")
    tale.told()
    file = tmp_path / "history.jsonl"
    tale.save(file)
    assert load(file) == tale.records
    command = [sys.executable, "-I", str(checker.__file__), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "once: s: was given m1 (x:1) 2 times\n")
    assert "semcast" not in Path(str(checker.__file__)).read_text()


@given(st.integers(0, 2**32), st.integers(5, 120))
def test_a_perfect_system_keeps_every_promise(seed: int, steps: int) -> None:
    records = PerfectSystem(Random(seed)).run(steps)
    assert check(json.loads(json.dumps(records))) == []


@pytest.mark.parametrize("name", SPOILS)
@given(seed=st.integers(0, 2**32))
def test_a_single_change_to_a_correct_history_is_found(name: str, seed: int) -> None:
    chance = Random(seed)
    spoil, promises = SPOILS[name]
    spoilt = spoil(PerfectSystem(chance).run(80), chance)
    assume(spoilt is not None)
    assert spoilt is not None
    assert {fault.promise for fault in check(spoilt)} & promises


def test_topics_match_by_their_first_words() -> None:
    assert topic_matches("a/*", "a/b/c")
    assert topic_matches("a", "a")
    assert not topic_matches("a/b", "a")
    assert not topic_matches("b", "a/b")


def test_conditions_match_as_sql_says() -> None:
    row = {"symbol": "S1", "price": 3}
    assert condition_matches("symbol IN ('S0', 'S1') AND price >= 3", row)
    assert not condition_matches("symbol <> 'S1'", row)
