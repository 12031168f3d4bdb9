"""Profiles that are dear to read, to index or to match, against an overlay in use."""

from __future__ import annotations

import asyncio
import json

import pytest
from websockets.asyncio.client import connect

import semcast
from semcast.client import Refused
from semcast.client.client import connection_of
from semcast.model.message import ProfileText
from semcast.protocol.streams import Streams
from tests.hostile.attacks import Record, attacked
from tests.hostile.conftest import Target

pytestmark = pytest.mark.system


def values(count: int, first: int = 0) -> str:
    return "symbol IN (" + ",".join(f"'v{number:07}'" for number in range(first, first + count)) + ")"


class _AsGiven(Streams):
    """A client that does not read its profiles: a hostile one, whose gateway has to."""

    def profile(self, stream: str, text: str) -> ProfileText:
        return ProfileText(stream, self.declared[stream].language, text)


def unread(client: semcast.client.Client) -> semcast.client.Client:
    connection_of(client).streams = _AsGiven(client.streams.declared)
    return client


def test_one_pattern_and_one_message_do_not_stop_a_source(unharmed: Target, record_property: Record) -> None:
    async def attack(target: Target) -> None:
        async with semcast.connect(target.addresses["b2"]) as client:
            hostile = unread(client).subscribe("quotes", "symbol LIKE '" + "%a" * 2000 + "'")
            with pytest.raises(Refused, match="the pattern"):
                await hostile.live()
            dear = client.subscribe("quotes", "symbol LIKE '" + "%a" * 60 + "%b'")
            await dear.live()
            for size in (10_000, 100_000, 4_000_000):
                await client.publish("quotes", {"symbol": "a" * size})
            await client.publish("quotes", {"symbol": "a" * 4_000_000 + "b"})
            async with asyncio.timeout(60):
                assert len((await anext(dear)).json()["symbol"]) == 4_000_001

    attacked(unharmed, attack, record_property)


def test_a_list_of_a_hundred_thousand_values_is_taken_while_all_goes_on(
    unharmed: Target, record_property: Record
) -> None:
    async def attack(target: Target) -> None:
        async with semcast.connect(target.addresses["b2"]) as client:
            subscription = unread(client).subscribe("quotes", values(100_000))
            async with asyncio.timeout(60):
                await subscription.live()
                await client.publish("quotes", {"symbol": "v0099999"})
                await client.publish("quotes", {"symbol": "v0100000"})
                await client.publish("quotes", {"symbol": "v0000000"})
                assert [(await anext(subscription)).json()["symbol"] for _ in range(2)] == ["v0099999", "v0000000"]
            await subscription.close()

    gone = unharmed.log().count(" is gone")
    attacked(unharmed, attack, record_property)
    assert unharmed.log().count(" is gone") == gone


def test_the_same_over_websocket_and_in_place_of_another_profile(unharmed: Target, record_property: Record) -> None:
    async def attack(target: Target) -> None:
        async with connect(f"ws://{target.addresses['b4']}/v1/ws", max_size=None) as socket:

            async def said(*words: str) -> dict[str, object]:
                async with asyncio.timeout(60):
                    while True:
                        ((what, content),) = json.loads(await socket.recv()).items()
                        assert what != "error", content
                        if what in words:
                            return dict(content)

            subscribe = {"id": 1, "stream": "quotes", "profile": values(90_000)}
            await socket.send(json.dumps({"subscribe": subscribe}))
            await said("live")
            await socket.send(json.dumps({"replace": {"id": 1, "profile": values(90_000, first=50_000)}}))
            await said("replaced")
            for symbol in ("v0000001", "v0130000"):
                await socket.send(json.dumps({"publish": {"id": 2, "stream": "quotes", "json": {"symbol": symbol}}}))
            assert (await said("message"))["json"] == {"symbol": "v0130000"}

    attacked(unharmed, attack, record_property)


def test_long_profiles_that_make_no_sense_or_are_too_many_are_refused(
    unharmed: Target, record_property: Record
) -> None:
    async def attack(target: Target) -> None:
        async with semcast.connect(target.addresses["b4"]) as client:
            broken = unread(client).subscribe("quotes", values(100_000) + " AND prise > 1")
            with pytest.raises(Refused, match="unknown attribute 'prise'"):
                await broken.live()
            held = [client.subscribe("quotes", values(90_000, first=1000 * place)) for place in range(8)]
            found = await asyncio.gather(*(one.live() for one in held), return_exceptions=True)
            refused = [error for error in found if isinstance(error, Refused)]
            assert refused
            assert all("are the most: ask for less, or at another gateway" in str(error) for error in refused)
            assert len(refused) < len(held)

    attacked(unharmed, attack, record_property)
