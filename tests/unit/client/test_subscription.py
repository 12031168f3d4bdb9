"""A subscription's side of a slow reader: what waits, and what counts as taken."""

from __future__ import annotations

import asyncio

from semcast.client.party import Party
from semcast.client.subscription import Subscription
from semcast.model.message import Message, ProfileText, packed
from semcast.protocol.settings import Settings
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import AnyFrame, Attached, Deliver, Progress, Taken


class Alone(Party):
    """A party whose words go nowhere but into a list."""

    def __init__(self) -> None:
        super().__init__()
        self.name, self.settings, self.streams, self.running = "me", Settings(held=8), Streams(), True
        self.said: list[AnyFrame] = []

    def say(self, to: str, frame: AnyFrame) -> int:
        self.said.append(frame)
        return 1

    def overlay_time(self) -> tuple[float, float]:
        return 0.0, 0.0

    def gateways(self) -> list[str]:
        return ["g"]


def attached() -> tuple[Alone, Subscription]:
    party = Alone()
    subscription = party.subscribe("s", ProfileText("s", "topic", "a"), session="mine")
    subscription.heard("g", Attached("mine", 0, (("b0", 0),), 100, None, (("b0", 0),)))
    return party, subscription


def deliver(number: int) -> Deliver:
    return Deliver("mine", 100 + number, "b0", number, packed(Message("s", b"%d" % number, "a")))


def taken(party: Alone) -> list[int]:
    return [frame.sequence for frame in party.said if isinstance(frame, Taken)]


def test_what_is_said_again_does_not_wait_twice() -> None:
    async def run() -> None:
        _, subscription = attached()
        for _ in range(50):
            for number in range(1, 9):
                subscription.heard("g", deliver(number))
        assert subscription.behind <= 8
        found = [message.number for message in iter(subscription.ready, None)]
        assert found == list(range(1, 9))
        await subscription.close(keep=True)

    asyncio.run(run())


def test_what_was_lost_on_the_way_is_taken_in_when_it_is_said_again() -> None:
    async def run() -> None:
        _, subscription = attached()
        for number in (1, 2, 4):
            subscription.heard("g", deliver(number))
        found = [message.number for message in iter(subscription.ready, None)]
        for number in (1, 2, 3, 4):
            subscription.heard("g", deliver(number))
        found += [message.number for message in iter(subscription.ready, None)]
        assert found == [1, 2, 3, 4]
        await subscription.close(keep=True)

    asyncio.run(run())


def test_only_what_was_confirmed_counts_as_taken() -> None:
    async def run() -> None:
        party, subscription = attached()
        for number in range(1, 7):
            subscription.heard("g", deliver(number))
        places = []
        for _ in range(6):
            assert subscription.ready() is not None
            places.append(subscription.reached)
        assert max(taken(party), default=0) <= 100
        subscription.confirm(places[3])
        assert max(taken(party)) == 104
        subscription.heard("g", Progress("mine", 107, "b0", 6))
        subscription.confirm()
        assert subscription.cursor == {"b0": 6}
        assert max(taken(party)) == 107
        await subscription.close(keep=True)

    asyncio.run(run())


def test_a_confirmation_from_before_the_session_began_anew_confirms_nothing_of_it() -> None:
    async def run() -> None:
        party, subscription = attached()
        subscription.heard("g", deliver(1))
        assert subscription.ready() is not None
        place = subscription.reached
        subscription.heard("g", Attached("mine", 0, (("b0", 0),), 500, None, (("b0", 0),)))
        for number in (2, 3, 4):
            subscription.heard("g", Deliver("mine", 500 + number - 1, "b0", number, deliver(number).body))
        assert [message.number for message in iter(subscription.ready, None)] == [2, 3, 4]
        subscription.confirm(place)
        assert not [sequence for sequence in taken(party) if sequence > 500]
        await subscription.close(keep=True)

    asyncio.run(run())
