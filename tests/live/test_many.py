"""Hundreds of subscriptions from one client, against a running overlay."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import semcast
from semcast.client import Subscription, connect_blocking
from semcast.client.client import connection_of
from semcast.model import SemcastError
from semcast.protocol.profile_texts import LONG
from semcast.protocol.wire.frames import AnyFrame, Attach, AttachMany
from semcast.server.serve import run
from tests.live.overlays import CALM, overlay, until, written
from tests.pipeline.overlays import running

pytestmark = pytest.mark.system
MANY = 240


def test_hundreds_in_one_call_get_what_each_matches_once(tmp_path: Path) -> None:
    run(_hundreds_in_one_call(tmp_path))


async def _hundreds_in_one_call(folder: Path) -> None:
    async with overlay(folder, settings=CALM) as up, semcast.connect(up.addresses()["c0"]) as client:
        frames = _said_by(client)
        given: dict[Any, str] = {f"p{n}": f"price > {n}" for n in range(MANY)}
        given["bad"] = "prise > 5"
        given["long"] = f"symbol IN ({', '.join(repr(f'S{n:07d}') for n in range(LONG // 12))})"
        assert len(given["long"]) >= LONG
        found = await client.subscribe_many("quotes", given)
        assert list(found.errors) == [MANY]
        assert "did you mean 'price'?" in str(found.errors[MANY])
        alone = {frame.session for frame in frames if isinstance(frame, Attach)}
        assert len(alone) <= MANY // 10  # the long one, the first of a dial, and what a turn had only one of
        asked = {attach.session for frame in frames if isinstance(frame, AttachMany) for attach in frame.attaches}
        assert len(asked) >= MANY * 9 // 10
        for price in (0.5, 99.5, 1000):
            await client.publish("quotes", {"symbol": "S0000001", "price": price})
        seen: Counter[Any] = Counter()
        expected = 1 + 100 + MANY + 3
        async with asyncio.timeout(60):
            while seen.total() < expected:
                id, message = await anext(found)
                assert id == "long" or message.json()["price"] > int(id[1:])
                seen[id] += 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await anext(found)
        assert seen == Counter({"long": 3, **{f"p{n}": 1 + (n <= 99) + (n == 0) for n in range(MANY)}})  # nothing twice
        gateways = [host.node.gateway for host in up.brokers.values() if host.node.gateway is not None]
        assert sum(len(gateway.sessions) for gateway in gateways) == MANY + 1
        await found.close()
        await until(lambda: not any(gateway.sessions for gateway in gateways))


def _said_by(client: semcast.client.Client) -> list[AnyFrame]:
    """What a client says from now on, noted on its way."""
    connection, said = connection_of(client), list[AnyFrame]()
    say = connection.say

    def noted(to: str, frame: AnyFrame) -> int:
        said.append(frame)
        return say(to, frame)

    connection.say = noted  # type: ignore[method-assign]
    return said


def test_a_gateway_that_falls_is_left_by_all_and_nothing_is_missed(tmp_path: Path) -> None:
    run(_a_gateway_that_falls(tmp_path))


async def _a_gateway_that_falls(folder: Path) -> None:
    async with overlay(folder, settings="retain_s = 60") as up:
        sources = {name for name, host in up.brokers.items() if host.node.source is not None}
        chosen = [name for name, host in up.brokers.items() if host.node.gateway is not None and name not in sources][
            :2
        ]
        async with semcast.connect(up.addresses()["c0"]) as client:
            found = await client.subscribe_many(
                "topics", [f"t/{n}" for n in range(60)], gateways=chosen, start="earliest"
            )
            assert not found.errors
            for n in range(60):
                await client.publish("topics", b"1", topic=f"t/{n}")
            seen = Counter([(await anext(found))[0] for _ in range(60)])
            await up.brokers.pop(chosen[0]).stop()
            for n in range(60):
                await client.publish("topics", b"2", topic=f"t/{n}")
            async with asyncio.timeout(60):
                for _ in range(60):
                    id, message = await anext(found)
                    seen[id] += 1
                    assert message.payload == b"2"
            assert seen == Counter(dict.fromkeys(range(60), 2))
            await up.start_broker(chosen[0])


def test_durable_ones_are_taken_up_again_by_their_ids(tmp_path: Path) -> None:
    run(_durable_ones(tmp_path))


async def _durable_ones(folder: Path) -> None:
    async with overlay(folder, settings=CALM) as up:
        given = {name: f"mail/{name}" for name in ("ann", "bob", "eve")}
        async with semcast.connect(up.addresses()["c0"]) as client:
            found = await client.subscribe_many("topics", given, session="post", ordered=True)
            await client.publish("topics", b"1", topic="mail/bob")
            assert [(id, message.payload) for id, message in [await anext(found)]] == [("bob", b"1")]
            await found.close(keep=True)
            for name in ("ann", "bob"):
                await client.publish("topics", b"2", topic=f"mail/{name}")
        async with semcast.connect(up.addresses()["c0"]) as client:
            again = await client.subscribe_many("topics", given, session="post", ordered=True)
            seen = {id: message.payload for id, message in [await anext(again), await anext(again)]}
            assert seen == {"ann": b"2", "bob": b"2"}
            await again.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = written(tmp_path_factory.mktemp("many"), brokers=5, gateways=1, settings=CALM)
    with running(file) as addresses:
        yield "semcast://" + addresses["c0"]


def test_programs_without_asyncio_have_the_same(url: str) -> None:
    with connect_blocking(url) as client:
        found = client.subscribe_many("topics", {"a": "x/a", "bad": "x/*/", "b": "x/b"})
        assert (found.ids, list(found.errors)) == (("a", "bad", "b"), [1])
        assert isinstance(found[1], SemcastError)
        assert [isinstance(entry, SemcastError) for entry in found[:]] == [False, True, False]
        assert found[-1] is found[2]
        assert found.next(0.1) is None
        for name in ("b", "a", "c"):
            client.publish("topics", name, topic=f"x/{name}")
        both = found.messages()
        assert {id: message.payload for id, message in (next(both), next(both))} == {"a": b"a", "b": b"b"}
        assert found.next(0.1) is None
        found.close()
        assert list(found.messages()) == []
        assert all(isinstance(entry, Subscription) for entry in found.inner if not isinstance(entry, SemcastError))
