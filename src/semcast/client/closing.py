"""The end of subscriptions, of one or of very many."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semcast.client.subscription import Subscription

_LEAVING_S = 0.6
"""How long a subscription that ends waits for its gateway's word."""
_LEAVING_HZ = 1000.0
"""Where many end together, the wait is longer by a second for so many."""
_TOGETHER = 256
"""Subscriptions that are told to end before the event loop sees to everything else."""
log = logging.getLogger("semcast")


async def close_all(subscriptions: Sequence[Subscription], *, keep: bool | None = None, taken: bool = True) -> None:
    """End subscriptions, all together; ``keep`` as ``Subscription.close`` has it, None: the sessions of durable ones.

    Gateways are told, and their word is waited for; not for long, since they may have gone.
    """
    leaving: list[Subscription] = []
    try:
        for place, subscription in enumerate(subscriptions, 1):
            if subscription.begin_leaving(keep=subscription.durable if keep is None else keep, taken=taken):
                leaving.append(subscription)
            if place % _TOGETHER == 0:
                await asyncio.sleep(0)
        async with asyncio.timeout(_LEAVING_S + len(leaving) / _LEAVING_HZ):
            for subscription in leaving:
                await subscription.left()
    except TimeoutError:
        log.debug("nobody confirmed the end of some of %d subscriptions", len(leaving))
    finally:
        for subscription in subscriptions:
            subscription.end()
