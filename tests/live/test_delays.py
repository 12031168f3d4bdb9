"""Staleness bounds are planned with the delays that brokers measure, or with those of the topology, as is asked for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import semcast
from semcast.server.embedded import Embedded
from tests.live.overlays import overlay, until

FAR_MS = 60_000.0
LINE = {
    "brokers": [{"id": "b0", "roles": ["source"]}, {"id": "b1"}, {"id": "b2", "roles": ["gateway"]}],
    "links": [{"a": "b0", "b": "b1", "delay_ms": FAR_MS}, {"a": "b1", "b": "b2", "delay_ms": FAR_MS}],
}
CONFIG = """
name = "far"
scheme = "{scheme}"
{delays}
[topology]
file = "line.json"
[streams.topics]
language = "topic"
"""


async def expected_delay_ms(whole: Embedded) -> float | None:
    """What a client is told whose bound nothing can meet."""
    async with semcast.connect(whole.brokers["b2"].address) as client:
        subscription = client.subscribe("topics", "a", max_delay_ms=0.0001)
        await subscription.live()
        return subscription.expected_delay_ms


@pytest.mark.parametrize("scheme", ["masked", "semcast"])
@pytest.mark.parametrize("delays", ["", 'delays = "declared"'])
def test_a_client_is_told_what_to_expect_of_the_links_as_they_are(tmp_path: Path, scheme: str, delays: str) -> None:
    (tmp_path / "line.json").write_text(json.dumps(LINE))
    file = tmp_path / "up.toml"
    file.write_text(CONFIG.format(scheme=scheme, delays=delays))

    async def main() -> float | None:
        async with overlay(tmp_path, file) as whole:
            await until(lambda: len(whole.coordinators["c0"].delays.used) == 2)
            return await expected_delay_ms(whole)

    told = asyncio.run(main())
    assert told is not None
    assert told == 2 * FAR_MS if delays else 0 < told < FAR_MS
