"""Routes by one plan: what matches decides, and is asked once."""

from __future__ import annotations

from functools import reduce
from operator import or_

import pytest

from semcast.model.message import Message
from semcast.protocol.filters import Filter
from semcast.protocol.roster_digest import fingerprint
from semcast.protocol.source import followed_plan as following
from semcast.protocol.source.followed_plan import Following, following_of
from semcast.protocol.source.followed_roster import FollowedRoster
from semcast.protocol.stores import AWAY
from semcast.protocol.wire.frames import RosterChange, RosterChanges, RosterPiece
from tests.protocol.playbook import KEY, OTHER, changes_to, planned, switch, topic

PROFILES = {"a": ("g0",), "b": ("g1",), "a/b": ("g1",)}


def messages(*topics: str) -> list[Message]:
    return [Message("news", b"", topic) for topic in topics]


def followed(scheme: str = "masked", absent: tuple[str, ...] = ()) -> Following:
    reached = tuple(bit for bit, name in enumerate(("g0", "g1")) if name not in absent)
    told = switch(3, planned(KEY, reached), planned(OTHER, (0,)), scheme=scheme, profiles=PROFILES, absent=absent)
    roster = FollowedRoster()
    roster.change(changes_to(roster, told))
    return following_of(told, "s", Filter(), roster)


TOPICS = ("a", "b", "a/b", "z", "a", "a/b/c", "b/a")


@pytest.mark.parametrize("scheme", ["masked", "spt"])
def test_a_message_takes_the_same_way_alone_in_a_batch_and_again(scheme: str) -> None:
    alone = [followed(scheme).route(messages(topic))[0] for topic in TOPICS]
    plan = followed(scheme)
    assert plan.route(messages(*TOPICS)) == alone
    assert plan.route(messages(*TOPICS)) == alone
    assert [set(found.profiles) for found in alone[:4]] == [{"a"}, {"b"}, {"a", "a/b"}, set()]
    assert [reduce(or_, (mask for _, mask in found.routes), 0) for found in alone[:4]] == [0b01, 0b10, 0b11, 0]


def test_what_is_owed_to_who_is_away_is_remembered_with_the_way() -> None:
    plan = followed(absent=("g1",))
    for _ in range(2):
        (found,) = plan.route(messages("a/b"))
        assert (AWAY, 0b10) in found.routes


def test_routes_are_forgotten_when_there_are_too_many_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [followed().route(messages(topic))[0] for topic in TOPICS]
    monkeypatch.setattr(following, "_ROOM", 2)
    plan = followed()
    for _ in range(3):
        assert [plan.route(messages(topic))[0] for topic in TOPICS] == alone
        assert sum(map(len, plan._known)) <= 2
    assert plan.route(messages(*TOPICS)) == alone


def test_a_snapshot_repairs_what_was_damaged_in_place_for_good() -> None:
    roster = FollowedRoster()
    first, second, third = topic("a"), topic("b"), topic("c")
    known = RosterChange("a", first, (0,)), RosterChange("b", second, (1,))
    digest = fingerprint("a", first, ["g0"]) + fingerprint("b", second, ["g1"])
    assert roster.change(RosterChanges(1, 0, 2, ("g0", "g1"), known, digest % 2**64))
    roster._entries["a"] = topic("elsewhere"), 2
    digest -= fingerprint("a", first, ["g0"])
    assert not roster.change(RosterChanges(1, 2, 3, (), (RosterChange("a", None, ()),), digest % 2**64))
    roster._entries["b"] = topic("elsewhere"), 1
    assert roster.piece(RosterPiece(1, 1, 0, 3, ("g1",), (RosterChange("b", second, (0,)),), last=True))
    digest += fingerprint("c", third, ["g0"])
    assert roster.change(RosterChanges(1, 3, 4, ("g0",), (RosterChange("c", third, (0,)),), digest % 2**64))
    assert list(roster.profiles()) == [("b", second, ("g1",)), ("c", third, ("g0",))]
    assert (+roster.held, roster.astray, roster.digest) == ({"g0": 1, "g1": 1}, 1, digest % 2**64)
