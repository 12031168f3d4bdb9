"""Many subscriptions as one: places, errors, turns, and what counts as taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from semcast.client.many import Subscriptions, subscribe_many
from semcast.client.subscription import Subscription
from semcast.model import ProfileError, SemcastError
from semcast.model.message import Message, packed
from semcast.protocol.streams import Stream, Streams
from semcast.protocol.wire.frames import AnyFrame, Attach, AttachMany, Deliver, ProtocolError, Taken
from tests.unit.client.parties import Gateways, run


class Quotes(Gateways):
    """Refuses profiles over ``gone``, although they make sense."""

    def __init__(self) -> None:
        super().__init__()
        self.streams = Streams({"quotes": Stream(schema={"price": "double", "gone": "double"})})
        self.most = 0

    def say(self, to: str, frame: AnyFrame) -> int:
        self.most = max(self.most, self.schedule.asking)
        if isinstance(frame, AttachMany | Attach):
            asked = frame.attaches if isinstance(frame, AttachMany) else (frame,)
            for attach in asked:
                if "gone" in attach.profile.text:
                    asyncio.get_running_loop().call_soon(
                        self.dispatch, to, ProtocolError("no more of that", attach.session)
                    )
            fit = tuple(attach for attach in asked if "gone" not in attach.profile.text)
            return super().say(to, AttachMany(fit)) if fit else 1
        return super().say(to, frame)

    def bring(self, subscription: Any, number: int, sequence: int) -> None:
        assert isinstance(subscription, Subscription)
        body = packed(Message("quotes", b"%d" % number))
        self.dispatch("g", Deliver(subscription.session, 100 + sequence, "b0", number, body))


def test_errors_stand_in_their_places_and_the_others_are_live() -> None:
    async def play() -> None:
        party = Quotes()
        found = await subscribe_many(party, "quotes", ["price > 1", "prise > 1", "gone > 1", "price > 2"])
        assert (len(found), found.ids) == (4, (0, 1, 2, 3))
        assert [isinstance(entry, Subscription) for entry in found] == [True, False, False, True]
        assert sorted(found.errors) == [1, 2]
        assert isinstance(found[1], ProfileError)
        assert "did you mean 'price'?" in str(found[1])
        assert str(found[2]) == "no more of that"
        assert all(subscription.is_live for subscription in found.live)
        await asyncio.sleep(0.2)
        assert party.known["g"] == {subscription.session for subscription in found.live}
        await found.close()
        assert party.known["g"] == set()
        assert not party._subscriptions

    run(play())


def test_what_makes_no_sense_at_all_is_said_at_once() -> None:
    async def play() -> None:
        party = Quotes()
        with pytest.raises(SemcastError, match="there is no stream 'quots'; did you mean 'quotes'"):
            await subscribe_many(party, "quots", ["price > 1"])
        with pytest.raises(SemcastError, match="durable subscriptions need names"):
            await subscribe_many(party, "quotes", ["price > 1"], session="mine")
        nothing = await subscribe_many(party, "quotes", [])
        assert (list(nothing), [pair async for pair in nothing]) == ([], [])

    run(play())


def test_durable_ones_are_named_and_bounds_go_by_id() -> None:
    async def play() -> None:
        party = Quotes()
        given = {"low": "price < 5", 7: "price > 5"}
        found = await subscribe_many(party, "quotes", given, session="mine", max_delay_ms={7: 50.0})
        assert found.ids == ("low", 7)
        assert [subscription.session for subscription in found.live] == ["mine/low", "mine/7"]
        assert [subscription.staleness.bound_ms for subscription in found.live] == [None, 50.0]
        again = await subscribe_many(party, "quotes", {7: "price > 5"}, session="mine")
        assert str(again[0]) == "there is a subscription 'mine/7' already"
        await found.close(keep=True)

    run(play())


def test_messages_of_all_come_in_turns_with_their_ids() -> None:
    async def play() -> None:
        party = Quotes()
        found = await subscribe_many(party, "quotes", {"a": "price > 1", "b": "price > 2"})
        for sequence in range(1, 4):
            party.bring(found[0], 10 + sequence, sequence)
        party.bring(found[1], 20, 1)
        seen = [(id, message.number) for id, message in [await anext(found) for _ in range(4)]]
        assert seen == [("a", 11), ("b", 20), ("a", 12), ("a", 13)]
        waiting = asyncio.ensure_future(anext(found))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        party.bring(found[1], 21, 2)
        assert (await waiting)[0] == "b"
        await found.close()
        assert [pair async for pair in found] == []

    run(play())


def test_a_message_counts_as_taken_when_the_next_is_asked_for() -> None:
    async def play() -> None:
        party = Quotes()
        found = await subscribe_many(party, "quotes", ["price > 1", "price > 2"])
        await asyncio.sleep(0.05)

        def taken(subscription: Any) -> int:
            frames = [one for _, frame in party.said for one in getattr(frame, "taken", (frame,))]
            return max(one.sequence for one in frames if isinstance(one, Taken) and one.session == subscription.session)

        party.bring(found[0], 5, 1)
        await anext(found)
        await asyncio.sleep(0.3)
        assert taken(found[0]) == 100
        party.bring(found[1], 6, 1)
        await anext(found)
        await asyncio.sleep(0.1)
        assert (taken(found[0]), taken(found[1])) == (101, 100)
        await found.close()

    run(play())


def test_one_that_fails_later_leaves_the_others_alone() -> None:
    async def play() -> None:
        party = Quotes()
        found = await subscribe_many(party, "quotes", ["price > 1", "price > 2"])
        broken = found[0]
        assert isinstance(broken, Subscription)
        party.dispatch("g", Deliver(broken.session, "no number", "b0", 1, b""))  # type: ignore[arg-type]
        party.bring(found[1], 6, 1)
        assert (await anext(found))[0] == 1
        assert isinstance(found[0], SemcastError)
        assert "cannot go on" in str(found.errors[0])
        await found.close()

    run(play())


def test_very_many_are_asked_for_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semcast.client.many.ASKED", 100)

    async def play() -> None:
        party = Quotes()
        found: Subscriptions = await subscribe_many(party, "quotes", [f"price > {n}" for n in range(1000)])
        assert not found.errors
        assert 50 <= party.most <= 100
        await found.close()

    run(play())


def test_whoever_stops_waiting_leaves_nothing_behind() -> None:
    async def play() -> None:
        party = Quotes()
        party.up = set()
        begun = asyncio.ensure_future(subscribe_many(party, "quotes", [f"price > {n}" for n in range(50)]))
        await asyncio.sleep(0.05)
        assert party.schedule.asking == 50
        party.up = {"g"}
        begun.cancel()
        with pytest.raises(asyncio.CancelledError):
            await begun
        assert party.schedule.asking == 0
        assert not party._subscriptions
        assert party.known["g"] == set()

    run(play())
