"""Questions to a source's log that are answered together: each gets what it would get alone, in short turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.model.message import Message, packed
from semcast.protocol.contract import Command, Continue, Send
from semcast.protocol.settings import Settings
from semcast.protocol.source import fills as module
from semcast.protocol.source.fills import Fills
from semcast.protocol.stores import Record
from semcast.protocol.wire.frames import Caught, Fill, Repair
from tests.protocol.playbook import KEY, topic

WORDS = ("a", "b", "c", "d")


class Shelf:
    """A log in memory; numbers may be missing from it."""

    def __init__(self, topics: Sequence[str], lost: Iterable[int] = (), trimmed: int = 0, waiting: int = 0) -> None:
        """``waiting``: one message in so many is to be routed elsewhere, and nobody gets it from here."""
        self.trimmed, self.end, self.looked_at = trimmed, len(topics), 0
        lost = set(lost)
        self.records = [
            Record(
                n, "o", n, int(not waiting or n % waiting > 0), ((KEY, 1),), packed(Message("news", b"%d" % n, word))
            )
            for n, word in enumerate(topics, 1)
            if n not in lost and n > trimmed
        ]

    def read(self, after: int, through: int, most: int) -> list[Record]:
        found = [record for record in self.records if after < record.number <= through][:most]
        self.looked_at += len(found)
        return found

    def wanted(self, word: str, first: int) -> list[int]:
        """By comparing topics, without a matcher."""
        return [
            record.number
            for record in self.records
            if record.epoch and record.number > first and f"{word}/x".encode() in record.body
        ]


def fills_of(shelf: Shelf, batch: int = 256) -> Fills:
    return Fills("s", shelf, 1, Settings(batch=batch))  # type: ignore[arg-type]


def until_quiet(fills: Fills, commands: list[Command], sent: int) -> list[Command]:
    """Turns until nothing is left to do; no turn ends without a word where there is."""
    said = [command for command in commands if not isinstance(command, Continue)]
    for _ in range(10_000):
        if not any(isinstance(command, Continue) for command in commands):
            return said
        commands = fills.proceed(sent)
        said += [command for command in commands if not isinstance(command, Continue)]
    raise AssertionError("it never ends")


def answers(commands: Iterable[Command]) -> dict[int, tuple[list[int], Caught]]:
    """Request → numbers, and the end of the answer."""
    numbers: dict[int, list[int]] = {}
    found: dict[int, tuple[list[int], Caught]] = {}
    for command in commands:
        assert isinstance(command, Send)
        if isinstance(command.frame, Repair):
            numbers.setdefault(command.frame.request, []).extend(command.frame.numbers)
        elif isinstance(command.frame, Caught):
            assert command.frame.request not in found
            found[command.frame.request] = numbers.get(command.frame.request, []), command.frame
    return found


Asked = tuple[str, int, int]
"""A word, from where on, and a credit."""
SHELVES = st.builds(
    lambda words, lost, trimmed, waiting: Shelf(
        [f"{word}/x" for word in words], lost, min(trimmed, len(words)), waiting
    ),
    st.lists(st.sampled_from(WORDS), max_size=60),
    st.sets(st.integers(1, 60), max_size=6),
    st.integers(0, 20),
    st.sampled_from([0, 3]),
)
ASKED = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 60), st.integers(1, 4)), min_size=1, max_size=12)


def everybody_gets_all_of_it(shelf: Shelf, asked: list[Asked], turn: int, batch: int) -> None:
    """Who asks on from where answers end has all that matches, once; answers tell what the log has lost."""
    asked = [(word, min(first, shelf.end), credit) for word, first, credit in asked]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TURN", turn)
        patch.setattr(module, "_TOGETHER", 5)
        fills, places = fills_of(shelf, batch), [first for _, first, _ in asked]
        got: list[list[int]] = [[] for _ in asked]
        open_ = set(range(len(asked)))
        for _ in range(200):
            commands: list[Command] = []
            for number in open_:
                word, _, credit = asked[number]
                # A gateway for each: one gateway would not ask the same twice.
                commands += fills.ask(Fill(f"g{number}", number, topic(word), places[number], credit), shelf.end)
            found = answers(until_quiet(fills, [*commands, Continue()], shelf.end))
            assert found.keys() == open_
            for number, (numbers, caught) in found.items():
                assert (caught.first, caught.sent) == (places[number], len(numbers))
                assert len(numbers) <= asked[number][2]
                assert caught.through > places[number] or not caught.more
                missing = {*range(places[number] + 1, caught.lost + 1)}
                assert not missing & {record.number for record in shelf.records}
                got[number] += numbers
                places[number] = caught.through
                if not caught.more:
                    open_.discard(number)
            if not open_:
                break
        assert got == [shelf.wanted(word, first) for word, first, _ in asked]


@given(SHELVES, ASKED, st.integers(1, 40), st.sampled_from([3, 256]))
def test_who_asks_together_gets_what_he_would_get_alone(
    shelf: Shelf, asked: list[Asked], turn: int, batch: int
) -> None:
    everybody_gets_all_of_it(shelf, asked, turn, batch)


def _forgets_where_it_began(answer: module._Answer, record: Record) -> None:
    answer.found.append(record)


def _is_never_full(answer: module._Answer, record: Record) -> None:
    if record.number > answer.place:
        answer.found.append(record)


def _leaves_one_out(answer: module._Answer, record: Record) -> None:
    answer.place, answer.more = max(answer.place, record.number), True


@pytest.mark.parametrize("broken", [_forgets_where_it_began, _is_never_full, _leaves_one_out])
def test_that_law_bites(broken: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._Answer, "take", broken)
    with pytest.raises(AssertionError):
        everybody_gets_all_of_it(Shelf(["a/x", "b/x"] * 20), [("a", 0, 2), ("a", 7, 3), ("b", 11, 1)], 10, 3)


def test_thousands_at_once_take_short_turns_and_one_reading_for_many() -> None:
    shelf = Shelf([f"{WORDS[n % 4]}{n % 500}/x" for n in range(2000)])
    fills = fills_of(shelf)
    commands: list[Command] = []
    for number in range(1000):
        profile = topic(f"{WORDS[number % 4]}{number % 500}")
        commands += fills.ask(Fill("g", number, profile, number % 7, 256), shelf.end)
    assert shelf.looked_at <= 1024 + 256 + 100  # the turn in which all of them came
    while any(isinstance(command, Continue) for command in commands[-1:]):
        looked_at = shelf.looked_at
        commands += fills.proceed(shelf.end)
        assert shelf.looked_at - looked_at <= 1024 + 256 + 100
    found = answers(command for command in commands if not isinstance(command, Continue))
    for number, (numbers, caught) in found.items():
        assert numbers == [n + 1 for n in range(2000) if n % 500 == number % 500 and n >= number % 7]
        assert not caught.more
    assert len(found) == 1000
    assert shelf.looked_at < 15 * 2000  # one reading for a hundred of them, and one look each at where it begins


def test_a_question_that_is_asked_again_while_it_waits_is_answered_once() -> None:
    shelf = Shelf(["a/x"] * 2000)
    fills = fills_of(shelf)
    commands = fills.ask(Fill("other", 1, topic("b"), 0, 256), 2000)  # takes more than a turn
    commands += fills.ask(Fill("g", 2, topic("a"), 1990, 256), 2000)
    commands += fills.ask(Fill("g", 3, topic("a"), 1990, 256), 2000)
    found = answers(until_quiet(fills, commands, 2000))
    assert found.keys() == {1, 3}
    assert found[3][0] == list(range(1991, 2001))
