"""Frames in which a client speaks of many subscriptions at a gateway."""

from __future__ import annotations

import msgspec
import pytest

from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import Attach, Attached, AttachMany, Beat, ProtocolError, Taken, TakenMany
from semcast.protocol.wire.frames.base import MOST_SESSIONS
from semcast.protocol.wire.framing import FrameError
from tests.protocol.gateways import attach, joined, live
from tests.protocol.playbook import frames, only, play, topic

NAMES = ("x", "y", "z")


def test_many_are_attached_as_each_would_be_by_itself() -> None:
    together, apart = joined(), joined()
    asked = tuple(attach(name, topic(name)) for name in NAMES)
    play(together, ("sub", AttachMany(asked)))
    for one in asked:
        play(apart, ("sub", one))
    assert together.gateway is not None
    assert apart.gateway is not None
    assert list(together.gateway.sessions) == list(apart.gateway.sessions) == list(NAMES)
    assert together.gateway.interests.profiles == apart.gateway.interests.profiles
    serial = together.gateway.interests.serial
    answers = frames(play(together, ("c", live(serial))), Attached)
    assert [answer.session for answer in answers] == list(NAMES)


def test_one_that_is_refused_is_named_and_leaves_the_others_alone() -> None:
    node = joined()
    bad = attach("bad", msgspec.structs.replace(topic("a"), language="no language"))
    commands = play(node, ("sub", AttachMany((attach("x"), bad, attach("z", topic("b"))))))
    assert only(commands, ProtocolError).session == "bad"
    assert node.gateway is not None
    assert list(node.gateway.sessions) == ["x", "z"]


def test_one_beat_answers_for_all_sessions_and_those_not_known_are_named() -> None:
    node = joined()
    commands = play(node, ("sub", AttachMany(tuple(attach(name, topic(name)) for name in NAMES))))
    assert len(frames(commands, Beat)) == 1
    commands = play(node, ("sub", TakenMany((Taken("x", 0), Taken("gone", 0), Taken("y", 0), Taken("z", 0)))), at=7.0)
    assert len(frames(commands, Beat)) == 1
    assert only(commands, ProtocolError) == ProtocolError("the session is not known here", "gone", unknown=True)
    assert node.gateway is not None
    assert {session.heard_at for session in node.gateway.sessions.values()} == {7.0}


@pytest.mark.parametrize("over", [0, 1])
def test_a_frame_speaks_of_so_many_sessions_and_no_more(over: int) -> None:
    one = Attach("x", topic("a"))
    for frame in (AttachMany((one,) * (MOST_SESSIONS + over)), TakenMany((Taken("x", 1),) * (MOST_SESSIONS + over))):
        if not over:
            assert decode(encode(frame)) == frame
        else:
            with pytest.raises(FrameError):
                decode(encode(frame))
