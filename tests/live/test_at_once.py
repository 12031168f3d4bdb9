"""A thousand subscriptions at once on an overlay like that of examples/up.toml: all are live, and nobody is missed."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import semcast
from semcast.client.many import Subscriptions
from semcast.server.serve import run
from tests.live.deployments import opened
from tests.live.keyed import STREAM, profile_of
from tests.live.members import settled
from tests.pipeline.overlays import running

pytestmark = pytest.mark.system
MANY = 1_000
GATEWAYS = {"b2", "b4", "b6", "b7"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "up.toml"
DISTURBED = ("plan", "broker is gone", "broker is here", "roster astray")
"""What a coordinator notes when it has lost sight of somebody, or a source of the roster."""


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The example, at ports that are free and in a folder of its own."""
    text = EXAMPLE.read_text()
    text, ports = re.subn(r"(?m)^\[ports\](.|\n)*\Z", "", text)
    text, data = re.subn(r'(?m)^data = ".*"$', 'data = "data"', text)
    assert (ports, data) == (1, 1)
    file = tmp_path_factory.mktemp("example") / "up.toml"
    file.write_text(text)
    with running(file) as found:
        yield found


def test_a_thousand_at_one_gateway_are_live_and_no_broker_is_missed(addresses: dict[str, str]) -> None:
    run(_all_are_live(addresses, ["b2"], "one"))


def test_a_thousand_over_all_gateways_are_live_and_no_broker_is_missed(addresses: dict[str, str]) -> None:
    run(_all_are_live(addresses, sorted(GATEWAYS), "all"))


async def _all_are_live(addresses: dict[str, str], gateways: list[str], name: str) -> None:
    loop = asyncio.get_running_loop()
    async with semcast.connect(addresses["c0"]) as asking:
        before = await settled(asking.ask, GATEWAYS)
        clients = [await opened(addresses[gateway]) for gateway in gateways]
        keys = [f"{name}-{n}" for n in range(MANY)]
        shares = [keys[at :: len(clients)] for at in range(len(clients))]
        began = loop.time()
        async with asyncio.timeout(60):
            found = await asyncio.gather(
                *(
                    client.subscribe_many(STREAM, {key: profile_of(key) for key in share})
                    for client, share in zip(clients, shares, strict=True)
                )
            )
        print(f"{MANY} live after {loop.time() - began:.2f} s")
        assert [subscriptions.errors for subscriptions in found] == [{} for _ in clients]
        status = await asking.ask("status")
        assert status["subscriptions"] == before["subscriptions"] + MANY
        publisher = asking.publisher("b0")
        await asyncio.gather(
            *[await publisher.put(asking.message(STREAM, {"symbol": key, "price": 1.0})) for key in keys]
        )
        seen: Counter[str] = Counter()
        for subscriptions, share in zip(found, shares, strict=True):
            seen += await _given(subscriptions, len(share))
        assert seen == Counter(keys)
        after = await asking.ask("status")
        assert _disturbed(after) == _disturbed(before)
        assert all(broker["up"] for broker in after["brokers"].values())
        for subscriptions, client in zip(found, clients, strict=True):
            await subscriptions.close()
            await client.close()


def _disturbed(status: dict[str, Any]) -> dict[str, int]:
    return {what: status["notes"].get(what, 0) for what in DISTURBED}


async def _given(subscriptions: Subscriptions, count: int) -> Counter[str]:
    """What comes, until nothing does any more."""
    seen: Counter[str] = Counter()
    async with asyncio.timeout(60):
        while seen.total() < count:
            key, message = await anext(subscriptions)
            assert message.json()["symbol"] == key
            seen[key] += 1
    try:
        async with asyncio.timeout(0.5):
            while True:
                seen[(await anext(subscriptions))[0]] += 1
    except TimeoutError:
        return seen
