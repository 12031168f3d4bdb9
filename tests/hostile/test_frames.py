"""Frames from someone they do not belong to change nothing: they are refused, counted and logged."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import semcast
from semcast.model.message import Message
from semcast.protocol.wire.frames import (
    AnyFrame,
    Data,
    GatewayChanges,
    Heartbeat,
    Hello,
    Install,
    Lease,
    Leg,
    Live,
    Noted,
    PieceTaken,
    Publish,
    Published,
    Refused,
    Repair,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
    Switch,
    Switched,
    Tally,
    Welcome,
)
from semcast.protocol.wire.framing import PREFIX, VERSION
from semcast.server.serve import run
from tests.cases import CASES
from tests.hostile.attacks import Record, attacked
from tests.hostile.conftest import Target
from tests.hostile.raw import Raw, client
from tests.laws.client_worlds import TO_BROKERS, TO_COORDINATORS

pytestmark = pytest.mark.system
HIGH = 1 << 60
KEY = ("c0", 1)


def test_a_client_cannot_send_messages_along_trees(unharmed: Target, record_property: Record) -> None:
    async def attack(target: Target) -> None:
        numbers = tuple(range(10**6, 10**6 + 20))
        bodies = tuple(b"forged %d" % number for number in numbers)
        forged: list[AnyFrame] = [
            Data(KEY, 1, "b0", numbers, tuple(3 for _ in numbers), bodies),
            Data(KEY, 1, "b0", numbers, None, bodies),
            Leg("b2", 1, "b0", numbers, tuple((KEY,) for _ in numbers), bodies),
            Tally(KEY, 1, 0, 0, "b0", HIGH, HIGH, {0: HIGH}),
            Repair("b0", 1, numbers, bodies),
        ]
        for frame in forged:
            async with Raw(target.where("b4")) as raw:
                raw.say(client())
                await raw.greeted()
                raw.say(frame)
                assert "a client has no business with" in await raw.ended()

    before = unharmed.metric("refused_total", "b4")
    attacked(unharmed, attack, record_property)
    assert unharmed.metric("refused_total", "b4") == before + 5
    assert "refused Data from client 'mallory'" in unharmed.log()


def test_nobody_can_play_the_coordinator(unharmed: Target, record_property: Record) -> None:
    frames: list[AnyFrame] = [
        Welcome(HIGH, 0.0),
        Lease(HIGH, 0.0, 1e9, 1, HIGH),
        Install(HIGH, HIGH, (), ()),
        Switch(HIGH, HIGH, "masked", ("b2",), (), ()),
        Noted(HIGH, 1, HIGH),
        Live(HIGH, 1, HIGH, HIGH, ()),
        RosterChanges(HIGH, 0, HIGH, (), ()),
        RosterPiece(HIGH, 1, 0, HIGH, (), (), last=True),
    ]

    async def attack(target: Target) -> None:
        for name in ("b0", "b4"):
            for frame in frames:
                async with Raw(target.where(name)) as raw:
                    raw.say(Hello("c0", "coordinator", HIGH, target.addresses["c0"]), frame)
                    assert "coordinators are dialled" in await raw.ended()
                async with Raw(target.where(name)) as raw:
                    raw.say(client(), frame)
                    assert "a client has no business with" in await raw.ended()

    attacked(unharmed, attack, record_property)


@pytest.mark.parametrize("role", ["broker", "coordinator", "client", "newcomer", "emperor"])
def test_a_name_that_is_connected_is_not_given_away(role: str, unharmed: Target, record_property: Record) -> None:
    async def attack(target: Target) -> None:
        lines = [Raw(target.where(member)) for member in ("b0", "b4", "c0") for _ in range(50)]
        async with asyncio.TaskGroup() as group:
            for place, raw in enumerate(lines):
                name = ("c0", "b0", "b1", "b2", "b4")[place % 5]
                group.create_task(_refused(raw, Hello(name, role, HIGH, "127.0.0.1:1", b"guess")))

    gone = unharmed.log().count(" is gone: ")
    attacked(unharmed, attack, record_property)
    assert unharmed.log().count(" is gone: ") == gone


async def _refused(raw: Raw, hello: Hello) -> None:
    async with raw:
        raw.say(hello)
        assert await raw.ended()


def test_a_client_keeps_its_name_while_it_answers(unharmed: Target) -> None:
    async def attack() -> None:
        async with semcast.connect(unharmed.addresses["b4"], name="alice") as alice:
            subscription = alice.subscribe("topics", "kept/name")
            await subscription.live()
            await _refused(Raw(unharmed.where("b4")), Hello("alice", "client", HIGH))
            await alice.publish("topics", "still here", topic="kept/name")
            async with asyncio.timeout(30):
                assert (await anext(subscription)).payload == b"still here"

    run(attack())


def test_members_speak_for_themselves_only(unharmed: Target, record_property: Record) -> None:
    """What a broker may say to a coordinator, a client may not, whatever name it says it under."""
    frames: list[AnyFrame] = [
        Heartbeat("b0", HIGH, 0.0, (HIGH, HIGH), ("b1", "b2"), HIGH, HIGH, HIGH),
        Switched("b0", HIGH, 1, HIGH, HIGH),
        GatewayChanges("b2", HIGH, HIGH, ()),
        RosterFollowed("b0", HIGH, HIGH, HIGH),
        PieceTaken("b0", HIGH, HIGH, HIGH),
    ]

    async def attack(target: Target) -> None:
        for frame in frames:
            async with Raw(target.where("c0")) as raw:
                raw.say(client(), frame)
                assert "a client has no business with" in await raw.ended()
        async with Raw(target.where("b2")) as raw:
            raw.say(client(), Published("somebody", HIGH))
            assert "a client has no business with Published" in await raw.ended()

    attacked(unharmed, attack, record_property)


def test_a_frame_before_the_hello_is_refused(unharmed: Target) -> None:
    async def attack() -> None:
        async with Raw(unharmed.where("b2")) as raw:
            raw.say(Welcome(HIGH, 0.0))
            assert await raw.ended() == "say hello first"

    run(attack())


def test_frames_have_the_size_that_their_sender_needs(unharmed: Target) -> None:
    async def attack() -> None:
        for hello, size in (([], 1 << 20), ([client("large")], 7 << 20)):
            async with Raw(unharmed.where("b2")) as raw:
                raw.say(*hello)
                if hello:
                    await raw.greeted()
                raw.write(PREFIX.pack(size, VERSION, 0))
                await raw.ended()

    run(attack())


def test_a_message_whose_headers_would_fill_a_frame_is_refused(unharmed: Target) -> None:
    """As a publisher sends it that does not look at it first."""

    async def attack() -> None:
        large = Message("topics", b"", "canary/large", 0, None, (("x", "a" * (5 << 20)),))
        async with Raw(unharmed.where("b0")) as raw:
            raw.say(client("large"))
            await raw.greeted()
            raw.say(Publish("large", 0, (large,)))
            async with asyncio.timeout(30):
                while not any(isinstance(frame, Refused) for frame in raw.came):
                    await asyncio.sleep(0.01)
        refused = next(frame for frame in raw.came if isinstance(frame, Refused))
        assert "topic, key and headers have" in refused.reason

    run(attack())


@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TO_BROKERS, min_size=1, max_size=8), st.lists(TO_COORDINATORS, min_size=1, max_size=4))
def test_whatever_clients_say_members_go_on(
    target: Target, to_brokers: list[AnyFrame], to_coordinators: list[AnyFrame]
) -> None:
    """The law of tests/laws/test_client_laws, against real members."""

    async def attack() -> None:
        for member, said in (("b0", to_brokers), ("b2", to_brokers), ("c0", to_coordinators)):
            async with Raw(target.where(member)) as raw:
                raw.say(client("fuzz"))
                await raw.greeted()
                raw.say(*said)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(raw.over.wait(), 0.05)

    run(attack())


def test_members_are_well_after_all_that(unharmed: Target, record_property: Record) -> None:
    async def nothing(target: Target) -> None:
        assert "cannot go on" not in target.log()
        assert "Traceback" not in target.log()

    attacked(unharmed, nothing, record_property)
