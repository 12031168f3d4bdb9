"""Which commands wait for which commit."""

from __future__ import annotations

from semcast.protocol.commits import Commits
from semcast.protocol.contract import Command, Note, Sync


def said(*names: str) -> list[Command]:
    return [Note(name) for name in names]


def test_what_rests_on_nothing_is_done_at_once() -> None:
    commits = Commits()
    assert commits.say(said("a"), dirty=False) == (said("a"), False)
    assert commits.free


def test_what_rests_on_notes_waits_for_their_commit_and_nothing_overtakes_it() -> None:
    commits = Commits()
    assert commits.say(said("a"), dirty=True) == ([], True)
    assert commits.say(said("b"), dirty=False) == ([], False)
    assert commits.also(Note("c")) == []
    assert not commits.free
    assert commits.finish() == (said("a", "b", "c"), False)
    assert commits.free


def test_notes_that_are_put_during_a_commit_wait_for_the_next() -> None:
    commits = Commits()
    commits.say(said("a"), dirty=True)
    assert commits.say(said("b"), dirty=True) == ([], False)
    assert commits.finish() == (said("a"), True)
    assert commits.finish() == (said("b"), False)


def test_a_sync_begins_a_commit_and_waits_for_none() -> None:
    commits = Commits()
    asked: list[Command] = [Sync(7)]
    assert commits.say(asked, dirty=False) == (asked, True)
    assert commits.under_way


def test_while_nothing_can_be_written_everything_waits_and_tries_come_later_each_time() -> None:
    commits = Commits()
    commits.say(said("a"), dirty=True)
    assert [commits.fail("full") for _ in range(7)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert commits.trouble == "full"
    assert not commits.free
    assert commits.also(Note("b")) == []
    assert commits.finish() == (said("a"), False)
    assert (commits.trouble, commits.fail("again")) == ("", 0.2)
