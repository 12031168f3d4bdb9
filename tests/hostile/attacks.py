"""Attacks on an overlay in use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from semcast.server.serve import run
from tests.conftest import CANARY_P99
from tests.hostile.canary import singing
from tests.hostile.conftest import Target

Attack = Callable[[Target], Awaitable[None]]
Record = Callable[[str, object], None]


def attacked(target: Target, attack: Attack, record: Record, calm_s: float = 0.5) -> None:
    """Run an attack while the canary sings."""

    async def whole() -> None:
        async with singing(target.addresses) as canary:
            calm = await canary.alone(calm_s)
            await attack(target)
            await asyncio.sleep(0.3)
            record(CANARY_P99, (calm, canary.p99_ms()))

    run(whole())
