"""Many subscriptions of one party: what they say together, when they speak, and when they go elsewhere."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.client.schedule import Schedule, cut
from semcast.client.subscription import Subscription
from semcast.model.message import ProfileText
from semcast.protocol.profile_texts import LONG
from semcast.protocol.settings import Settings
from semcast.protocol.wire.codec import encode
from semcast.protocol.wire.frames import (
    Attach,
    AttachMany,
    Detach,
    Progress,
    Taken,
    TakenMany,
)
from semcast.protocol.wire.frames.base import MOST_SESSIONS
from semcast.protocol.wire.framing import MAX_CLIENT_FRAME
from tests.cases import CASES
from tests.unit.client.parties import QUICK, Gateways, each, run


async def live(subscriptions: list[Subscription]) -> None:
    for subscription in subscriptions:
        await subscription.live()


def test_what_begins_together_is_asked_for_together() -> None:
    async def play() -> None:
        party = Gateways()
        await live(party.begin(100))
        first = party.said[0][1]
        assert isinstance(first, AttachMany)
        assert [attach.session for attach in first.attaches] == [f"me/{number}" for number in range(1, 101)]
        assert not [frame for _, frame in party.said if isinstance(frame, Attach | Taken)]
        await party.leave()
        assert party.known["g"] == set()

    run(play())


def test_one_alone_and_gateways_of_old_are_told_in_single_frames() -> None:
    async def play() -> None:
        alone, old = Gateways(), Gateways(many=False)
        await live(alone.begin(1))
        await live(old.begin(20))
        for party, count in ((alone, 1), (old, 20)):
            asked = [frame for _, frame in party.said if isinstance(frame, Attach)]
            assert len(asked) == count
            assert not [frame for _, frame in party.said if isinstance(frame, AttachMany | TakenMany)]
            await party.leave()

    run(play())


def test_a_gateway_that_is_not_there_yet_is_dialled_and_then_told_of_all() -> None:
    async def play() -> None:
        party = Gateways(many=None)
        subscriptions = party.begin(50)
        await asyncio.sleep(0)
        assert [type(frame) for _, frame in party.said] == [Attach]
        party.many = True
        party.schedule.met("g")
        await live(subscriptions)
        (many,) = [frame for _, frame in party.said if isinstance(frame, AttachMany)]
        assert len(many.attaches) == 50
        await party.leave()

    run(play())


def test_one_speaks_for_all_and_each_often_enough_to_be_kept() -> None:
    async def play() -> None:
        party = Gateways()
        await live(party.begin(200))
        await asyncio.sleep(5 * QUICK.tick_s)
        party.taken()
        spans = 6
        kept_s = 4 * QUICK.dead_s  # what gateways keep sessions for whose client is silent
        frames = 0
        spoken: Counter[str] = Counter()
        for _ in range(spans):
            await asyncio.sleep(kept_s / 2)
            frames += len(party.said)
            spoken += party.taken()
        assert len(spoken) == 200
        assert frames >= spans * kept_s / 2 / QUICK.beat_s / 3  # the gateway hears from the client all the time …
        assert max(Counter(spoken).values()) <= 3 * spans  # … and of each session now and then
        assert sum(spoken.values()) <= 200 * (spans + 2)
        await party.leave()

    run(play())


def test_a_party_that_is_idle_sleeps_until_it_has_to_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0
    turn = Schedule._turn

    def counted(schedule: Schedule) -> None:
        nonlocal turns
        turns += 1
        turn(schedule)

    monkeypatch.setattr(Schedule, "_turn", counted)

    async def play() -> None:
        nonlocal turns
        slow = Settings(tick_s=0.01, beat_s=0.4, dead_s=2.0)
        party = Gateways(settings=slow)
        (subscription,) = party.begin(1)
        await subscription.live()
        await asyncio.sleep(0.1)
        turns = 0
        party.said.clear()
        await asyncio.sleep(3 * slow.beat_s)
        assert 2 <= sum(party.taken().values()) <= 4
        assert turns <= 20  # and not one each tick
        subscription.heard("g", Progress(subscription.session, 101, "b0", 7))
        await asyncio.sleep(5 * slow.tick_s)
        assert party.taken()[subscription.session] == 1  # what happens wakes it at once
        await party.leave()

    run(play())


def test_all_stay_while_a_gateway_answers_one_and_all_leave_when_it_is_silent() -> None:
    async def play() -> None:
        party = Gateways()
        subscriptions = party.begin(60)
        await live(subscriptions)
        await asyncio.sleep(4 * QUICK.dead_s)
        assert {subscription.at for subscription in subscriptions} == {("g",)}
        party.up = {"h"}
        await asyncio.sleep(4 * QUICK.dead_s)
        assert {subscription.at for subscription in subscriptions} == {("h",)}
        assert party.known["h"] == {subscription.session for subscription in subscriptions}
        party.up = {"g", "h"}
        await asyncio.sleep(2 * QUICK.dead_s)
        assert party.known["g"] == set()  # sessions that nobody takes from would hold the logs
        await party.leave()

    run(play())


def test_a_gateway_that_forgot_its_sessions_has_them_again_as_soon_as_it_is_met() -> None:
    async def play() -> None:
        slow = Settings(tick_s=0.01, beat_s=5.0, dead_s=30.0, resend_s=5.0)
        party = Gateways(settings=slow)
        await live(party.begin(60))
        await asyncio.sleep(0.05)
        party.known["g"].clear()
        party.schedule.met("g")
        await asyncio.sleep(0.3)
        # Each is told that it is not known, and asks again after ``resend_s``: what was asked for last is long ago.
        assert len([1 for _, frame in party.said for one in each(frame) if isinstance(one, Taken)]) >= 60
        assert len(party.known["g"]) == 60
        await party.leave()

    run(play())


def test_what_waits_to_be_live_is_asked_for_less_often_the_more_there_is() -> None:
    async def asked(count: int) -> float:
        party = Gateways()
        party.up = set()
        party.gateways = lambda: ["g"]  # type: ignore[method-assign]
        party.begin(count)
        await asyncio.sleep(10 * QUICK.resend_s)
        frames = [one for _, frame in party.said for one in each(frame) if isinstance(one, Attach)]
        party.running = False
        await party.leave()
        return len(frames) / count

    async def play() -> None:
        assert await asked(3) >= 4
        assert await asked(2000) <= 3

    run(play())


def test_an_end_that_nobody_confirms_is_not_waited_for_one_by_one() -> None:
    async def play() -> None:
        party = Gateways()
        await live(party.begin(300))
        party.up = set()
        begin = asyncio.get_running_loop().time()
        await party.leave()
        assert asyncio.get_running_loop().time() - begin < 3
        assert {one.session for to, one in party.said if to == "g" and isinstance(one, Detach)} == {
            f"me/{number}" for number in range(1, 301)
        }

    run(play())


ATTACHES = st.builds(
    lambda name, text, have: Attach(name, ProfileText("s", "topic", text), have=(("b0", tuple(range(have))),)),
    st.text(max_size=5),
    st.one_of(st.text(max_size=30), st.just("x" * 9000), st.just("é" * (LONG - 1)), st.just("x" * LONG)),
    st.sampled_from([0, 0, 5, 4000]),
)


@settings(max_examples=CASES // 2, deadline=None)
@given(st.lists(ATTACHES, max_size=60))
def test_attaches_are_cut_into_frames_that_gateways_take(attaches: list[Attach]) -> None:
    assert _taken_by_gateways(list(cut(attaches)), attaches)


def _taken_by_gateways(parts: list[list[Attach]], attaches: list[Attach]) -> bool:
    return [attach for part in parts for attach in part] == attaches and all(
        part
        and len(encode(AttachMany(tuple(part)))) <= MAX_CLIENT_FRAME // 4
        and (len(part) == 1 or all(len(attach.profile.text) < LONG for attach in part))
        for part in parts
    )


def test_the_law_of_cuts_finds_frames_that_gateways_do_not_take() -> None:
    short, long = (Attach("x", ProfileText("s", "topic", "x" * size)) for size in (LONG - 1, LONG))
    assert _taken_by_gateways([[short], [long]], [short, long])
    assert not _taken_by_gateways([[short, long]], [short, long])
    assert not _taken_by_gateways([[short], [], [long]], [short, long])
    assert not _taken_by_gateways([[short]], [short, long])
    assert not _taken_by_gateways([[short] * 200], [short] * 200)


@pytest.mark.parametrize("text", ["a", "é" * 100])
def test_frames_are_full_where_there_is_enough(text: str) -> None:
    attach = Attach("me/1", ProfileText("s", "topic", text))
    parts = list(cut([attach] * 20_000))
    assert max(map(len, parts)) <= MOST_SESSIONS
    assert len(parts) <= 20_000 * (len(text) * 4 + 200) / (256 << 10) + 1
